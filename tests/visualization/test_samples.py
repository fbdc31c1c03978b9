"""Names beside the key points of a sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.structures import DataSample
from sapiens2.visualization import samples
from sapiens2.visualization.text import text_size

META = load_metainfo('coco')


def test_names_neither_overlap_nor_leave_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, int, int, int, int]] = []

    def record(image: np.ndarray, text: str, place: tuple[int, int], size: int, color: tuple[int, int, int]) -> None:
        if color == (255, 255, 255):
            written.append((text, *place, *text_size(text, size)))

    monkeypatch.setattr(samples, 'put_text', record)
    points = np.random.default_rng(0).uniform([60, 100], [130, 160], (1, 17, 2)).astype(np.float32)
    points[0, 0] = 190, 255  # at the corner
    points[0, 5:] += 60
    ones = np.ones((1, 17), np.float32)
    samples.draw_sample(torch.zeros((3, 256, 192), dtype=torch.uint8), DataSample(), META, (points, ones, 0 * ones))
    assert len(written) >= 5
    taken = np.zeros((256, 192), int)
    for _, left, top, width, height in written:
        assert left >= 0 and top >= 0 and left + width <= 192 and top + height <= 256
        taken[top:top + height, left:left + width] += 1
    assert taken.max() == 1
