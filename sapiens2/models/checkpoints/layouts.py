"""Names that other programs give to the same parameters, and how they become this project's.

The names of transformers' models were read off its ``state_dict`` (version 5.24); on disk it uses the released names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Optional

from sapiens2.models.checkpoints.errors import CheckpointError
from sapiens2.models.checkpoints.stored import State, StoredTensor

RELEASED, TRANSFORMERS, SAPIENS_V1, OTHER = 'released', 'transformers', 'Sapiens v1', 'other'

# Task of the decoder, by the class of transformers that has it.
TRANSFORMERS_TASKS = {
    'Sapiens2ForPoseEstimation': 'pose',
    'Sapiens2ForSemanticSegmentation': 'seg',
    'Sapiens2ForNormalEstimation': 'normal',
    'Sapiens2ForPointmapEstimation': 'pointmap',
}

_EMBEDDINGS = {
    'cls_token': 'cls_token', 'register_tokens': 'storage_tokens', 'mask_token': 'mask_token',
    'patch_embeddings.weight': 'patch_embed.projection.weight', 'patch_embeddings.bias': 'patch_embed.projection.bias',
}
_BLOCK = {
    'norm1': 'ln1', 'norm2': 'ln2', 'attention.q_proj': 'attn.wq', 'attention.k_proj': 'attn.wk',
    'attention.v_proj': 'attn.wv', 'attention.o_proj': 'attn.proj', 'attention.q_norm': 'attn.q_norm',
    'attention.k_norm': 'attn.k_norm', 'mlp.gate_proj': 'ffn.w12', 'mlp.up_proj': 'ffn.w12',
    'mlp.down_proj': 'ffn.w3',
}


def recognise(names: Iterable[str]) -> str:
    """Which layout ``names`` are in: one of this file's four constants."""
    for name in names:
        if re.match(r'(model\.)?model\.layer\.\d+\.attention\.', name):
            return TRANSFORMERS
        if re.match(r'(backbone\.)?blocks\.\d+\.attn\.wq\.', name):
            return RELEASED
        if re.match(r'(backbone\.)?layers\.\d+\.attn\.qkv\.', name):
            return SAPIENS_V1
    return OTHER


def from_transformers(state: State, config: Optional[dict[str, Any]] = None) -> dict[str, StoredTensor]:
    """Rename the parameters of a transformers model to the released names.

    Args:
        state: entries named as in the ``state_dict`` of a model of transformers.
        config: its config.json; without it the task is told from the shapes.

    Raises:
        CheckpointError: for a name that has no counterpart here, a decoder for matting for instance.
    """
    task = _transformers_task(state, config)
    renamed: dict[str, list[StoredTensor]] = {}
    # Within a block the gate projection sorts before the up projection, the order in which they are joined.
    for name in sorted(state):
        renamed.setdefault(_released_name(name, task, state), []).append(state[name])
    return {name: parts[0] if len(parts) == 1 else StoredTensor.concatenate(parts) for name, parts in renamed.items()}


def _transformers_task(state: State, config: Optional[dict[str, Any]]) -> Optional[str]:
    """Task of the decoder; None for a bare backbone."""
    if not any(name.startswith('decode_head.') for name in state):
        return None
    architecture = ((config or {}).get('architectures') or [None])[0]
    if architecture:
        if architecture not in TRANSFORMERS_TASKS:
            raise CheckpointError(f'{architecture} of transformers has no counterpart here; known are '
                                  f'{", ".join(TRANSFORMERS_TASKS)}')
        return TRANSFORMERS_TASKS[architecture]
    if any(name.startswith('scale_head.') for name in state):
        return 'pointmap'
    if 'decode_head.input_conv.convolution.weight' in state:
        outputs = state['decode_head.predictor.weight'].shape[0]
        if outputs != 3:
            raise CheckpointError(f'a decoder of transformers with {outputs} outputs has no counterpart here')
        return 'normal'
    return 'seg' if 'decode_head.upsample_layers.2.convolution.weight' in state else 'pose'


def _released_name(name: str, task: Optional[str], state: State) -> str:
    """The released name of one parameter of a transformers model."""
    backbone = name
    prefix = ''
    if task:
        first, _, rest = name.partition('.')
        if first == 'decode_head':
            return f'decode_head.{_released_head_name(rest, task)}'
        if first == 'scale_head':
            return f'decode_head.{_released_scale_name(rest, state)}'
        backbone, prefix = rest, 'backbone.'
    first, _, rest = backbone.partition('.')
    if first == 'embeddings' and rest in _EMBEDDINGS:
        return prefix + _EMBEDDINGS[rest]
    if backbone == 'norm.weight':
        return f'{prefix}ln1.weight'
    block = re.fullmatch(r'model\.layer\.(\d+)\.(.+)\.(\w+)', backbone)
    if block:
        index, module, leaf = block.groups()
        if f'{module}.{leaf}' == 'layer_scale1.lambda1':
            return f'{prefix}blocks.{index}.attn.gamma.weight'
        if module in _BLOCK:
            return f'{prefix}blocks.{index}.{_BLOCK[module]}.{leaf}'
    raise CheckpointError(f'parameter {name!r} of a transformers model has no counterpart here')


def _released_head_name(name: str, task: str) -> str:
    """Name inside ``decode_head``: layers lie between norms and activations, so their numbers grow by three."""
    numbered = re.fullmatch(r'(upsample_layers|conv_layers)\.(\d+)\.convolution\.(\w+)', name)
    if numbered:
        kind, index, leaf = numbered.groups()
        if kind == 'upsample_layers' and task not in ('pose', 'seg'):
            return f'upsample_blocks.{index}.0.{leaf}'
        return f'{kind.replace("upsample", "deconv")}.{3 * int(index)}.{leaf}'
    if name.startswith('input_conv.convolution.'):
        return name.replace('convolution', '0')
    if name.startswith('predictor.'):
        return name.replace('predictor', f'conv_{task}')
    raise CheckpointError(f"parameter 'decode_head.{name}' of a transformers model has no counterpart here")


def _released_scale_name(name: str, state: State) -> str:
    """Name of a part of ``scale_head`` inside ``decode_head``; linear layers stand at 1, 3, 5... of the branch."""
    conv = re.fullmatch(r'conv_layers\.(\d+)\.convolution\.(\w+)', name)
    if conv:
        return f'scale_conv_layers.{3 * int(conv[1])}.{conv[2]}'
    linear = re.fullmatch(r'predictor\.block(\d+)\.layers\.0\.(\w+)', name)
    if linear:
        return f'scale_final_layer.{2 * int(linear[1]) - 1}.{linear[2]}'
    last = re.fullmatch(r'predictor\.proj\.(\w+)', name)
    if last:
        hidden = sum(bool(re.fullmatch(r'scale_head\.predictor\.block\d+\.layers\.0\.weight', key)) for key in state)
        return f'scale_final_layer.{2 * hidden + 1}.{last[1]}'
    raise CheckpointError(f"parameter 'scale_head.{name}' of a transformers model has no counterpart here")
