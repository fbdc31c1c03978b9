"""Parameter names and shapes of every released head, on the meta device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sapiens2.registry import MODELS

RELEASED = json.loads((Path(__file__).parent / 'head_state_dicts.json').read_text())
WIDTHS = {'0.4b': 1024, '0.8b': 1280, '1b': 1536, '5b': 2432}
# What differs from the defaults of the heads, which are those of most sizes.
WIDE = dict(upsample_channels=(1536, 768, 512, 256))
HEADS = {
    'seg': dict(type='SegHead'),
    'pose': dict(type='PoseHeatmapHead'),
    'normal': dict(type='NormalHead'),
    'albedo': dict(type='AlbedoHead'),
    'pointmap': dict(type='PointmapHead', **WIDE),
}
OTHER = {
    ('pose', '1b'): dict(deconv_out_channels=(1536, 1024), conv_out_channels=(768, 512, 256)),
    ('normal', '5b'): dict(WIDE, conv_out_channels=(128, 64, 32)),
    ('albedo', '5b'): WIDE,
    ('pointmap', '5b'): dict(upsample_channels=(1536, 768, 768, 768), conv_out_channels=(128, 64, 32)),
}
CASES = [(task, size) for task in RELEASED for size in RELEASED[task]]


def build(task: str, size: str):
    with torch.device('meta'):
        return MODELS.build({**HEADS[task], 'in_channels': WIDTHS[size], **OTHER.get((task, size), {})})


def test_all_released_heads_are_here():
    assert len(CASES) == 20 and set(RELEASED) == set(HEADS)


@pytest.mark.parametrize('task, size', CASES)
def test_parameters_are_those_of_the_released_head(task, size):
    expected = {key.removeprefix('decode_head.'): shape for key, shape in RELEASED[task][size].items()}
    assert {key: list(value.shape) for key, value in build(task, size).state_dict().items()} == expected


@pytest.mark.parametrize('task, channels, size', [
    ('seg', 29, (1024, 768)), ('pose', 308, (256, 192)), ('normal', 3, (1024, 768)), ('albedo', 3, (1024, 768)),
    ('pointmap', 3, (1024, 768))])
def test_output_sizes(task, channels, size):
    output = build(task, '0.4b')([torch.empty(2, 1024, 64, 48, device='meta')])
    if task == 'pointmap':
        output, scale = output
        assert scale.shape == (2, 1)
    assert output.shape == (2, channels, *size)
