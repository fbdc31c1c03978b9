"""From a config file and options to a trained or tested model: what ``sapiens2 train`` and ``sapiens2 test`` share."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

from mmengine.config import Config
from torch import nn

from sapiens2.engine.checkpoints import AUTO
from sapiens2.engine.runner import Sapiens2Runner
from sapiens2.utils.atomic import check_folder
from sapiens2.utils.config import ConfigError, load_config

AMP_WRAPPER = 'BFloat16OptimWrapper'


def prepare(config: Union[str, Path], *, work_dir: Optional[str] = None, options: Optional[Mapping[str, Any]] = None,
            launcher: str = 'none', seed: Optional[int] = None) -> Config:
    """Read and check a config, and set what the command line says.

    Args:
        config: config file.
        work_dir: where logs and checkpoints go; default: the config's, or ``work_dirs/<name of the config>``.
        options: entries to replace, as for ``--cfg-options``.
        launcher: none, pytorch, slurm or mpi.
        seed: of the whole run.

    Raises:
        ConfigError: see ``load_config``.
        OSError: if nothing can be written to the work directory.
    """
    cfg = load_config(config, options)
    cfg.work_dir = work_dir or cfg.get('work_dir') or str(Path('work_dirs') / Path(config).stem)
    check_folder(cfg.work_dir)
    cfg.launcher = launcher
    if seed is not None:
        cfg.randomness = {**cfg.get('randomness', {}), 'seed': seed}
    return cfg


def train(cfg: Config, *, resume: Optional[str] = None, amp: bool = False) -> nn.Module:
    """Train as ``cfg`` says.

    Args:
        cfg: of ``prepare``.
        resume: 'auto' goes on from the newest checkpoint in the work directory, or starts anew if there is none; a path
            goes on from that checkpoint.
        amp: run the forward pass in bfloat16.

    Raises:
        ConfigError: if data, the checkpoint or a package is missing.
    """
    with failures_noted(cfg.work_dir):
        return _train(cfg, resume, amp)


def _train(cfg: Config, resume: Optional[str], amp: bool) -> nn.Module:
    check_data(cfg, 'train_dataloader', 'val_dataloader')
    if resume == AUTO:
        cfg.resume = AUTO  # the runner looks for it
    elif resume is not None:
        check_file(resume, '--resume')
        cfg.started_from = cfg.get('load_from')  # what is frozen comes from there
        cfg.load_from, cfg.resume = str(resume), True
    if cfg.get('load_from'):
        check_file(cfg.load_from, 'load_from')
    if amp and cfg.optim_wrapper.get('type', 'OptimWrapper') == 'OptimWrapper':
        cfg.optim_wrapper.type = AMP_WRAPPER
    with missing_packages():
        return build_runner(cfg).train()


def test(cfg: Config, checkpoint: Union[str, Path], dump: Optional[Union[str, Path]] = None) -> dict[str, float]:
    """Measure ``checkpoint`` on the test data of ``cfg``.

    Args:
        cfg: of ``prepare``.
        checkpoint: weights in any supported format.
        dump: '.pkl' file that gets the predictions of all samples.

    Returns:
        The metrics by name.

    Raises:
        ConfigError: if data or the checkpoint is missing.
    """
    check_data(cfg, 'test_dataloader')
    check_file(checkpoint, 'CHECKPOINT')
    cfg.load_from, cfg.resume = str(checkpoint), False
    if dump is not None:
        metrics = cfg.test_evaluator
        cfg.test_evaluator = [*(metrics if isinstance(metrics, (list, tuple)) else [metrics]),
                              dict(type='DumpResults', out_file_path=str(dump))]
    with missing_packages():
        return build_runner(cfg).test()


@contextmanager
def failures_noted(work_dir: Union[str, Path]) -> Iterator[None]:
    """Of several processes, let each that fails leave its traceback in ``failures/`` in the work directory.

    The screen shows the output of one process, and the first to fail may be another one.
    """
    try:
        yield
    except Exception:
        if int(os.environ.get('WORLD_SIZE', 1)) > 1:
            name = f'{time.strftime("%Y%m%d_%H%M%S")}_process{int(os.environ["RANK"]):05d}.txt'
            file = Path(work_dir, 'failures', name)
            with contextlib.suppress(OSError):  # the disk may be what has failed; the error itself goes on
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(traceback.format_exc(), encoding='utf-8')
        raise


@contextmanager
def missing_packages() -> Iterator[None]:
    """Turn the lack of an optional package (peft, wandb, ...) into ConfigError; those who need it say how to get it."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(f'the config needs a package that is not installed. {error}') from error


def build_runner(cfg: Config) -> Sapiens2Runner:
    """Build the runner and the model.

    Raises:
        ConfigError: if a component refuses its arguments: an unknown arch, an image size that does not fit.
    """
    try:
        return Sapiens2Runner.from_cfg(cfg)
    except UnicodeEncodeError as error:
        raise ConfigError(f'{error.object!a} cannot be written: this locale has other characters. Start with '
                          'PYTHONUTF8=1, or without characters beyond ASCII') from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(error.args[0]) from error


def check_file(path: Union[str, Path], entry: str) -> None:
    """Raise ConfigError unless ``path``, which ``entry`` names, exists."""
    if not Path(path).exists():
        raise ConfigError(f'{entry}: {str(path)!r} does not exist')


def check_data(cfg: Mapping[str, Any], *loaders: str) -> None:
    """Check that the files and folders of the data sets exist.

    Raises:
        ConfigError: names each missing path once, its entries, and the option that changes it.
    """
    faults: dict[str, list[str]] = {}
    for loader in loaders:
        for entry, dataset in _datasets(cfg.get(loader) or {}, loader):
            root = dataset.get('data_root') or ''
            if root and not Path(root).is_dir():
                faults.setdefault(f'folder {root!r} does not exist', []).append(f'{entry}.data_root')
                continue
            named = {**{key: dataset.get(key) for key in ('ann_file', 'bbox_file')},
                     **{f'data_prefix.{key}': value for key, value in (dataset.get('data_prefix') or {}).items()}}
            for key, value in named.items():
                if isinstance(value, str) and value and not (Path(root) / value).exists():
                    faults.setdefault(f'{str(Path(root) / value)!r} does not exist', []).append(f'{entry}.{key}')
    if faults:
        option = 'data_root' if 'data_root' in cfg else next(iter(faults.values()))[0]
        lines = [f'{", ".join(entries)}: {fault}' for fault, entries in faults.items()]
        raise ConfigError('\n'.join([*lines, f'Put the data there, or say where it is: --cfg-options {option}=PATH']))


def _datasets(node: Any, entry: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All data set configurations below ``node``, those inside wrappers included, with their entries."""
    if isinstance(node, Mapping):
        if 'data_root' in node or 'ann_file' in node:
            yield entry, node
        for key, value in node.items():
            yield from _datasets(value, f'{entry}.{key}')
    elif isinstance(node, (list, tuple)):
        for index, item in enumerate(node):
            yield from _datasets(item, f'{entry}.{index}')
