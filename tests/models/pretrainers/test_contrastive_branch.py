"""The contrastive branch: teacher, frozen prototypes, terms, and one against two processes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sapiens2.models.pretrainers import ContrastiveBranch
from sapiens2.models.pretrainers.branch_gradients import BranchGradients
from sapiens2.models.pretrainers.contrastive import HEAD_SIZES
from sapiens2.models.pretrainers.dino_head import DINOHead
from sapiens2.models.pretrainers.teacher import average_into_teacher

CHANNELS, BATCH, WORLD = 12, 8, 2
SMALL_HEAD = dict(hidden=16, bottleneck=8, prototypes=20)
OPTIONS = dict(head=SMALL_HEAD, dense=dict(weight=0.5, tokens=3, head=dict(SMALL_HEAD, prototypes=14)),
               freeze_prototypes=0)


class Toy(nn.Module):
    """A linear 'backbone' with a buffer, its teacher, and the branch; tokens are (class, patches) of each crop."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.backbone, self.teacher_backbone = nn.Linear(6, CHANNELS), nn.Linear(6, CHANNELS).requires_grad_(False)
        for module in (self.backbone, self.teacher_backbone):
            module.register_buffer('level', torch.zeros(()))
        self.contrastive = ContrastiveBranch(CHANNELS, **{**OPTIONS, **options})
        self.branch_gradients = BranchGradients()
        self.pairs = [(self.backbone, self.teacher_backbone)]
        self.contrastive.set_progress(3, 10)
        self.contrastive.start_teacher(self.pairs)

    def forward(self, crops: Tensor, local: Tensor) -> dict[str, Tensor]:
        """Crops (G, B, n, 6), local (L, B, 6)."""
        tokens, taught = self.backbone(crops), self.teacher_backbone(crops)
        tokens = self.branch_gradients.tap('contrastive', tokens)
        return self.contrastive(tokens[:, :, 0], self.backbone(local), taught[:, :, 0],
                                tokens[:, :, 1:].flatten(0, 1), taught[:, :, 1:].flatten(0, 1))


def batch(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(2, BATCH, 6, 6, generator=generator, dtype=torch.float64),
            torch.randn(3, BATCH, 6, generator=generator, dtype=torch.float64))


def total(output: dict[str, Tensor]) -> Tensor:
    return sum(value for name, value in output.items() if 'loss' in name)


def test_defaults_are_those_of_the_paper() -> None:
    assert HEAD_SIZES == dict(hidden=2048, bottleneck=256, prototypes=65536, layers=3)
    head = DINOHead(32, prototypes=8)
    shapes = [tuple(layer.weight.shape) for layer in head.mlp if isinstance(layer, nn.Linear)]
    assert shapes == [(2048, 32), (2048, 2048), (256, 2048)]
    assert not hasattr(head.prototypes, 'bias')
    with torch.device('meta'):
        branch = ContrastiveBranch(384)
    assert branch.student_head.prototypes.weight.shape == (65536, 256)
    assert branch.student_temp == 0.1 and branch.koleo_weight == 0.1
    assert [branch.teacher_temp(i, 100) for i in (0, 100)] == [0.04, 0.07]
    assert [branch.momentum(i, 100) for i in (0, 100)] == pytest.approx([0.992, 1.0])


def test_head_gives_cosines() -> None:
    head = DINOHead(12, **SMALL_HEAD)
    head.prototypes.weight.data *= 7  # the length of a direction does not matter
    got = head(torch.randn(4, 5, 12))
    assert got.shape == (4, 5, 20) and got.abs().max() <= 1 + 1e-6
    torch.testing.assert_close(head.embed(torch.randn(3, 12)).norm(dim=-1), torch.ones(3))


def test_all_terms_and_figures() -> None:
    output = Toy().double()(*batch())
    assert set(output) == {'loss_contrastive', 'loss_koleo', 'loss_dense'} | {
        prefix + name for prefix in ('', 'dense_') for name in ('teacher_entropy', 'prototype_kl', 'prototypes_used')}
    assert all(value.ndim == 0 and value.isfinite() for value in output.values())
    assert not any(value.requires_grad for name, value in output.items() if 'loss' not in name)
    assert set(Toy(dense=None, koleo_weight=0).double()(*batch())) == {
        'loss_contrastive', 'teacher_entropy', 'prototype_kl', 'prototypes_used'}


def test_shared_head_of_the_dense_term() -> None:
    toy = Toy(dense=dict(tokens=3)).double()
    assert len(toy.contrastive.head_pairs()) == 1 and 'loss_dense' in toy(*batch())


def test_teacher_gets_no_gradient() -> None:
    toy = Toy().double()
    for parameter in toy.teacher_backbone.parameters():
        parameter.requires_grad_(True)  # the branch cuts the gradient off, whatever the backbone does
    total(toy(*batch())).backward()
    with_gradient = {name for name, parameter in toy.named_parameters() if parameter.grad is not None}
    assert with_gradient == {name for name, _ in toy.named_parameters() if 'teacher' not in name}
    assert not any(p.requires_grad for _, teacher in toy.contrastive.head_pairs() for p in teacher.parameters())


def test_average_follows_its_formula() -> None:
    torch.manual_seed(0)
    student, teacher = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    for module in (student, teacher):
        for value in (*module.parameters(), module.running_mean, module.running_var):
            value.data = torch.rand(4)
    student.num_batches_tracked += 5
    before, own = ({name: value.clone() for name, value in m.state_dict().items()} for m in (teacher, student))
    average_into_teacher([(student, teacher)], 0.9)
    for name, value in teacher.state_dict().items():
        expected = own[name] if name == 'num_batches_tracked' else 0.9 * before[name] + 0.1 * own[name]
        torch.testing.assert_close(value, expected)
        assert torch.equal(student.state_dict()[name], own[name])


def test_update_uses_the_momentum_of_now_and_takes_the_heads_in() -> None:
    toy = Toy()
    momentum = 1 - (1 - 0.992) * (1 + torch.cos(torch.tensor(torch.pi * 0.3)).item()) / 2
    pairs = [*toy.pairs, *toy.contrastive.head_pairs()]
    before = [{name: value.clone() for name, value in teacher.named_parameters()} for _, teacher in pairs]
    for student, _ in pairs:
        for parameter in student.parameters():
            parameter.data += 1
    toy.contrastive.update_teacher(toy.pairs)
    for (student, teacher), old in zip(pairs, before):
        for name, value in teacher.named_parameters():
            torch.testing.assert_close(value, momentum * old[name] + (1 - momentum) * student.get_parameter(name))


def test_teacher_starts_once() -> None:
    toy = Toy()
    toy.backbone.weight.data += 1
    toy.contrastive.start_teacher(toy.pairs)
    assert torch.equal(toy.backbone.weight, toy.teacher_backbone.weight)
    toy.contrastive.update_teacher(toy.pairs)
    loaded = Toy()
    loaded.load_state_dict(toy.state_dict())
    loaded.backbone.weight.data += 1
    loaded.contrastive.start_teacher(loaded.pairs)
    assert torch.equal(toy.teacher_backbone.weight, loaded.teacher_backbone.weight)


@pytest.mark.parametrize('autocast', [False, True])
def test_frozen_prototypes_do_not_move(autocast: bool) -> None:
    toy = Toy(freeze_prototypes=5)
    optimizer = torch.optim.AdamW(toy.parameters(), lr=0.1, weight_decay=0.5)
    weights = [student.prototypes.weight for student, _ in toy.contrastive.head_pairs()]
    first, moved = [weight.clone() for weight in weights], []
    crops, local = (value.float() for value in batch())
    for iteration in range(3, 7):
        toy.contrastive.set_progress(iteration, 10)
        with torch.autocast('cpu', torch.bfloat16, enabled=autocast):
            output = toy(crops, local)
        total(output).backward()
        if iteration < 5:
            assert all(weight.grad.abs().max() == 0 for weight in weights)
        toy.contrastive.release_gradients()
        optimizer.step()
        optimizer.zero_grad()
        moved.append([not torch.equal(*pair) for pair in zip(weights, first)])
    assert moved == [[False, False], [False, False], [True, True], [True, True]]


def test_autocast_is_near_full_precision() -> None:
    toy = Toy()
    crops, local = (value.float() for value in batch())
    plain = toy(crops, local)
    with torch.autocast('cpu', torch.bfloat16):
        mixed = toy(crops, local)
    for name, value in plain.items():
        assert mixed[name].dtype == torch.float32
        if 'loss' in name:
            assert float(mixed[name].detach()) == pytest.approx(float(value.detach()), rel=0.05), name


def test_accumulated_batches_equal_a_large_one_with_centring() -> None:
    """Without terms that look at the batch as a whole, and so with gradients and the centre."""
    options = dict(assignment=dict(type='Centring'), koleo_weight=0)
    whole, parts = Toy(**options).double(), Toy(**options).double()
    crops, local = batch()
    total(whole(crops, local)).backward()
    for half in (slice(0, 4), slice(4, 8)):
        (total(parts(crops[:, half], local[:, half])) / 2).backward()
    for (name, one), two in zip(whole.named_parameters(), parts.parameters()):
        torch.testing.assert_close(two.grad, one.grad, msg=name)
    for toy in (whole, parts):
        toy.contrastive.update_teacher(toy.pairs)
    torch.testing.assert_close(parts.contrastive.assignment.centre, whole.contrastive.assignment.centre)
    assert whole.contrastive.assignment.centre.abs().max() > 0


def test_gradients_on_tokens_by_branch() -> None:
    gradients, tokens = BranchGradients(), torch.randn(3, 4, requires_grad=True)
    first, second = (gradients.tap(name, tokens) for name in ('mae', 'contrastive'))
    extra = gradients.tap('contrastive', tokens)
    (3 * first.sum() + second.sum() + extra[0].sum()).backward()
    assert gradients.take() == pytest.approx({'mae': 3 * 12**0.5, 'contrastive': 16**0.5})
    torch.testing.assert_close(tokens.grad, torch.full((3, 4), 4.0) + torch.tensor([[1.0], [0], [0]]))
    assert gradients.take() == {}
    assert gradients.tap('mae', tokens.detach()).requires_grad is False


@pytest.mark.parametrize('options, words', [
    (dict(head=dict(prototype=3)), "contrastive.head: unknown option: 'prototype'. Did you mean 'prototypes'"),
    (dict(head=dict(prototypes=0)), 'prototypes must be at least 1'),
    (dict(dense=dict(token=3)), "contrastive.dense: unknown option: 'token'. Did you mean 'tokens'"),
    (dict(teacher_temp=0.0), 'teacher_temp must be above 0'),
    (dict(teacher_temp=dict(type='Cosine', start=0.04, end=0.07, warmup=0.1)), 'teacher_temp must be above 0'),
    (dict(student_temp=0), 'contrastive.student_temp must be a number above 0, got 0'),
    (dict(student_temp='a'), "contrastive.student_temp must be a number above 0, got 'a'"),
    (dict(student_temp=float('nan')), 'contrastive.student_temp must be a number above 0, got nan'),
    (dict(koleo_weight=-1), 'contrastive.koleo_weight must be a number of at least 0, got -1'),
    (dict(momentum=1.5), 'contrastive.momentum must be in [0, 1] from the first iteration to the last, got 1.5'),
    (dict(momentum=-0.1), 'contrastive.momentum must be in [0, 1]'),
    (dict(momentum=dict(type='Linear', start=2.0, end=0.9, warmup=10)), 'contrastive.momentum must be in [0, 1]'),
    (dict(momentum=dict(type='Cosine', start=0.9, end=1.0, warmup=5, warmup_start=-1)), 'contrastive.momentum must be'),
    (dict(momentum=dict(type='Linear', start='a', end=1.0)), 'contrastive.momentum must be made of numbers'),
    (dict(freeze_prototypes=1.5), 'contrastive.freeze_prototypes'),
    (dict(momentum='high'), 'contrastive.momentum'),
    (dict(assignment=dict(type='Sinkhorm')), "Did you mean 'Sinkhorn'"),
])
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        ContrastiveBranch(CHANNELS, **{**OPTIONS, **options})


def test_a_run_without_its_hook_is_refused() -> None:
    branch = ContrastiveBranch(CHANNELS, **OPTIONS)
    with pytest.raises(RuntimeError, match='PretrainingHook'):
        branch(torch.randn(2, 2, CHANNELS), None, torch.randn(2, 2, CHANNELS))


def two_updates(toy: Toy, model: nn.Module, share: slice) -> dict[str, Any]:
    """Two updates on the ``share`` of each batch; what came out of them."""
    optimizer = torch.optim.SGD(toy.parameters(), lr=0.05)
    outputs = []
    for number in range(2):
        crops, local = batch(number)
        output = model(crops[:, share], local[:, share])
        total(output).backward()
        taps = toy.branch_gradients.take()
        if number == 1:
            break
        optimizer.step()
        optimizer.zero_grad()
        toy.contrastive.update_teacher(toy.pairs)
        outputs.append({name: value.detach() for name, value in output.items()})
    outputs.append({name: value.detach() for name, value in output.items()})
    return dict(outputs=outputs, taps=taps, state=toy.state_dict(),
                grads={name: p.grad for name, p in toy.named_parameters() if p.grad is not None})


CASES: dict[str, dict[str, Any]] = {
    'sinkhorn': {}, 'centring': dict(assignment=dict(type='Centring')), 'frozen': dict(freeze_prototypes=5)}


def run_rank(rank: int, folder: str) -> None:
    dist.init_process_group('gloo', init_method=f'file://{folder}/store', rank=rank, world_size=WORLD)
    share = slice(rank * BATCH // WORLD, (rank + 1) * BATCH // WORLD)
    for name, options in CASES.items():
        toy = Toy(**options).double()
        torch.save(two_updates(toy, DistributedDataParallel(toy), share), Path(folder, f'{name}_{rank}.pt'))
    dist.destroy_process_group()


@pytest.mark.dist
def test_two_processes_equal_one(tmp_path: Path) -> None:
    mp.spawn(run_rank, (str(tmp_path),), nprocs=WORLD)
    for case, options in CASES.items():
        parts = [torch.load(tmp_path / f'{case}_{rank}.pt') for rank in range(WORLD)]
        toy = Toy(**options).double()
        compare(parts, two_updates(toy, toy, slice(None)), case)
        now, then = (model.contrastive.student_head.prototypes.weight for model in (toy, Toy().double()))
        assert (not torch.equal(now, then)) == (case != 'frozen')


def compare(parts: list[dict[str, Any]], whole: dict[str, Any], case: str) -> None:
    close = dict(rtol=1e-6, atol=1e-9)
    for number, output in enumerate(whole['outputs']):
        for name, value in output.items():
            both = [part['outputs'][number][name] for part in parts]
            torch.testing.assert_close(torch.stack(both).mean(), value, msg=f'{case}: {name}', **close)
            assert 'loss' in name or both[0] == both[1], f'{case}: {name} is a figure of the whole batch'
    for part in parts:
        assert part['taps'] == pytest.approx(whole['taps'], rel=1e-5)
        for key in ('grads', 'state'):
            assert part[key].keys() == whole[key].keys()
            for name, value in whole[key].items():
                torch.testing.assert_close(part[key][name], value, msg=f'{case}: {key} {name}', **close)
