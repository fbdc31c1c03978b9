"""Writes data sets of a few small pictures, in the layout that the configs of each task expect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

SIZE = (80, 60)  # (H, W), pixels
WHOLEBODY_PARTS = {'foot_kpts': 6, 'face_kpts': 68, 'lefthand_kpts': 21, 'righthand_kpts': 21}


def write_data(task: str, root: Path, count: int = 4) -> list[str]:
    """Write ``count`` samples of ``task`` below ``root``.

    Returns:
        The ``--cfg-options`` with which the tiny config of the task finds them.
    """
    rng = np.random.default_rng(0)
    if task == 'pose':
        root.mkdir(parents=True)
        (root / 'people.json').write_text(json.dumps(_people(root, rng, count)), encoding='utf-8')
        return [f'data_root={root}', 'ann_file=people.json']
    if task == 'pretrain':
        root.mkdir(parents=True)
        for number in range(count):
            cv2.imwrite(str(root / f'{number}.png'), _picture(rng))
        return [f'data_root={root}']
    for split in ('train', 'val'):
        for number in range(count):
            _write_dense(task, root / split, f'{number}', rng)
    return [f'data_root={root}']


def _picture(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8)


def _people(root: Path, rng: np.random.Generator, count: int) -> dict[str, Any]:
    """A COCO-WholeBody annotation of one person in each picture, all body points labelled."""
    annotations = []
    for number in range(count):
        cv2.imwrite(str(root / f'{number}.png'), _picture(rng))
        points = np.full((17, 3), 2.0)
        points[:, :2] = rng.uniform(10, 50, (17, 2))
        low, high = points[:, :2].min(0), points[:, :2].max(0)
        annotations.append({
            'id': number, 'image_id': number, 'category_id': 1, 'iscrowd': 0, 'num_keypoints': 17,
            'bbox': [*(low - 5), *(high - low + 10)], 'area': float(np.prod(high - low)),
            'keypoints': points.ravel().tolist(),
            **{name: [0.0] * (3 * size) for name, size in WHOLEBODY_PARTS.items()},
            **{f'{name.removesuffix("_kpts")}_valid': False for name in WHOLEBODY_PARTS}})
    images = [dict(id=number, file_name=f'{number}.png', height=SIZE[0], width=SIZE[1]) for number in range(count)]
    return {
        'images': images, 'annotations': annotations, 'categories': [dict(id=1, name='person')]}


def _write_dense(task: str, folder: Path, name: str, rng: np.random.Generator) -> None:
    """One picture and its ground truth."""
    mask = np.zeros(SIZE, np.uint8)
    mask[10:70, 10:50] = 255
    normal = rng.standard_normal((*SIZE, 3)).astype(np.float32)
    normal[..., 2] = -np.abs(normal[..., 2])  # what a camera sees faces it
    files: dict[str, dict[str, Any]] = {
        'seg': dict(labels=rng.integers(0, 29, SIZE, dtype=np.uint8)),
        'normal': dict(normals=normal / np.linalg.norm(normal, axis=-1, keepdims=True), masks=mask),
        'pointmap': dict(depths=rng.uniform(1, 3, SIZE).astype(np.float32), masks=mask,
                         cameras=dict(fx=70.0, fy=70.0, cx=29.5, cy=39.5)),
        'albedo': dict(albedos=_picture(rng), masks=mask),
    }[task]
    for place, value in {'images': _picture(rng), **files}.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        file = folder / place / name
        if isinstance(value, dict):
            file.with_suffix('.json').write_text(json.dumps(value), encoding='utf-8')
        elif value.dtype == np.uint8:
            cv2.imwrite(str(file.with_suffix('.png')), value)
        else:
            np.save(file.with_suffix('.npy'), value)
