"""Schedules, teacher, frozen prototypes, norms and warnings in a run of the real runner, resumed ones included."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest
import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from torch import Tensor, nn

from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.hooks.collapse import CollapseHook
from sapiens2.engine.hooks.finite_loss import NotFiniteError
from sapiens2.models.pretrainers import ContrastiveBranch
from sapiens2.models.pretrainers.branch_gradients import BranchGradients
from sapiens2.registry import FUNCTIONS, MODELS

ConfigMaker = Callable[..., Config]
HEAD = dict(hidden=8, bottleneck=4, prototypes=6)
DECAY = dict(type='WeightDecayHook', schedule=dict(type='Cosine', end=0.4))
HOOKS = [dict(type='FiniteLossHook'), dict(type='PretrainingHook'), DECAY, dict(type='GradientNormHook'),
         dict(type='CollapseHook', patience=2)]


@MODELS.register_module(force=True)
class ToyPretrainer(BaseModel):
    """Two noisy copies of the inputs are the views; a 'masked autoencoder' gives the inputs back."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.backbone, self.teacher_backbone = nn.Linear(4, 8), nn.Linear(4, 8).requires_grad_(False)
        self.mae = nn.Linear(8, 4)
        self.contrastive = ContrastiveBranch(8, head=HEAD, **options)
        self.branch_gradients = BranchGradients()

    def start_teacher(self) -> None:
        self.contrastive.start_teacher([(self.backbone, self.teacher_backbone)])

    def set_progress(self, iteration: int, max_iters: int) -> None:
        self.contrastive.set_progress(iteration, max_iters)

    def update_teacher(self) -> None:
        self.contrastive.update_teacher([(self.backbone, self.teacher_backbone)])

    def forward(self, inputs: dict[str, list[Tensor]], data_samples: Optional[list] = None,
                mode: str = 'tensor') -> Any:
        crops = torch.stack(inputs['crops'])
        views = crops + 0.1 * torch.randn(2, *crops.shape)
        tokens = self.backbone(views)
        restored = self.mae(self.branch_gradients.tap('mae', tokens))
        return dict(loss_mae=(restored.float() - crops).square().mean(), **self.contrastive(
            self.branch_gradients.tap('contrastive', tokens), None, self.teacher_backbone(views)))


@FUNCTIONS.register_module(force=True)
def toy_crops(samples: list[dict[str, Any]]) -> dict[str, Any]:
    return dict(inputs=dict(crops=[sample['inputs'] for sample in samples]),
                data_samples=[sample['data_samples'] for sample in samples])


@pytest.fixture
def cfg(toy_cfg: ConfigMaker) -> ConfigMaker:
    def make(name: str = 'run', model: Optional[dict[str, Any]] = None, **changes: Any) -> Config:
        cfg = toy_cfg(name, custom_hooks=[dict(hook) for hook in HOOKS], val_dataloader=None, val_evaluator=None,
                      val_cfg=None, optim_wrapper__accumulative_counts=2, optim_wrapper__optimizer__lr=0.01,
                      optim_wrapper__paramwise_cfg=dict(bias_decay_mult=0.0), **changes)
        cfg.train_dataloader.collate_fn = dict(type='toy_crops')
        cfg.model = dict(type='ToyPretrainer', **{'freeze_prototypes': 2, **(model or {})})
        return cfg
    return make


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


def scalars(runner: Sapiens2Runner, key: str) -> list[float]:
    return [float(value) for value in runner.message_hub.get_scalar(f'train/{key}').data[0]]


def state_of(runner: Sapiens2Runner, number: int = 6) -> dict[str, Any]:
    return torch.load(Path(runner.work_dir, f'iter_{number}.pth'), weights_only=True)


@pytest.mark.parametrize('assignment', ['Sinkhorn', 'Centring'])
def test_resumed_run_is_exact(cfg: ConfigMaker, assignment: str) -> None:
    model = dict(assignment=dict(type=assignment))
    whole = train(cfg('whole', model, default_hooks__checkpoint__interval=3))
    resumed = train(cfg('resumed', model, resume=True, load_from=str(Path(whole.work_dir, 'iter_3.pth'))))
    one, two = state_of(whole), state_of(resumed)
    for key in ('state_dict', 'training_weights'):
        assert one[key].keys() == two[key].keys()
        for name, value in one[key].items():
            assert torch.equal(value, two[key][name]), name
    assert one['state_dict']['contrastive.teacher_updates'] == 6, 'once an update, however many batches it has'
    for key in ('loss', 'teacher_entropy', 'weight_decay', 'grad_norm_backbone', 'grad_norm_tokens_mae'):
        assert scalars(whole, key) == scalars(resumed, key), key
    decays = [[group['weight_decay'] for group in state['optimizer']['param_groups']] for state in (one, two)]
    assert decays[0] == decays[1]
    assert (whole.bare_model.teacher_backbone.weight - whole.bare_model.backbone.weight).abs().max() > 1e-4


def test_weight_decay_rises_where_there_is_some(cfg: ConfigMaker) -> None:
    runner = train(cfg())
    expected = [0.4 - 0.3 * (1 + math.cos(math.pi * iteration / 6)) / 2 for iteration in range(6)]
    assert scalars(runner, 'weight_decay') == pytest.approx(expected)
    groups = runner.optim_wrapper.optimizer.param_groups
    values = {name: group['weight_decay'] for group, (name, _) in
              zip(groups, ((n, p) for n, p in runner.bare_model.named_parameters() if p.requires_grad))}
    assert values['backbone.weight'] == pytest.approx(expected[-1]) and values['backbone.bias'] == 0


def test_resumed_with_another_weight_decay(cfg: ConfigMaker) -> None:
    whole = train(cfg('whole', default_hooks__checkpoint__interval=3))
    other = cfg('resumed', resume=True, load_from=str(Path(whole.work_dir, 'iter_3.pth')),
                optim_wrapper__optimizer__weight_decay=0.3)
    runner = train(other)
    last = 0.4 - 0.1 * (1 + math.cos(math.pi * 5 / 6)) / 2  # from 0.3 to 0.4
    assert scalars(runner, 'weight_decay')[-1] == pytest.approx(last)
    assert {round(group['weight_decay'], 9) for group in runner.optim_wrapper.optimizer.param_groups} == {
        0.0, round(last, 9)}


def test_weight_decay_needs_some(cfg: ConfigMaker) -> None:
    with pytest.raises(ValueError, match='needs an optimizer with weight_decay above 0'):
        train(cfg(optim_wrapper__optimizer__weight_decay=0.0))


@pytest.mark.parametrize('wrapper', ['OptimWrapper', 'BFloat16OptimWrapper'])
def test_frozen_prototypes_do_not_move(cfg: ConfigMaker, wrapper: str) -> None:
    options = dict(optim_wrapper__type=wrapper, default_hooks__checkpoint__interval=1,
                   default_hooks__checkpoint__max_keep_ckpts=-1)
    runner = train(cfg(**options))
    weights = [state_of(runner, number)['state_dict'] for number in range(1, 7)]
    prototypes = [weight['contrastive.student_head.prototypes.weight'] for weight in weights]
    assert torch.equal(prototypes[0], prototypes[1]) and not torch.equal(prototypes[1], prototypes[2])
    assert not torch.equal(*(weight['contrastive.student_head.mlp.0.weight'] for weight in weights[:2]))


def test_norms_of_parts_are_those_before_clipping(cfg: ConfigMaker) -> None:
    for max_norm in (1e-3, 1e3):
        runner = train(cfg(f'clip{max_norm}', optim_wrapper__clip_grad__max_norm=max_norm))
        parts = [scalars(runner, f'grad_norm_{part}') for part in ('backbone', 'mae', 'contrastive')]
        whole = [sum(value**2 for value in values)**0.5 for values in zip(*parts)]
        assert whole == pytest.approx(scalars(runner, 'grad_norm'), rel=1e-4)
        assert min(map(min, parts)) > 0
        assert len(scalars(runner, 'grad_norm_tokens_mae')) == len(scalars(runner, 'grad_norm_tokens_contrastive')) == 6


def test_sample_that_is_not_finite_is_named(cfg: ConfigMaker) -> None:
    with pytest.raises(NotFiniteError, match='toy-3'):
        train(cfg(train_dataloader__dataset__bad=3, train_cfg__max_iters=8))


def test_other_models_are_refused(toy_cfg: ConfigMaker) -> None:
    with pytest.raises(TypeError, match='PretrainingHook is for a Sapiens2Pretrainer, and model is a ToyModel'):
        Sapiens2Runner.from_cfg(toy_cfg(custom_hooks=[dict(type='PretrainingHook')])).train()


def warnings_of(hook: CollapseHook, kls: list[float], entropy: float, caplog: pytest.LogCaptureFixture,
                term: str = '') -> list[str]:
    """What is said during iterations of these values, of a branch with 6 prototypes."""
    caplog.clear()
    runner = SimpleNamespace(bare_model=ToyPretrainer(), logger=logging.getLogger('collapse'))
    for number, kl in enumerate(kls):
        hook.after_train_iter(runner, number, outputs={
            f'{term}prototype_kl': torch.tensor(kl), f'{term}teacher_entropy': torch.tensor(entropy)})
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize('entropy, advice', [(math.log(6), 'it is uniform'),
                                             (0.0, 'a single prototype gets everything'),
                                             (0.9, 'nothing that tells pictures apart')])
def test_collapse_is_noticed(entropy: float, advice: str, caplog: pytest.LogCaptureFixture) -> None:
    found = warnings_of(CollapseHook(patience=3), [0.001] * 7, entropy, caplog)
    assert len(found) == 2 and 'for 3 iterations' in found[0] and 'for 6 iterations' in found[1]
    assert all(advice in text for text in found)


def test_health_is_not_a_collapse(caplog: pytest.LogCaptureFixture) -> None:
    assert warnings_of(CollapseHook(patience=3), [0.8] * 9, 1.0, caplog) == []
    assert warnings_of(CollapseHook(patience=3), [0.0, 0.0, 0.5] * 4, 1.0, caplog) == [], 'in a row'
    assert warnings_of(CollapseHook(patience=3), [math.nan] * 9, math.nan, caplog) == []


def test_collapse_of_the_dense_term(caplog: pytest.LogCaptureFixture) -> None:
    found = warnings_of(CollapseHook(patience=3), [0.0] * 3, 1.0, caplog, 'dense_')
    assert len(found) == 1 and 'dense_prototype_kl' in found[0]


def test_branch_on_equal_pictures_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """End to end: the same picture over and over is a collapse, different ones are none."""
    hook, runner = CollapseHook(patience=3), SimpleNamespace(logger=logging.getLogger('collapse'))
    for tokens, count in ((torch.ones(2, 6, 8), 1), (torch.randn(2, 6, 8) * 3, 0)):
        caplog.clear()
        runner.bare_model = ToyPretrainer()
        runner.bare_model.set_progress(0, 10)
        for number in range(3):
            hook.after_train_iter(runner, number, outputs=runner.bare_model.contrastive(tokens, None, tokens))
        assert len(caplog.records) == count


@pytest.mark.parametrize('options', [dict(min_kl=-1), dict(patience=0)])
def test_collapse_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match='CollapseHook needs'):
        CollapseHook(**options)
