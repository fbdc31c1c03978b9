"""config.json of transformers' Sapiens2 models, made from the shapes of the released parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.models.checkpoints.describe import Description, Shapes
from sapiens2.models.checkpoints.errors import CheckpointError
from sapiens2.models.checkpoints.layouts import TRANSFORMERS_TASKS

HEAD = 'decode_head.'
LAYER_SCALE = 1e-4  # initial value of the layer scale, of use only for training from scratch


def transformers_config(shapes: Shapes, description: Description, dtype: torch.dtype,
                        img_size: Sequence[int]) -> dict[str, Any]:
    """The config of the transformers model with these parameters.

    Args:
        shapes: of the parameters, under the released names.
        description: of the same.
        dtype: in which they are stored.
        img_size: (H, W) in pixels of the images that the model is for.

    Raises:
        CheckpointError: if transformers has no such model.
    """
    classes = {task: name for name, task in TRANSFORMERS_TASKS.items()}
    if description.type != 'Sapiens2' or description.use_tokenizer or (
            description.task is not None and description.task not in classes):
        raise CheckpointError(f'transformers has no model for {description}; it has Sapiens2 backbones without the 4K '
                              f'tokenizer, alone or with a decoder for {", ".join(classes)}')
    arch = description.arch
    prefix = 'backbone.' if description.task else ''
    head_dim = arch['embed_dims'] // arch['num_heads']
    kv_heads = [shapes[f'{prefix}blocks.{index}.attn.wk.weight'][0] // head_dim for index in range(arch['num_layers'])]
    config: dict[str, Any] = {
        'architectures': [classes.get(description.task, 'Sapiens2Model')],
        'model_type': 'sapiens2',
        'dtype': str(dtype).removeprefix('torch.'),
        'image_size': list(img_size),
        'patch_size': shapes[f'{prefix}patch_embed.projection.weight'][-1],
        'hidden_size': arch['embed_dims'],
        'intermediate_size': arch['feedforward_channels'],
        'num_hidden_layers': arch['num_layers'],
        'num_attention_heads': arch['num_heads'],
        'num_key_value_attention_heads': min(kv_heads),
        'num_key_value_heads_per_layer': kv_heads,
        'num_register_tokens': shapes[f'{prefix}storage_tokens'][1],
        'layerscale_value': LAYER_SCALE,
    }
    if description.task:
        labels = _labels(description)
        config |= {
            'head_config': _head_config(shapes, description.task),
            'id2label': dict(enumerate(labels)),
            'label2id': {label: index for index, label in enumerate(labels)},
        }
        if description.task == 'pose' and len(labels) == 308:
            config['flip_pairs'] = [[index, other] for index, other in enumerate(load_metainfo('sapiens308')[
                'flip_indices']) if index < other]
    return config


def _labels(description: Description) -> list[str]:
    """Names of the outputs, where the number of outputs says what they are."""
    if description.task == 'pose' and description.outputs == 308:
        return load_metainfo('sapiens308')['keypoint_names']
    if description.task == 'seg' and description.outputs == 29:
        return load_metainfo('seg29')['classes']
    return [f'LABEL_{index}' for index in range(description.outputs)]


def _head_config(shapes: Shapes, task: str) -> dict[str, Any]:
    """Widths and kernel sizes of a decoder."""
    deconvs = _weights(shapes, r'deconv_layers\.(\d+)\.weight')
    blocks = _weights(shapes, r'upsample_blocks\.(\d+)\.0\.weight')
    convs = _weights(shapes, r'conv_layers\.(\d+)\.weight')
    config: dict[str, Any] = {
        'use_pixel_shuffle': bool(blocks),
        'upsample_out_channels': [shape[0] // 4 for shape in blocks] or [shape[1] for shape in deconvs],
        'upsample_kernel_sizes': [shape[-1] for shape in blocks or deconvs],
        'conv_out_channels': [shape[0] for shape in convs],
        'conv_kernel_sizes': [shape[-1] for shape in convs],
    }
    if task == 'pointmap':
        scale_convs = _weights(shapes, r'scale_conv_layers\.(\d+)\.weight')
        linears = _weights(shapes, r'scale_final_layer\.(\d+)\.weight')
        config |= {
            'scale_conv_out_channels': [shape[0] for shape in scale_convs],
            'scale_conv_kernel_sizes': [shape[-1] for shape in scale_convs],
            'scale_final_input_size': linears[0][1],
            'scale_final_hidden_sizes': [shape[0] for shape in linears[:-1]],
        }
    return config


def _weights(shapes: Shapes, pattern: str) -> list[torch.Size]:
    """Shapes of the decoder's weights whose names match ``pattern``, in the order of the number in it."""
    found = [(int(match[1]), shape) for name, shape in shapes.items() if (match := re.fullmatch(HEAD + pattern, name))]
    return [shape for _, shape in sorted(found)]
