"""Runs of the command on a small folder, and what they leave there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from comparisons import file_hashes

from sapiens2.cli.main import main

_KILLED = '''
source = dict(type='PretrainFolderDataset', data_root={root!r})
stages = [dict(type='Decode'), dict(type='Hashes'), dict(type='Quality')]
filters = [dict(type='Limit', column='shorter_side', at_least=64)]
balance = dict(target=0.8, embedding=None, attributes=dict(brightness=[0.4, 0.5, 0.6]))
part_size = 4
shard_size = 10
'''


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


def write_killed(scratch: Path, count: int) -> Path:
    """A folder of pictures, of which some are copies, tiny or broken, and a config that cuts them into many parts."""
    root, config = scratch / 'images', scratch / 'config.py'
    root.mkdir()
    for number in range(count):
        picture = photograph(number if number % 10 else number + 1, (200, 160) if number % 17 else (50, 40))
        content = cv2.imencode('.jpg', picture)[1].tobytes()
        (root / f'{number:04d}.jpg').write_bytes(content[:len(content) // 2] if number % 29 == 28 else content)
    config.write_text(_KILLED.format(root=str(root)), encoding='utf-8')
    return config


def results(out: Path) -> dict[str, Any]:
    """What a run gives: values of scores, and bytes of everything else but the report, which has times, and the index.
    """
    import pyarrow.parquet
    return {name: str(pyarrow.parquet.read_table(out / name).replace_schema_metadata(None).to_pylist())
            if name.startswith('scores/') else value
            for name, value in file_hashes(out).items() if name != 'report.html' and not name.startswith('index/')}
