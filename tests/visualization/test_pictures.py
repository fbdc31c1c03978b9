"""Fields of data samples, made ready to be drawn."""

from __future__ import annotations

import numpy as np
import torch
from mmengine.structures import BaseDataElement

from sapiens2.visualization.pictures import drawable


def test_what_lies_outside_the_mask_is_not_drawn() -> None:
    mask = torch.zeros(1, 4, 6, dtype=torch.bool)
    mask[:, 1:3, 2:5] = True
    normal = torch.where(mask, torch.full((3, 4, 6), 0.5), torch.nan)
    fields = BaseDataElement(normal=normal, depth=normal[:1], sem_seg=torch.full((1, 4, 6), 255), mask=mask)
    expected = np.where(mask[0].numpy(), 0.5, 0)
    np.testing.assert_array_equal(drawable(fields, 'depth'), expected)
    np.testing.assert_array_equal(drawable(fields, 'normal'), np.repeat(expected[..., None], 3, axis=2))
    assert (drawable(fields, 'sem_seg') == 255).all()  # labels say themselves what is not looked at
    predicted = BaseDataElement(depth=torch.ones(1, 4, 6))
    assert (drawable(predicted, 'depth') == 1).all()
    np.testing.assert_array_equal(drawable(predicted, 'depth', mask), mask[0].numpy())
