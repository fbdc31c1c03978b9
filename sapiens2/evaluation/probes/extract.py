"""Runs backbones over pictures: what they say is kept on disk and found again."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from mmengine.dataset import Compose
from rich.console import Console
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from sapiens2.evaluation.probes.backbones import FeatureModel
from sapiens2.evaluation.probes.store import CHUNK, TensorStore, compact
from sapiens2.registry import TRANSFORMS, register_all

# Raised when the same weights and pictures would give other features.
_FORMAT = 1
IMAGE, PATCHES = 'image', 'patches'
TOKENS = ('cls', 'mean', 'patches')
Padding = tuple[int, int, int, int]  # left, right, top, bottom, pixels of a network's input that are border


class Pictures(Dataset):
    """Pictures at the size of a network's input: (3, H, W) uint8 BGR, shape kept, black borders."""

    def __init__(self, paths: Sequence[Path], size: tuple[int, int]) -> None:
        register_all()
        self.paths = [str(path) for path in paths]
        self.pipeline = Compose([TRANSFORMS.build(step) for step in (
            dict(type='LoadImage'), dict(type='Resize', size=size, keep_ratio=True), dict(type='PackInputs'))])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tensor:
        """Read a picture.

        Raises:
            ImageReadError: naming the file.
        """
        return self.read(index)[0]

    def read(self, index: int) -> tuple[Tensor, Padding]:
        """As ``[index]``, and how wide its borders are."""
        packed = self.pipeline({'img_path': self.paths[index]})
        return packed['inputs'], packed['data_samples'].padding


def patches_inside(padding: Padding, size: tuple[int, int], grid: tuple[int, int]) -> tuple[slice, slice]:
    """Rows and columns of the patches whose centres lie in the picture, not in its borders; at least one of each.

    Args:
        padding: of the picture.
        size: (H, W) with borders, pixels.
        grid: rows and columns of all patches.
    """
    found = []
    for (before, after), side, count in zip((padding[2:], padding[:2]), size, grid):
        patch = side / count
        first = min(math.ceil(before / patch - 0.5), count - 1)
        found.append(slice(first, max(math.floor((side - after) / patch - 0.5) + 1, first + 1)))
    return found[0], found[1]


def tokens_of(model: FeatureModel, paths: Sequence[Path], batches: Iterable[Sequence[int]], batch_size: int,
              workers: int) -> Iterator[dict[str, Tensor]]:
    """The tokens of the pictures of each list: cls (n, C), mean (n, C), patches (n, h, w, C)."""
    lists = [list(numbers) for numbers in batches]
    parts = [numbers[start:start + batch_size] for numbers in lists for start in range(0, len(numbers), batch_size)]
    loader = iter(DataLoader(Pictures(paths, model.size), batch_sampler=parts, num_workers=workers))
    for numbers in lists:
        found = [model(next(loader)) for _ in range(0, len(numbers), batch_size)]
        names = f'{model.label} on {paths[numbers[0]]} to {paths[numbers[-1]]}'
        yield {name: compact(torch.cat([getattr(tokens, name) for tokens in found]), names)
               for name in TOKENS}


def default_batch_size(model: FeatureModel) -> int:
    """Pictures at a time: 1 on a CPU, 16 elsewhere."""
    return 1 if model.device.type == 'cpu' else 16


def features_settings(model: FeatureModel) -> dict[str, Any]:
    """All that decides the features of a picture, in JSON's types."""
    return dict(format=_FORMAT, weights=model.fingerprint(), kind=type(model.module).__name__, size=list(model.size),
                normalisation=model.normalisation, dtype=str(model.dtype))


def key_of(about: dict[str, Any]) -> str:
    """Sixteen digits that change with anything in ``about``."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def slug(label: str) -> str:
    """``label`` as a part of a file's name."""
    return re.sub(r'[^\w.-]+', '_', label).strip('_')[:60] or 'backbone'


def feature_store(folder: Path, model: FeatureModel, paths: Sequence[Path], data: str, with_patches: bool,
                  console: Console, batch_size: Optional[int] = None, workers: int = 0) -> TensorStore:
    """Features of the pictures by the backbone, computed unless they are in ``folder``.

    Args:
        data: fingerprint of the pictures.
        with_patches: whether patch tokens are kept, which takes most of the room.
        batch_size: pictures at a time; default: see ``default_batch_size``.

    Returns:
        ``cls`` and ``mean`` (C,), and ``patches`` (h, w, C), if asked for, of each picture.
    """
    batch_size = min(batch_size or default_batch_size(model), CHUNK)
    about = dict(features_settings(model), data=data)
    place = folder / f'{slug(model.label)}-{key_of(about)}'
    store = TensorStore(place / PATCHES, len(paths))
    if not with_patches and store.missing():
        store = TensorStore(place / IMAGE, len(paths))

    def compute(batches: Iterable[Sequence[int]]) -> Iterator[dict[str, Tensor]]:
        for tokens in tokens_of(model, paths, batches, batch_size, workers):
            yield tokens if with_patches else {name: tokens[name] for name in ('cls', 'mean')}

    store.fill(compute, dict(about, backbone=model.label), f'features {model.label}', console)
    return store
