"""One iteration is one update."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import Config
from torch.optim.lr_scheduler import LinearLR, PolynomialLR, SequentialLR

from sapiens2.engine import Sapiens2Runner

ConfigMaker = Callable[..., Config]


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


def history(runner: Sapiens2Runner, key: str) -> list[float]:
    return [float(value) for value in runner.message_hub.get_scalar(f'train/{key}').data[0]]


def test_accumulation_equals_a_larger_batch(toy_cfg: ConfigMaker) -> None:
    options = dict(model__dropout=0.0)
    large = train(toy_cfg('large', train_dataloader__batch_size=6, **options))
    small = train(toy_cfg('small', train_dataloader__batch_size=2, optim_wrapper__accumulative_counts=3, **options))
    assert small.train_dataloader.dataset.read == large.train_dataloader.dataset.read
    assert history(small, 'lr') == history(large, 'lr')
    assert history(small, 'loss') == pytest.approx(history(large, 'loss'), rel=1e-5)
    torch.testing.assert_close(small.bare_model.state_dict(), large.bare_model.state_dict())


def test_schedule_is_that_of_torch(toy_cfg: ConfigMaker) -> None:
    lr = history(train(toy_cfg(train_cfg__max_iters=12, param_scheduler=[
        dict(type='LinearLR', start_factor=0.001, begin=0, end=6, by_epoch=False),
        dict(type='PolyLR', eta_min=0.0, power=1.0, begin=5, by_epoch=False)])), 'lr')
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    schedule = SequentialLR(optimizer, [LinearLR(optimizer, start_factor=0.001, total_iters=5),
                                        PolynomialLR(optimizer, total_iters=7)], milestones=[5])
    expected = []
    for _ in range(12):
        expected.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        schedule.step()
    assert lr == pytest.approx(expected, rel=1e-9)
    assert lr[-1] == pytest.approx(0.1 / 7)


def test_dropout_differs_from_iteration_to_iteration(toy_cfg: ConfigMaker) -> None:
    runner = train(toy_cfg())
    loop, seeds = runner.train_loop, []
    for loop.iter in (0, 1, 0):
        loop.run_iter(iter(runner.train_dataloader))
        seeds.append(torch.initial_seed())
    assert seeds[0] == seeds[2] != seeds[1]


def test_validation_follows_the_interval_and_the_end(toy_cfg: ConfigMaker) -> None:
    runner = train(toy_cfg(train_cfg=dict(type='UpdateTrainLoop', max_iters=5, val_interval=2, _delete_=True)))
    assert len(runner.val_dataloader.dataset.read) == 3 * 10  # after 2, 4 and 5 updates
    assert runner.message_hub.get_scalar('val/count').current() == 10
    runner = train(toy_cfg('late', train_cfg__val_interval=2, train_cfg__val_begin=5))
    assert len(runner.val_dataloader.dataset.read) == 10


@pytest.mark.parametrize('has_bf16, emulate, dtype', [
    (True, False, torch.bfloat16), (False, False, torch.float32), (False, True, torch.bfloat16)])
def test_bfloat16_where_the_cpu_computes_in_it(toy_cfg: ConfigMaker, monkeypatch: pytest.MonkeyPatch, has_bf16: bool,
                                               emulate: bool, dtype: torch.dtype) -> None:
    monkeypatch.setattr('sapiens2.engine.optimizers.autocast.cpu_has_bf16', lambda: has_bf16)
    cfg = toy_cfg(optim_wrapper__type='BFloat16OptimWrapper', optim_wrapper__emulate=emulate,
                  optim_wrapper__accumulative_counts=2)
    runner = train(cfg)
    log, = Path(cfg.work_dir).glob('*/*.log')
    assert set(runner.bare_model.dtypes[:12]) == {dtype}
    assert ('no instructions for bfloat16' in log.read_text(encoding='utf-8')) == (dtype == torch.float32)
    assert runner.bare_model.layer.weight.dtype == torch.float32
    assert history(runner, 'loss')[-1] < history(runner, 'loss')[0]


def test_loss_that_is_not_finite_names_the_samples(toy_cfg: ConfigMaker) -> None:
    with pytest.raises(FloatingPointError, match=r'iteration \d+ is not finite \(loss = nan, loss_toy = nan\).*toy-7'):
        train(toy_cfg(train_dataloader__dataset__bad=7))


def test_losses_are_added_up_once_a_batch(toy_cfg: ConfigMaker) -> None:
    runner = Sapiens2Runner.from_cfg(toy_cfg(optim_wrapper__accumulative_counts=2))
    parsed: list[Any] = []
    parse = runner.bare_model.parse_losses
    runner.bare_model.parse_losses = lambda losses: parsed.append(losses) or parse(losses)
    runner.train()
    assert len(parsed) == 6 * 2


@pytest.mark.parametrize('clip', [dict(max_norm=1.0), None])
def test_gradient_that_is_not_finite_names_the_samples_of_the_update(toy_cfg: ConfigMaker, clip: Any) -> None:
    runner = Sapiens2Runner.from_cfg(toy_cfg(optim_wrapper__clip_grad=clip, optim_wrapper__accumulative_counts=2))
    runner.bare_model.layer.weight.register_hook(lambda gradient: gradient * torch.inf)
    before = {name: value.clone() for name, value in runner.bare_model.state_dict().items()}
    message = r'gradient of iteration 1 is not finite \(norm = (nan|inf)\)'
    with pytest.raises(FloatingPointError, match=message) as error:
        runner.train()
    assert str(error.value).count('toy-') == 4
    torch.testing.assert_close(dict(runner.bare_model.state_dict()), before)


def test_sampler_that_cannot_resume_is_refused(toy_cfg: ConfigMaker) -> None:
    with pytest.raises(TypeError, match='ResumableInfiniteSampler'):
        train(toy_cfg(train_dataloader__sampler__type='DefaultSampler'))
