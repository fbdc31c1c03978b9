"""Plans of small configs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapiens2.planning import (GIB, Planner, Rates, Recording, Run, Settings, Spread, find_gpu, load_gpus, memory_of,
                               record, speed_of)
from sapiens2.planning.plan import Recordings
from sapiens2.planning.remedies import Remedies
from sapiens2.planning.timeline import Part
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.flops import count_flops

SEG = 'configs/seg/sapiens2-micro_seg_synth-128x96.py'
PRETRAIN = 'configs/pretrain/sapiens2-tiny_pretrain_synth-256x192.py'
ROOT = Path(__file__).parents[2]
SMALL = {'model.backbone.arch': 'sapiens2_nano'}


def config(path: str):
    return load_config(ROOT / path, SMALL)


@pytest.fixture(scope='module')
def seg():
    return config(SEG)


@pytest.fixture(scope='module')
def recording(seg) -> Recording:
    return record(seg, Settings(2))


@pytest.fixture(scope='module')
def pretraining() -> Recording:
    return record(config(PRETRAIN), Settings(2))


def test_static_memory_is_that_of_the_parameters(recording):
    trained = recording.trained // 4
    assert recording.parameters == trained
    assert recording.weights >= recording.trained
    # Two averages and the number of updates of each tensor.
    assert 8 * trained <= recording.optimizer < 8 * trained + 8 * 1000
    made = sum(block.size for block in recording.timeline.blocks if block.is_gradient)
    assert made == recording.trained


def test_flops_of_the_forward_pass_are_those_of_the_flops_command(seg, recording):
    import torch

    from sapiens2.planning.timeline import Phase
    from sapiens2.registry import MODELS
    with torch.device('meta'):
        model = MODELS.build(seg.model)
    counted = count_flops(model, model.backbone.img_size).total
    # There, norms count, too; in a small network they are some percent.
    assert 0.95 * 4 * counted < recording.operations.total(Phase.FORWARD) <= 4 * counted


def test_larger_batches_follow_from_two(seg):
    recordings = Recordings(seg)
    follows, recorded = recordings.of(Settings(5)), record(seg, Settings(5))
    assert follows.timeline.peak().total == pytest.approx(recorded.timeline.peak().total, rel=0.01)
    assert follows.operations.total() == pytest.approx(recorded.operations.total(), rel=1e-3)


def test_recomputing_takes_time_and_saves_memory(seg, recording):
    recomputed = record(seg, Settings(2, recompute=1))
    every_second = record(seg, Settings(2, recompute=2))
    kept = [r.timeline.peak().parts[Part.ACTIVATIONS] for r in (recomputed, every_second, recording)]
    assert kept == sorted(kept) and kept[0] < kept[2]
    repeated = [r.operations.total(repeated=True) for r in (recomputed, every_second, recording)]
    assert repeated[0] > repeated[1] > repeated[2] == 0


def test_sharding_over_more_gpus_needs_less_memory(recording):
    totals = [memory_of(recording, Spread('fsdp2', num)).total for num in (2, 4, 8, 16, 64)]
    assert totals == sorted(totals, reverse=True) and len(set(totals)) == 5
    hybrid = memory_of(recording, Spread('hybrid', 64))
    assert memory_of(recording, Spread('fsdp2', 64)).weights < hybrid.weights == pytest.approx(recording.weights / 8)
    offloaded = memory_of(recording, Spread('fsdp2', 8, offload=True))
    assert offloaded.weights == offloaded.optimizer == 0
    assert offloaded.host == pytest.approx(recording.weights + recording.optimizer + recording.trained)


def test_ddp_keeps_buckets_and_accumulation_gradients(recording):
    single, ddp = (memory_of(recording, Spread(*spread)) for spread in (('single', 1), ('ddp', 8)))
    assert (single.communication, ddp.communication) == (0, recording.trained)
    accumulated = memory_of(recording, Spread('ddp', 8), accumulate=4)
    assert accumulated.gradients == recording.trained
    whole = memory_of(recording, Spread('fsdp2', 8, reduce_every_batch=False), accumulate=4)
    assert whole.gradients == recording.trained


def test_pretraining_has_a_teacher(pretraining):
    memory = memory_of(pretraining, Spread('single', 1))
    assert memory.averages == pretraining.teacher > 0
    assert pretraining.trained > pretraining.teacher  # the decoder has none
    assert memory.averages + memory.weights == pytest.approx(pretraining.teacher + pretraining.weights)


def test_gradients_of_two_kinds_of_crops_wait_whole_on_every_gpu(pretraining, recording):
    alone, shared = (memory_of(pretraining, Spread(*spread)) for spread in (('single', 1), ('fsdp2', 8)))
    # The student sees local and masked global crops, so its backbone, as large as the teacher's, is used twice.
    backbone = 4 * sum(count for count, is_trained in pretraining.units if not is_trained)
    timeline = pretraining.timeline
    waiting = sum(block.size for block in timeline.blocks if timeline.part(block) is Part.WAITING)
    assert 2 * backbone <= waiting < 2 * pretraining.trained
    assert 0 < alone.most['waiting'] == shared.most['waiting']
    assert shared.most['gradients'] == pytest.approx(alone.most['gradients'] / 8)
    assert memory_of(recording, Spread('single', 1)).most['waiting'] < 0.05 * recording.trained


def test_low_rank_adapters_train_little(seg):
    pytest.importorskip('peft')
    adapted = record(seg, Settings(2, fine_tuning='LoRA'))
    assert adapted.trained < 0.6 * adapted.weights  # the decoder is a large part of a small network
    with pytest.raises(ConfigError, match='LoRA'):
        Planner(seg, find_gpu('h100-80')).plan(Run(Settings(2, fine_tuning='LoRA'), Spread('fsdp2', 8)))


def test_a_plan_that_does_not_fit_says_what_helps(seg):
    needed = memory_of(record(seg, Settings(8)), Spread('single', 1)).total
    planner = Planner(seg, find_gpu('rtx4090'))
    planner.capacity = needed - 0.02 * GIB
    plan = planner.plan(Run(Settings(8), Spread('single', 1)))
    assert not plan.fits and plan.memory.total == pytest.approx(needed)
    assert 0 < plan.largest < 8
    names = [remedy.name for remedy in plan.remedies]
    assert names[:2] == ['bfloat16', 'recompute activations']
    assert 'smaller batches, accumulated' in names and 'train less: FrozenBackbone' in names
    how = {remedy.name: remedy.how for remedy in plan.remedies}
    assert how['smaller batches, accumulated'] == 'train_dataloader.batch_size=4 optim_wrapper.accumulative_counts=2'
    together = [remedy.together for remedy in plan.remedies if remedy.together is not None]
    assert together[-1] <= planner.capacity
    assert all(value > planner.capacity for value in together[:-1])


def test_what_helps_can_be_written_into_the_config(seg, tmp_path):
    """As it is printed, below a config whose AdamW has betas and is fused."""
    found = Remedies(seg, lambda run: 2.0, 1.0).of(Run(Settings(2), Spread('single', 1)))
    optimizers = [remedy.how for remedy in found if remedy.how.startswith('optim_wrapper')]
    assert len(optimizers) == 2
    for how in optimizers:
        leaf = tmp_path / 'leaf.py'
        leaf.write_text(f'_base_ = {str(ROOT / SEG)!r}\n{how}\n', encoding='utf-8')
        assert load_config(leaf).optim_wrapper.optimizer.type in how


def test_batches_beyond_measure(seg):
    found = Remedies(seg, lambda run: run.settings.batch, 5.0).of(Run(Settings(10**20), Spread('single', 1)))
    smaller, = (remedy for remedy in found if remedy.name == 'smaller batches, accumulated')
    assert smaller.together == 5 and smaller.how.endswith(f'accumulative_counts={2 * 10**19}')


def test_time(seg, recording):
    gpu, spread = find_gpu('h100-80'), Spread('ddp', 16)
    speed = speed_of(recording, spread, gpu, Rates(load=1e9), half=False)
    assert speed.samples == 32
    assert speed.collectives == pytest.approx(2 * recording.trained * 15 / 16 / (400e9 * 0.7))
    assert speed.days(speed.rate * 86400) == pytest.approx(1)
    assert 0 < speed.utilisation < 0.6
    slow = speed_of(recording, spread, gpu, Rates(load=1, measured=100), half=False, workers=2)
    assert slow.compute == pytest.approx(2 / 100)
    assert (slow.bound, slow.seconds) == ('loading', 1.0)


def test_gpus_of_users(tmp_path):
    file = tmp_path / 'gpus.yml'
    entry = 'memory: 10, half: 100, full: 10, bandwidth: 500, link: 32, network: 1, source: me'
    file.write_text(f'gpus: {{mine: {{{entry}}}, t4: {{{entry}}}}}')
    assert find_gpu('H200') == find_gpu('h200-141') and find_gpu('RTX4090') == find_gpu('rtx4090')
    assert find_gpu('mine', file).memory == find_gpu('t4', file).memory == 10
    assert set(load_gpus()) < set(load_gpus(file))
    with pytest.raises(KeyError, match="'h100-80'"):
        find_gpu('h100_80')
    with pytest.raises(ValueError, match='a100-40'):
        find_gpu('a100')
    file.write_text('gpus: {mine: {memory: 10, speed: 5}}')
    with pytest.raises(ValueError, match='mine: unknown figure'):
        load_gpus(file)
    file.write_text('gpus: {mine: {memory: 10}}')
    with pytest.raises(ConfigError, match='mine lacks half'):
        load_gpus(file)
    file.write_text(f'gpus: {{mine: {{{entry.replace("memory: 10", "memory: 0")}}}}}')
    with pytest.raises(ConfigError, match='memory must be a number above 0'):
        load_gpus(file)
    file.write_text('[1]')
    with pytest.raises(ConfigError, match="no entry 'gpus'"):
        load_gpus(file)


@pytest.mark.parametrize('spread, message', [
    (dict(strategy='dpp', num=2), "Did you mean 'ddp'"),
    (dict(strategy='single', num=2), 'for one GPU'),
    (dict(strategy='ddp', num=12), 'take 8 or 16'),
    (dict(strategy='ddp', num=8, offload=True), 'fsdp2 and hybrid'),
    (dict(strategy='fsdp2', num=8, shard_size=3), 'does not divide'),
])
def test_spreads_that_cannot_be(spread, message):
    with pytest.raises(ValueError, match=message):
        Spread(**spread)


@pytest.mark.parametrize('task', ['pose', 'normal', 'albedo', 'pointmap'])
def test_every_task_can_be_recorded(task):
    path = next((ROOT / 'configs' / task).glob('sapiens2-micro_*_synth-128x96.py'))
    recording = record(load_config(path, SMALL), Settings(2, half=True))
    assert recording.timeline.peak().parts[Part.ACTIVATIONS] > 0
