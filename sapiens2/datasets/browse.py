"""Pictures of samples as a network gets them, to see whether data and augmentation are right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from mmengine.dataset import BaseDataset

from sapiens2.datasets.checks.run import parts_of
from sapiens2.datasets.checks.sources import Source
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers.draw import random_state
from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.registry import DATASETS, TRANSFORMS, register_all
from sapiens2.utils.image_io import ImageReadError, read_image, write_image
from sapiens2.visualization.layout import contact_sheet
from sapiens2.visualization.samples import draw_sample

_PER_PAGE, _COLUMNS, _TILE = 12, 2, 960
# What follows the loading steps of a data set that no config describes.
_POSE_STEPS = ({'type': 'GetBBoxCenterScale'}, {'type': 'TopdownAffine', 'input_size': (768, 1024)})
_PACK = 'PackInputs'


def browse(source: Source, out: Path, count: int, seed: int, augment: bool = True) -> tuple[list[Path], list[str]]:
    """Draw ``count`` samples of a data set into ``out``: one picture each, and pages of many.

    Args:
        seed: chooses the samples and seeds their augmentation.
        augment: False leaves out the random steps.

    Returns:
        The pages, and a line for each sample that cannot be drawn.
    """
    register_all()
    parts = list(parts_of(DATASETS.build(source.config)))
    ends = np.cumsum([len(part) for part in parts])
    problems: list[str] = []
    pages: list[Path] = []
    tiles: list[tuple[str, np.ndarray]] = []
    order = np.random.default_rng(seed).permutation(ends[-1])[:count].tolist()
    for position, index in enumerate(order):
        number = int(np.searchsorted(ends, index, side='right'))
        part = parts[number]
        try:
            with random_state(seed, position):
                caption, picture = _draw(part, index - int(ends[number] - len(part)), augment)
        except (DataError, ImageReadError) as error:
            problems.append(str(error))
        else:
            file = f'{position:04d}_{Path(caption.split(" (")[0]).stem}.jpg'
            write_image(out / file, contact_sheet([(caption, picture)], tile=max(picture.shape[:2])))
            tiles.append((f'{position}: {caption}', picture))
        if tiles and (len(tiles) == _PER_PAGE or position == len(order) - 1):
            pages.append(out / f'page_{len(pages) + 1:03d}.jpg')
            write_image(pages[-1], contact_sheet(tiles, _COLUMNS, _TILE, f'{source.name}, seed {seed}'))
            tiles = []
    return pages, problems


def _draw(part: BaseDataset, index: int, augment: bool) -> tuple[str, np.ndarray]:
    """Caption and picture of one sample."""
    results: Any = part.get_data_info(index)
    steps = _steps(part.pipeline.transforms, 'bboxes' in results, augment)
    for step in steps[:-1]:
        results = step(results)
    points = (results['input_keypoints'], results['keypoints_visible']) if 'input_keypoints' in results else None
    path = results['img_path']
    packed = steps[-1](results)
    sample = packed['data_samples']
    picture = draw_sample(packed['inputs'], sample, part.metainfo, points, _source(path, sample))
    return str(sample.sample_id).replace(str(path), '/'.join(Path(path).parts[-2:])), picture


def _source(path: str, sample: Any) -> Optional[np.ndarray]:
    return read_image(path) if 'eval_fields' in sample else None


def _steps(steps: Sequence[Any], is_pose: bool, augment: bool) -> list[Any]:
    """The pipeline up to the packing of the network's input, which is added if it is missing."""
    kept = [step for step in steps if augment or not (
        isinstance(step, RandomStep) or type(step).__name__.startswith('Random'))]
    names = [type(step).__name__ for step in kept]
    if _PACK in names:
        return kept[:names.index(_PACK) + 1]
    return [*kept, *map(TRANSFORMS.build, (*(_POSE_STEPS if is_pose else ()), {'type': _PACK}))]
