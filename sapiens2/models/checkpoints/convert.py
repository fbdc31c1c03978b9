"""Converts checkpoints to the released format or to transformers', without building a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

import torch

from sapiens2.models.checkpoints.describe import Description, describe
from sapiens2.models.checkpoints.errors import CheckpointError
from sapiens2.models.checkpoints.head_widths import HEAD
from sapiens2.models.checkpoints.image_size import METADATA_KEY
from sapiens2.models.checkpoints.load import COMPUTED, PERIODS
from sapiens2.models.checkpoints.source import BACKBONE, Origin, open_checkpoint
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.models.checkpoints.to_transformers import transformers_config
from sapiens2.models.checkpoints.write import write_safetensors
from sapiens2.models.layers import RotaryEmbedding2D
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.choices import WEIGHT_FORMATS
from sapiens2.utils.suggest import UnknownNameError, unknown_name


@dataclass(frozen=True)
class Conversion:
    """What was written.

    Attributes:
        origin: where the weights come from.
        description: what they are.
        files: the files written.
        tensors: number of tensors.
        bytes: size of their data.
    """

    origin: Origin
    description: Description
    files: tuple[Path, ...]
    tensors: int
    bytes: int


def convert(source: Union[str, Path],
            target: Union[str, Path],
            to: str,
            dtype: Optional[torch.dtype] = None,
            img_size: Optional[Sequence[int]] = None,
            force: bool = False,
            progress: Callable[[int, int], None] = lambda done, total: None) -> Conversion:
    """Write the weights of ``source`` in another format, one tensor in memory at a time.

    Args:
        source: see ``open_checkpoint``.
        target: a file that ends in .safetensors for 'released', a folder for 'transformers'.
        to: 'released' (names of the released files, which this project's models have too) or 'transformers'
            (config.json and model.safetensors).
        dtype: floating-point dtype of the parameters; default: as in ``source``. The rotary periods stay bf16.
        img_size: (H, W) in pixels, noted in what is written; default: what ``source`` notes.
        force: overwrite files.
        progress: called with the number of bytes written and to be written.

    Raises:
        ValueError: if ``target`` is no place for the format, or the format needs an image size that nothing notes.
        FileExistsError: if files are there and ``force`` is not set.
        CheckpointError: if ``source`` is no Sapiens2 model, or one that transformers does not have.
        FileNotFoundError, BadCheckpointFile: see ``open_checkpoint``.
    """
    target = Path(target)
    files = _target_files(target, to)
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise FileExistsError(f'{" and ".join(there)} exists; --force overwrites it')
    state, origin = open_checkpoint(source)
    state = _with_periods(_check(state, origin))
    description = describe({name: stored.shape for name, stored in state.items()})
    dtypes = {name: dtype if dtype and stored.dtype.is_floating_point and not name.endswith(COMPUTED) else stored.dtype
              for name, stored in state.items()}
    total = sum(stored.shape.numel() * dtypes[name].itemsize for name, stored in state.items())
    written = 0

    def advance(size: int) -> None:
        nonlocal written
        written += size
        progress(written, total)

    size = tuple(img_size) if img_size else origin.img_size
    if to == 'transformers':
        if size is None:
            raise ValueError(f'{source} does not say which image size its weights are for, and the config of '
                             'transformers must: give --img-size H W (img_size in Python), the size that the model was '
                             'trained with; for the released weights it is 1024 768')
        config = transformers_config({name: stored.shape for name, stored in state.items()}, description,
                                     _main_dtype(state, dtypes), size)
        with atomic_path(files[1]) as partial:
            partial.write_text(json.dumps(config, indent=2) + '\n', encoding='utf-8')
    metadata = {'arch': description.arch_name or 'custom', 'task': description.task or 'pretrain',
                **({METADATA_KEY: f'{size[0]} {size[1]}'} if size else {})}
    write_safetensors(files[0], state, dtypes.get, metadata, advance)
    return Conversion(origin, description, files, len(state), total)


def _target_files(target: Path, to: str) -> tuple[Path, ...]:
    if to not in WEIGHT_FORMATS:
        raise UnknownNameError(unknown_name(to, WEIGHT_FORMATS, 'format'))
    is_file = target.suffix == '.safetensors'
    if to == 'released':
        if not is_file or target.is_dir():
            raise ValueError(f'{target} must end in .safetensors: the released format is one file')
        return (target,)
    if is_file or target.is_file():
        raise ValueError(f'{target} must be a folder: the format of transformers is config.json and model.safetensors')
    return target / 'model.safetensors', target / 'config.json'


def _check(state: Mapping[str, StoredTensor], origin: Origin) -> dict[str, StoredTensor]:
    """``state`` as the released files hold it: a bare backbone, or 'backbone.' and 'decode_head.'.

    Raises:
        CheckpointError: if it is no Sapiens2 model, or has parts besides these two.
    """
    description = describe({name: stored.shape for name, stored in state.items()})
    if description.type != 'Sapiens2':
        raise CheckpointError(f'{origin.path} holds {description}; only Sapiens2 models are converted')
    if not any(name.startswith(BACKBONE) for name in state):
        return dict(state)
    foreign = sorted({name.split('.')[0] for name in state if not name.startswith((BACKBONE, HEAD))})
    if foreign:
        raise CheckpointError(f'{origin.path} holds {", ".join(foreign)} besides backbone and decode_head; remove that '
                              'first')
    if any(name.startswith(HEAD) for name in state):
        return dict(state)
    return {name.removeprefix(BACKBONE): stored for name, stored in state.items()}


def _with_periods(state: dict[str, StoredTensor]) -> dict[str, StoredTensor]:
    """``state`` with the rotary periods, which transformers does not store."""
    prefix = BACKBONE if f'{BACKBONE}cls_token' in state else ''
    if f'{prefix}{PERIODS}' not in state:
        head_dim = state[f'{prefix}blocks.0.attn.q_norm.weight'].shape[0]
        state[f'{prefix}{PERIODS}'] = StoredTensor((RotaryEmbedding2D(head_dim).compute_periods(),))
    return state


def _main_dtype(state: Mapping[str, StoredTensor], dtypes: Mapping[str, torch.dtype]) -> torch.dtype:
    """The dtype of most numbers."""
    sizes: dict[torch.dtype, int] = {}
    for name, stored in state.items():
        sizes[dtypes[name]] = sizes.get(dtypes[name], 0) + stored.shape.numel()
    return max(sizes, key=sizes.__getitem__)
