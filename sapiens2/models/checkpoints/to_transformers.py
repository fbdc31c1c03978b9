"""config.json of transformers' Sapiens2 models, made from the shapes of the released parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.models.checkpoints.describe import Description, Shapes
from sapiens2.models.checkpoints.errors import CheckpointError
from sapiens2.models.checkpoints.layouts import TRANSFORMERS_TASKS

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
        'num_register_tokens': shapes.get(f'{prefix}storage_tokens', (1, 0))[1],
        'layerscale_value': LAYER_SCALE,
    }
    if description.task:
        labels = _labels(description)
        config |= {
            'head_config': _head_config(description.head),
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


def _head_config(widths: Mapping[str, Any]) -> dict[str, Any]:
    """Widths and kernel sizes of a decoder by transformers' names."""
    upsample = 'upsample_channels' in widths
    channels = widths['upsample_channels'] if upsample else widths['deconv_out_channels']
    config: dict[str, Any] = {
        'use_pixel_shuffle': upsample,
        'upsample_out_channels': list(channels),
        'upsample_kernel_sizes': [3] * len(channels) if upsample else list(widths['deconv_kernel_sizes']),
        'conv_out_channels': list(widths['conv_out_channels']),
        'conv_kernel_sizes': list(widths['conv_kernel_sizes']),
    }
    if 'scale_final_layer' in widths:
        config |= {
            'scale_conv_out_channels': list(widths['scale_conv_out_channels']),
            'scale_conv_kernel_sizes': list(widths['scale_conv_kernel_sizes']),
            'scale_final_input_size': widths['scale_final_layer'][0],
            'scale_final_hidden_sizes': list(widths['scale_final_layer'][1:-1]),
        }
    return config
