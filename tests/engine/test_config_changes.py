"""A run that goes on says in what its config is not that of the checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

from mmengine.config import Config

from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.config_changes import config_changes

BEFORE = dict(
    train_dataloader=dict(batch_size=2, dataset=dict(data_root='a', size=(3, 4))), work_dir='x', load_from=None,
    param_scheduler=[dict(type='LinearLR', end=3), dict(type='CosineAnnealingLR')], low=float('-inf'))


def text(**changes: object) -> str:
    cfg = Config(BEFORE)
    cfg.merge_from_dict(changes)
    return cfg.pretty_text


def test_one_line_for_each_entry_that_matters() -> None:
    assert config_changes(text(), text()) == []
    assert config_changes(text(), text(work_dir='y', load_from='z')) == []
    now = text(**{'train_dataloader.dataset.data_root': 'b', 'train_dataloader.dataset.size': (3, 5),
                  'param_scheduler.0.end': 5, 'strategy': dict(type='FSDP2')})
    assert config_changes(text(), now) == [
        'param_scheduler.0.end: 5, was 3', "strategy.type: 'FSDP2', was not set",
        "train_dataloader.dataset.data_root: 'b', was 'a'", 'train_dataloader.dataset.size: [3, 5], was [3, 4]']
    many = config_changes(text(), text(model={f'a{number}': 'v' * 200 for number in range(12)}))
    assert len(many) == 11 and many[-1] == 'and 2 more' and all(len(line) < 120 for line in many)


def test_texts_are_not_run() -> None:
    before = text() + "\nmodel = dict(a=__import__('os').abort())\n"
    assert config_changes(before, text()) == ["model.a: not set, was \"__import__('os').abort()\""]
    assert config_changes('no ] config', text()) == [] and config_changes('', text()) == []


def test_a_resumed_run_says_what_differs(toy_cfg: Callable[..., Config]) -> None:
    first = toy_cfg('run')
    Sapiens2Runner.from_cfg(first).train()
    newest = max(Path(first.work_dir).glob('iter_*.pth'))
    for changes, said in (({}, False), (dict(train_cfg__max_iters=first.train_cfg.max_iters + 1), True)):
        runner = Sapiens2Runner.from_cfg(toy_cfg('again', resume=True, load_from=str(newest), **changes))
        with mock.patch.object(runner.logger, 'warning') as warning:
            runner.train()
        texts = [call.args[0] for call in warning.call_args_list if 'is not that of the checkpoint' in call.args[0]]
        assert len(texts) == said and all('\n  train_cfg.max_iters: ' in found for found in texts)
