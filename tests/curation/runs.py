"""Runs of the command on a small folder, and what they leave there."""

from __future__ import annotations

import hashlib

import cv2
import numpy as np

from sapiens2.cli.main import main


def photograph(seed, size=(200, 160)):
    """A picture of soft blobs."""
    rng = np.random.default_rng(seed)
    return cv2.resize(rng.integers(0, 256, (7, 6, 3), dtype=np.uint8), size[::-1], interpolation=cv2.INTER_CUBIC)


def curate(config, out, *more):
    """Exit code of ``sapiens2 curate``."""
    return main(['curate', str(config), '--out', str(out), '--workers', '1', *more])


def reasons(out):
    """Name of each image -> what became of it."""
    import pyarrow.parquet
    scores = [pyarrow.parquet.read_table(path) for path in sorted((out / 'scores').iterdir())]
    names = [name for table in scores for name in table['name'].to_pylist()]
    return dict(zip(names, pyarrow.parquet.read_table(out / 'selection.parquet')['reason'].to_pylist()))


def contents(out):
    """Name of each file of the shards -> mark of its content."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (out / 'shards').iterdir()}
