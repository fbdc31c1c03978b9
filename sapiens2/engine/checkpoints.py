"""Files that a training run writes and goes on from: where they are, what they hold, and whether they fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import torch
from torch import Tensor, nn

from sapiens2.engine.plain import plain
from sapiens2.models.checkpoints import CheckpointError, load_pickle, open_checkpoint
from sapiens2.models.checkpoints.load import match
from sapiens2.models.checkpoints.sharded import TRAINING, read_manifest
from sapiens2.models.checkpoints.source import BACKBONE
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.first_few import first_few

AUTO = 'auto'  # ``resume`` of a config: go on from the newest checkpoint, or start anew if there is none

# Of a checkpoint: values of trained parameters that ``state_dict``, the weights to use, lacks or holds otherwise.
TRAINING_WEIGHTS = 'training_weights'
# Of a checkpoint of an ``EMAHook``: averages of parameters that ``state_dict`` lacks (adapters).
AVERAGED_WEIGHTS = 'averaged_weights'
STATE_KEYS = ('state_dict', 'optimizer', 'param_schedulers', 'message_hub', 'meta')


def checkpoints_in(work_dir: Union[str, Path]) -> dict[int, Path]:
    """Checkpoints in the folder of a run, files and folders, by the iterations that are done."""
    return {int(match[1]): path for path in sorted(Path(work_dir).glob('iter_*'), reverse=True)
            if (match := re.fullmatch(r'iter_(\d+)(\.pth)?', path.name))}


def latest_checkpoint(work_dir: Union[str, Path], warn: Callable[[str], None],
                      check: Optional[Callable[[Path], object]] = None,
                      found: Optional[Mapping[int, Path]] = None) -> Optional[Path]:
    """The checkpoint with most iterations in ``work_dir``; None if there is none.

    Checkpoints are written whole or not at all, but a copy of a folder, or a crash of the machine, may leave half a
    file. Files are looked for by name: the folder may have been moved (MMEngine's ``last_checkpoint`` holds an absolute
    path).

    Args:
        work_dir: folder of a run.
        warn: told of each newer one that cannot be used.
        check: raises unless a checkpoint can be used. Default: ``read_meta``.
        found: what to look at. Default: ``checkpoints_in`` the folder.

    Raises:
        CheckpointError: if there are checkpoints and none can be used.
    """
    reasons = []
    found = checkpoints_in(work_dir) if found is None else found
    for number in sorted(found, reverse=True):
        try:
            (check or read_meta)(found[number])
        except (CheckpointError, OSError) as error:
            reasons.append(str(error))
        else:
            for reason in reasons:
                warn(f'The run goes on from {found[number].name}, since a newer checkpoint cannot be used. {reason}')
            return found[number]
    if reasons:
        raise CheckpointError('no checkpoint in the folder can be used; move them away to start anew:\n'
                              + '\n'.join(reasons))
    return None


def read_training_state(filename: Union[str, Path], mmap: bool = False) -> Mapping[str, Any]:
    """A checkpoint of a training run.

    Args:
        filename: the file.
        mmap: map tensors from the file; by default all is read, since the optimizer keeps them and the file may be
            replaced.

    Raises:
        CheckpointError: if the file is no checkpoint, or holds weights alone.
    """
    checkpoint = load_pickle(Path(filename), mmap=mmap)
    missing = [key for key in STATE_KEYS if not isinstance(checkpoint, Mapping) or key not in checkpoint]
    if missing:
        raise CheckpointError(f'{filename} holds no {", ".join(missing)}: it is no checkpoint of a training run. To '
                              'start a new run from its weights, set load_from instead of resume.')
    _checked_meta(filename, checkpoint)
    return checkpoint


def cannot_be_resumed(filename: Union[str, Path], why: str, faults: Sequence[str] = ()) -> CheckpointError:
    """The error about a checkpoint of another run than this config describes; the first ``faults`` are lines of it."""
    return CheckpointError('\n'.join([f'{filename} cannot be resumed: {why}. Resume with the config of that run, or '
                                      'start a new run from its weights with load_from.', *first_few(faults)]))


def _checked_meta(filename: Union[str, Path], checkpoint: Any) -> Mapping[str, Any]:
    meta = checkpoint.get('meta') if isinstance(checkpoint, Mapping) else None
    if not isinstance(meta, Mapping) or not isinstance(meta.get('iter'), int):
        raise CheckpointError(f"{filename}: meta lacks 'iter', the number of iterations that are done; the file is "
                              'damaged or of another program')
    return meta


def read_meta(filename: Union[str, Path]) -> Mapping[str, Any]:
    """``meta`` of a checkpoint of a training run; its tensors are not read. Raises as ``read_training_state``."""
    if Path(filename).is_dir():
        read_manifest(Path(filename))
        return _checked_meta(filename, load_pickle(Path(filename, TRAINING), mmap=False))
    return read_training_state(filename, mmap=True)['meta']


def check_fine_tuning(filename: Union[str, Path], meta: Mapping[str, Any], own: Optional[Mapping[str, Any]]) -> None:
    """Check that a run trains the same parameters as the one that wrote ``filename``.

    Args:
        filename: a checkpoint, for the error.
        meta: its entry of that name; older ones do not say.
        own: ``FineTuning.description`` of the run that is to go on, None if everything is trained.

    Raises:
        CheckpointError: if not.
    """
    before = meta.get('fine_tuning', own)
    if before != own:
        raise CheckpointError(
            f'{filename} cannot be resumed: its run has {_fine_tuning_text(before)}, this config has '
            f'{_fine_tuning_text(own)}. Set fine_tuning as in that run, or start a new run from its weights with '
            f'--cfg-options load_from={filename}, without --resume.')


def _fine_tuning_text(description: Optional[Mapping[str, Any]]) -> str:
    if description is None:
        return 'no fine_tuning (all weights are trained)'
    return f'fine_tuning=dict({", ".join(f"{key}={value!r}" for key, value in description.items())})'


def write_training_state(checkpoint: Mapping[str, Any], path: Path) -> None:
    """Write ``checkpoint`` as plain values, whole or not at all.

    Raises:
        TypeError: if it holds something that is not plain.
        OSError: if it cannot be written.
    """
    values = plain(checkpoint, 'checkpoint')
    try:
        with atomic_path(path) as partial:
            torch.save(values, partial)
    except RuntimeError as error:  # torch's word for what the system refuses, a full disk above all
        raise OSError(f'{path} cannot be written: is the disk full? Checkpoints written before are unharmed. '
                      f'({error})') from error


def holds_backbone_alone(model: nn.Module, filename: Union[str, Path]) -> bool:
    """Whether ``filename`` fits all of ``model.backbone`` and nothing else of the model, and holds nothing else."""
    target = model.state_dict()
    report, _ = match(target, *open_checkpoint(filename, like=target))
    outside = {name for name in target if not name.startswith(BACKBONE)}
    unfilled = {*report.missing, *report.computed}
    return outside <= unfilled and outside >= set(report.missing) and not (report.unexpected or report.misshapen)


def put_back(model: nn.Module, checkpoint: Mapping[str, Any], filename: Union[str, Path],
             weights_for_use: Callable[[], dict[str, Tensor]], base: Optional[str] = None) -> None:
    """Load the weights of a training run: those for use, which shows that all fit, then those of training.

    Args:
        model: what is trained, without a wrapper.
        checkpoint: of ``read_training_state``.
        filename: its file, for errors.
        weights_for_use: gives the state dict of the plain model, which a checkpoint holds as ``state_dict``.
        base: where values come from that are frozen and not in the checkpoint; None if it holds all.

    Raises:
        CheckpointError: if they do not fit, or what is frozen has other values than in that run.
    """
    saved, training = checkpoint['state_dict'], checkpoint.get(TRAINING_WEIGHTS, {})
    known = {**saved, **checkpoint.get(AVERAGED_WEIGHTS, training)}
    try:
        model.load_state_dict({name: known[name] for name in model.state_dict() if name in known}, strict=False)
    except RuntimeError as error:
        _, *shapes = str(error).splitlines()
        raise cannot_be_resumed(filename, 'parameters of this model have other shapes', shapes) from error
    weights = weights_for_use()
    if weights.keys() != saved.keys():
        differing = sorted(weights.keys() ^ saved.keys())
        raise cannot_be_resumed(filename, 'it or this model lacks parameters that the other has', differing)
    if base is not None:
        for name, value in saved.items():
            if not torch.allclose(weights[name].cpu(), value, rtol=1e-4, atol=1e-6):
                raise CheckpointError(f'{filename} was trained on top of other weights than {base} ({name} differs): '
                                      'name the right ones with --cfg-options load_from=PATH')
    model.load_state_dict(training, strict=False)
