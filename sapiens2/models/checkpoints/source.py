"""Opens a checkpoint of any supported format and gives its tensors this project's names."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional, Union

from torch import Tensor

from sapiens2.models.checkpoints.errors import BadCheckpointFile, CheckpointError
from sapiens2.models.checkpoints.identify import INDEX, MANIFEST, SAFETENSORS, find_weights, identify
from sapiens2.models.checkpoints.image_size import noted_size, size_in_archive, size_in_metadata
from sapiens2.models.checkpoints.layouts import OTHER, TRANSFORMERS, from_transformers, recognise
from sapiens2.models.checkpoints.pickles import load_pickle
from sapiens2.models.checkpoints.sharded import TRAINING, open_sharded
from sapiens2.models.checkpoints.stored import StoredTensor, map_safetensors
from sapiens2.models.checkpoints.wrappings import flatten, levels, unwrap

BACKBONE = 'backbone.'
# Of a pretraining run: the running average of its backbone, and all that lies beside the backbone.
TEACHER = 'teacher_backbone.'
PRETRAINING = (TEACHER, 'mae.', 'contrastive.')


@dataclass(frozen=True)
class Origin:
    """Where weights come from.

    Attributes:
        path: what was asked for.
        files: the files that were opened.
        layout: 'released', 'transformers', 'Sapiens v1' or 'other': whose names the parameters have in the file.
        wrapping: what lay around them, 'state_dict.' for instance; '' if nothing.
        config: config.json of transformers, where it lies beside the weights.
        img_size: (H, W) in pixels of the images that the weights are for; None where nothing says.
        part: which backbone of a pretraining run was taken; '' if there was nothing to choose.
    """

    path: Path
    files: tuple[Path, ...]
    layout: str
    wrapping: str
    config: Optional[dict[str, Any]]
    img_size: Optional[tuple[int, int]]
    part: str = ''

    def __str__(self) -> str:
        around = f', inside {self.wrapping.rstrip(".")!r}' if self.wrapping else ''
        # A file of transformers has the released names, too.
        kind = 'transformers format' if self.config else f'{self.layout} names'
        part = f', {self.part}' if self.part else ''
        return f'{self.path} ({kind}{around}{part})'


def open_checkpoint(path: Union[str, Path],
                    like: Collection[str] = ()) -> tuple[dict[str, StoredTensor], Origin]:
    """Open a checkpoint without reading its tensors.

    Args:
        path: a safetensors file or an index of several, an archive of ``torch.save`` (of MMEngine for instance), or a
            directory: in transformers' format, or the checkpoint of a sharded run.
        like: names of the parameters of the model that is to be filled. They decide between several ways to take
            wrappings off; without them the names of the known layouts do. Unless they are those of a pretrainer, the
            checkpoint of a pretraining run gives its backbone alone: the teacher's if it has one, else the student's.

    Returns:
        Entries by name, transformers' names turned into the released ones, and their origin.

    Raises:
        FileNotFoundError: if there is no such file.
        BadCheckpointFile: if it is no usable checkpoint.
        CheckpointError: if names in it clash or have no counterpart here.
    """
    path = Path(path)
    flat, files, img_size = _read(find_weights(path))
    config = _transformers_config(files[0].parent)
    img_size = img_size or noted_size((config or {}).get('image_size'))
    known, best, score, failure = set(like), None, -1, None
    for prefix in levels(list(flat)):
        try:
            state = unwrap(flat, prefix)
            layout = recognise(state)
            if layout == TRANSFORMERS:
                state = from_transformers(state, config)
        except CheckpointError as error:
            failure = error  # names may make sense once another wrapping is off
            continue
        fit = max(len(known & names.keys()) for names in readings(state)) if known else int(layout != OTHER)
        if fit > score:
            score, best = fit, (state, Origin(path, files, layout, prefix, config, img_size))
    if best is None:
        raise CheckpointError(f'{path}: {failure}') from failure
    return best if any(name.startswith(PRETRAINING) for name in known) else _backbone_of_pretraining(*best)


def _backbone_of_pretraining(state: dict[str, StoredTensor],
                             origin: Origin) -> tuple[dict[str, StoredTensor], Origin]:
    """The backbone to use of a pretraining run, called 'backbone.'; other checkpoints as they are."""
    beside = [name for name in state if name.startswith(PRETRAINING)]
    if not beside or not any(name.startswith(BACKBONE) for name in state):
        return state, origin
    prefix, whose = (TEACHER, 'the teacher') if any(name.startswith(TEACHER) for name in beside) else (
        BACKBONE, 'the student, since there is no teacher,')
    taken = {f'{BACKBONE}{name[len(prefix):]}': value for name, value in state.items() if name.startswith(prefix)}
    return taken, replace(origin, part=f'{whose} of a pretraining run')


def readings(state: dict[str, StoredTensor]) -> tuple[dict[str, StoredTensor], ...]:
    """``state`` itself, its backbone on its own, and as the backbone of a larger model."""
    inner = {name[len(BACKBONE):]: value for name, value in state.items() if name.startswith(BACKBONE)}
    return state, inner, {f'{BACKBONE}{name}': value for name, value in state.items()}


def load_state(path: Union[str, Path]) -> tuple[dict[str, Tensor], Origin]:
    """The tensors of a checkpoint by name and their origin; see ``open_checkpoint``.

    Tensors of safetensors files and zip archives are views of the file, which is read when they are used.
    """
    state, origin = open_checkpoint(path)
    return {name: stored.read() for name, stored in state.items()}, origin


def _read(file: Path) -> tuple[dict[str, StoredTensor], tuple[Path, ...], Optional[tuple[int, int]]]:
    """All tensors of a file under the names it gives them, the files they lie in, and the image size if it is noted."""
    if file.name == MANIFEST:
        return *open_sharded(file.parent), size_in_archive(load_pickle(file.parent / TRAINING, mmap=False))
    kind = identify(file)
    if kind == SAFETENSORS:
        tensors, metadata = map_safetensors(file)
        return tensors, (file,), size_in_metadata(metadata)
    if kind == INDEX:
        return *_read_shards(file), None
    tree = load_pickle(file)
    flat: dict[str, Tensor] = flatten(tree)
    if not flat:
        raise BadCheckpointFile(file, 'an archive without tensors', 'A state dict maps names to tensors.')
    return {name: StoredTensor((tensor,), volatile=True) for name, tensor in flat.items()}, (file,), (
        size_in_archive(tree))


def _read_shards(index: Path) -> tuple[dict[str, StoredTensor], tuple[Path, ...]]:
    """Tensors of the several files that a safetensors index lists."""
    weight_map: dict[str, str] = json.loads(index.read_bytes())['weight_map']
    flat: dict[str, StoredTensor] = {}
    files = []
    for name in sorted(set(weight_map.values())):
        file = index.parent / name
        if file.parent != index.parent or not file.is_file():
            raise BadCheckpointFile(index, f'a safetensors index whose part {name!r} is missing',
                                    'Download all parts into the folder of the index.')
        identify(file)
        flat.update(map_safetensors(file)[0])
        files.append(file)
    missing = sorted(set(weight_map) - set(flat))
    if missing:
        raise BadCheckpointFile(index, f'a safetensors index that lists {missing[0]!r}, which no part holds',
                                'Download all parts again.')
    return flat, tuple(files)


def _transformers_config(folder: Path) -> Optional[dict[str, Any]]:
    """config.json of a transformers model of this family in ``folder``."""
    file = folder / 'config.json'
    if not file.is_file():
        return None
    try:
        config = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadCheckpointFile(file, 'damaged JSON', f'{error}.') from error
    return config if isinstance(config, dict) and config.get('model_type') == 'sapiens2' else None
