"""What the hook notes of checkpoints that are written while training goes on."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest
from mmengine.logging import MessageHub

from sapiens2.engine.hooks import CheckpointHook
from sapiens2.utils.config import ConfigError


class LateStrategy:
    """Folders that are there only when the next one is begun, or at the end."""

    checkpoint_name = 'iter_{}'

    def __init__(self) -> None:
        self.pending: Optional[Path] = None

    def wait(self) -> None:
        if self.pending is not None:
            self.pending.mkdir(parents=True)
            self.pending = None

    def write(self, folder: Path) -> None:
        self.wait()
        self.pending = folder


def make_runner(tmp_path: Path) -> Any:
    strategy = LateStrategy()
    return SimpleNamespace(
        strategy=strategy, work_dir=str(tmp_path), logger=logging.getLogger('late'), iter=0, epoch=0,
        message_hub=MessageHub.get_instance(f'late-{tmp_path}'),
        save_checkpoint=lambda out_dir, name, *args, **kwargs: strategy.write(Path(out_dir, name)))


def test_the_last_checkpoint_is_one_that_is_there(tmp_path: Path) -> None:
    runner, hook = make_runner(tmp_path), CheckpointHook(interval=1, by_epoch=False, max_keep_ckpts=2, save_last=False)
    hook.before_train(runner)
    note = tmp_path / 'last_checkpoint'
    for runner.iter in range(3):
        hook.after_train_iter(runner, runner.iter)
        if runner.iter == 0:
            assert not note.exists()
    hook.interval = 100
    runner.strategy.wait()
    runner.iter = 3
    hook.after_train_iter(runner, 3)
    assert note.read_text(encoding='utf-8') == str(tmp_path / 'iter_3')
    runner.strategy.write(tmp_path / 'iter_4')
    hook._unnoted = tmp_path / 'iter_4'
    hook.after_train(runner)
    assert note.read_text(encoding='utf-8') == str(tmp_path / 'iter_4')


def test_folders_are_not_published(tmp_path: Path) -> None:
    hook = CheckpointHook(interval=1, by_epoch=False, published_keys=['state_dict'])
    with pytest.raises(ConfigError, match='published_keys .*sapiens2 convert'):
        hook.before_train(make_runner(tmp_path))
