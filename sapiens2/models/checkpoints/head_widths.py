"""Widths of a decoder, read off the shapes of its parameters, as the arguments of this project's heads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import torch

from sapiens2.models import heads
from sapiens2.utils.tasks import HEAD_OF_TASK

HEAD = 'decode_head.'
# Argument of a head that says how many outputs it has; the other tasks have three.
_OUTPUTS = {'pose': 'out_channels', 'seg': 'num_classes'}


def head_widths(shapes: Mapping[str, torch.Size], task: str) -> dict[str, Any]:
    """Arguments of the task's head that follow from the shapes below ``decode_head.``."""
    convs = _weights(shapes, r'conv_layers\.(\d+)\.weight')
    widths: dict[str, Any] = {}
    if blocks := _weights(shapes, r'upsample_blocks\.(\d+)\.0\.weight'):
        widths['upsample_channels'] = tuple(shape[0] // 4 for shape in blocks)
    if deconvs := _weights(shapes, r'deconv_layers\.(\d+)\.weight'):
        widths |= {'deconv_out_channels': tuple(shape[1] for shape in deconvs),
                   'deconv_kernel_sizes': tuple(shape[-1] for shape in deconvs)}
    widths |= {'conv_out_channels': tuple(shape[0] for shape in convs),
               'conv_kernel_sizes': tuple(shape[-1] for shape in convs)}
    if task in _OUTPUTS:
        widths[_OUTPUTS[task]] = shapes[f'{HEAD}conv_{task}.weight'][0]
    if task == 'pointmap':
        scale_convs = _weights(shapes, r'scale_conv_layers\.(\d+)\.weight')
        linears = _weights(shapes, r'scale_final_layer\.(\d+)\.weight')
        widths |= {'scale_conv_out_channels': tuple(shape[0] for shape in scale_convs),
                   'scale_conv_kernel_sizes': tuple(shape[-1] for shape in scale_convs),
                   'scale_final_layer': tuple(shape[1] for shape in linears[:1])
                   + tuple(shape[0] for shape in linears)}
    return widths


def default_widths(task: str) -> dict[str, Any]:
    """Arguments of the task's head that have a default, with it."""
    defaults: dict[str, Any] = {}
    for kind in reversed(getattr(heads, HEAD_OF_TASK[task]).__mro__):
        defaults |= {name: parameter.default for name, parameter in inspect.signature(kind.__init__).parameters.items()
                     if parameter.default is not inspect.Parameter.empty}
    return defaults


def _weights(shapes: Mapping[str, torch.Size], pattern: str) -> list[torch.Size]:
    """Shapes of the decoder's weights whose names match ``pattern``, in the order of the number in it."""
    found = [(int(match[1]), shape) for name, shape in shapes.items() if (match := re.fullmatch(HEAD + pattern, name))]
    return [shape for _, shape in sorted(found)]
