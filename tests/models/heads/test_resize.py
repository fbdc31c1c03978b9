"""Resizing to the source image, whole and in bands."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from sapiens2.models.heads.resize import resize, resize_bands
from sapiens2.models.heads.seg_head import argmax_resized

SIZES = [(64, 48), (97, 61), (13, 200), (31, 7), (1, 1), (100, 2), (2, 300)]


def logits(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize('size', SIZES)
@pytest.mark.parametrize('band_values', [1, 5000])
def test_bands_put_together_are_the_whole(size, band_values):
    maps = logits(5, 64, 48)
    whole = F.interpolate(maps[None], size=size, mode='bilinear', align_corners=False)[0]
    assert torch.equal(resize(maps, size), whole)
    rows_seen = 0
    for rows, band in resize_bands(maps, size, band_values):
        assert rows.start == rows_seen and band.shape == (5, rows.stop - rows.start, size[1])
        assert band.numel() <= max(band_values, 5 * size[1])
        torch.testing.assert_close(band, whole[:, rows], rtol=1e-5, atol=1e-5)
        rows_seen = rows.stop
    assert rows_seen == size[0]


@pytest.mark.parametrize('size', SIZES)
def test_labels_do_not_depend_on_the_bands(size):
    maps = logits(29, 64, 48)
    whole = F.interpolate(maps[None], size=size, mode='bilinear', align_corners=False)[0].argmax(0)
    in_one = argmax_resized(maps, size)
    assert in_one.dtype == torch.int64
    assert torch.equal(in_one, whole)
    for band_values in (1, 29 * size[1] * 3, 29 * size[1] * 10):
        assert torch.equal(argmax_resized(maps, size, band_values), whole)


def test_one_source_row_and_column():
    maps = logits(3, 1, 1)
    assert torch.equal(argmax_resized(maps, (4, 5)), maps.argmax(0).expand(4, 5))


class LargestTensor(TorchDispatchMode):
    """Remembers the most values of any tensor that an operation gives."""

    values = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.values = max(self.values, tensor.numel())
        return result


def test_no_tensor_is_larger_than_a_band_or_the_labels():
    maps, size = logits(29, 16, 12), (400, 300)
    with LargestTensor() as largest:
        argmax_resized(maps, size, band_values=29 * 300 * 4)
    assert largest.values <= 400 * 300 < 29 * 400 * 300
