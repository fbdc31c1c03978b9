"""Pictures of samples as a network gets them, to see whether data and augmentation are right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mmengine.dataset import BaseDataset

from sapiens2.apis.data_check.layouts import Source
from sapiens2.apis.data_check.run import parts_of
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers.draw import random_state
from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.datasets.transforms.formatting import PackInputs
from sapiens2.registry import DATASETS, TRANSFORMS, register_all
from sapiens2.utils.image_io import ImageReadError, read_image, write_image
from sapiens2.visualization.layout import contact_sheet
from sapiens2.visualization.samples import draw_sample

_PER_PAGE, _COLUMNS, _TILE = 12, 2, 960
_POINTS = ('input_keypoints', 'keypoints_visible', 'keypoints_hidden')
# What follows the loading steps of a data set that no config describes.
_POSE_STEPS = ({'type': 'GetBBoxCenterScale'}, {'type': 'TopdownAffine', 'input_size': (768, 1024)})


def browse(source: Source, out: Path, count: int, seed: int, augment: bool = True) -> tuple[list[Path], list[str]]:
    """Draw ``count`` samples of a data set into ``out``: one picture each, and pages of many.

    Args:
        seed: chooses the samples and seeds their augmentation.
        augment: False leaves out the random steps.

    Returns:
        The pages, and a line for each sample that cannot be drawn.
    """
    register_all()
    places = [(part, index) for part in parts_of(DATASETS.build(source.config)) for index in range(len(part))]
    problems: list[str] = []
    pages: list[Path] = []
    tiles: list[tuple[str, np.ndarray]] = []
    order = np.random.default_rng(seed).permutation(len(places))[:count].tolist()
    for position, number in enumerate(order):
        part, index = places[number]
        try:
            with random_state(seed, position):
                caption, picture = _draw(part, index, augment)
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
    points = tuple(results[name] for name in _POINTS) if 'input_keypoints' in results else None
    path = results['img_path']
    packed = steps[-1](results)
    sample = packed['data_samples']
    original = read_image(path) if 'eval_fields' in sample else None
    picture = draw_sample(packed['inputs'], sample, part.metainfo, points, original)
    return str(sample.sample_id).replace(str(path), '/'.join(Path(path).parts[-2:])), picture


def _steps(steps: Sequence[Any], is_pose: bool, augment: bool) -> list[Any]:
    """The pipeline up to the packing of the network's input, which is added if it is missing."""
    kept = [step for step in steps if augment or not isinstance(step, RandomStep)]
    packing = next((place for place, step in enumerate(kept) if isinstance(step, PackInputs)), None)
    if packing is not None:
        return kept[:packing + 1]
    return [*kept, *map(TRANSFORMS.build, _POSE_STEPS if is_pose else ()), PackInputs()]
