"""What is validated, saved and loaded is the average; what trains on is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import Config
from mmengine.evaluator import BaseMetric

from sapiens2.engine import Sapiens2Runner
from sapiens2.models.checkpoints import load_checkpoint
from sapiens2.registry import METRICS

ConfigMaker = Callable[..., Config]
HOOKS = [dict(type='FiniteLossHook'), dict(type='EMAHook', momentum=0.2)]


@METRICS.register_module(force=True)
class WeightMetric(BaseMetric):
    """The first weight of the model that is measured, which the toy model writes into its predictions."""

    default_prefix = 'toy'

    def process(self, data_batch: Any, data_samples: Any) -> None:
        self.results.append(data_samples[0]['weight'])

    def compute_metrics(self, results: list) -> dict[str, float]:
        return dict(weight=float(results[0]))


@pytest.fixture
def cfg(toy_cfg: ConfigMaker) -> ConfigMaker:
    def make(name: str = 'run', **changes: Any) -> Config:
        return toy_cfg(name, custom_hooks=[dict(hook) for hook in HOOKS],
                       val_evaluator=dict(type='WeightMetric', _delete_=True), **changes)
    return make


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """Weights to start from, far from where training leads."""
    torch.save({'layer.weight': torch.full((1, 4), 7.0), 'layer.bias': torch.zeros(1)}, tmp_path / 'start.pth')
    return tmp_path / 'start.pth'


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


def expected_average(start: torch.Tensor, weights: list[torch.Tensor], momentum: float) -> torch.Tensor:
    average = start.double()
    for number, weight in enumerate(weights, 2):
        average += max(momentum, 1 / number) * (weight - average)
    return average


def test_average_is_saved_and_validated(cfg: ConfigMaker, start: Path) -> None:
    runner = train(cfg(train_cfg__val_interval=3, default_hooks__checkpoint__interval=1, load_from=str(start),
                       default_hooks__checkpoint__max_keep_ckpts=-1))
    first = torch.load(start, weights_only=True)['layer.weight']
    states = [torch.load(Path(runner.work_dir, f'iter_{number}.pth'), weights_only=True) for number in range(1, 7)]
    raw = [state['training_weights']['layer.weight'] for state in states]
    for number in range(1, 7):
        torch.testing.assert_close(states[number - 1]['state_dict']['layer.weight'].double(),
                                   expected_average(first, raw[:number], 0.2), rtol=1e-5, atol=1e-7)
    # The start counts as one of the weights: a run of four updates is the mean of five.
    torch.testing.assert_close(states[3]['state_dict']['layer.weight'], torch.stack([first, *raw[:4]]).mean(0))
    assert torch.equal(runner.bare_model.layer.weight, raw[-1])
    assert not torch.equal(raw[-1], states[-1]['state_dict']['layer.weight'])
    measured = runner.message_hub.get_scalar('val/toy/weight').data[0]
    assert list(measured) == [float(states[number]['state_dict']['layer.weight'][0, 0]) for number in (2, 5)]


def test_other_programs_read_the_average(cfg: ConfigMaker) -> None:
    runner = train(cfg())
    file = Path(runner.work_dir, 'iter_6.pth')
    saved = torch.load(file, weights_only=True)
    load_checkpoint(runner.bare_model, file)
    assert torch.equal(runner.bare_model.layer.weight, saved['state_dict']['layer.weight'])
    tested = Sapiens2Runner.from_cfg(cfg('test', load_from=str(file), test_dataloader=runner.cfg.val_dataloader,
                                         test_cfg=dict(), test_evaluator=dict(type='WeightMetric')))
    assert tested.test()['toy/weight'] == runner.message_hub.get_scalar('val/toy/weight').current()


def test_resumed_average_is_exact(cfg: ConfigMaker) -> None:
    whole = train(cfg('whole'))
    first = train(cfg('first', default_hooks__checkpoint__interval=4))
    resumed = train(cfg('second', resume=True, load_from=str(Path(first.work_dir, 'iter_4.pth'))))
    for key in ('state_dict', 'training_weights'):
        one, two = (torch.load(Path(runner.work_dir, 'iter_6.pth'), weights_only=True)[key]
                    for runner in (whole, resumed))
        assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one), key


def test_average_starts_from_loaded_weights(cfg: ConfigMaker, start: Path) -> None:
    runner = train(cfg(load_from=str(start), optim_wrapper__optimizer__lr=1e-9))
    saved = torch.load(Path(runner.work_dir, 'iter_6.pth'), weights_only=True)['state_dict']
    torch.testing.assert_close(saved, torch.load(start, weights_only=True), rtol=0, atol=1e-5)


def test_run_with_averages_goes_on_without_them(cfg: ConfigMaker, toy_cfg: ConfigMaker) -> None:
    first = train(cfg('first', default_hooks__checkpoint__interval=4))
    whole = train(toy_cfg('whole'))
    resumed = train(toy_cfg('second', resume=True, load_from=str(Path(first.work_dir, 'iter_4.pth'))))
    assert torch.equal(whole.bare_model.layer.weight, resumed.bare_model.layer.weight)


@pytest.mark.parametrize('momentum', [0.0, 1.0, -0.1])
def test_momentum_that_cannot_work(cfg: ConfigMaker, momentum: float) -> None:
    changed = cfg()
    changed.custom_hooks[1].momentum = momentum
    with pytest.raises(ValueError, match=r'momentum of EMAHook must be in \(0, 1\)'):
        Sapiens2Runner.from_cfg(changed)
