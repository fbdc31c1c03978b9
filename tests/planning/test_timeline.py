"""Memory of steps that can be counted by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from sapiens2.planning.operations import Operations
from sapiens2.planning.timeline import Block, Part, Phase, Timeline
from sapiens2.planning.tracker import Answers, StepTracker


def tracked(layers: list[int], batch: int) -> StepTracker:
    """A step of linear layers without bias; the loss is the sum of the last one's output."""
    with FakeTensorMode(), Answers():
        net = nn.Sequential(*(nn.Linear(a, b, bias=False) for a, b in zip(layers, layers[1:])))
        images = torch.empty(batch, layers[0])
        tracker = StepTracker([*net.parameters(), images])
        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(tracker.mark_gradient)
        with tracker:
            loss = net(images).sum()
            tracker.enter(Phase.BACKWARD)
            loss.backward()
            tracker.enter(Phase.UPDATE)
    return tracker


def test_two_linear_layers_are_counted_by_hand():
    tracker = tracked([100, 50, 10], batch=8)
    timeline, operations = tracker.timeline, tracker.operations
    gradients = [block.size for block in timeline.blocks if block.is_gradient]
    assert sorted(gradients) == [4 * 50 * 10, 4 * 100 * 50]
    # The hidden layer's output is kept; the input was there before, and the sum needs no values.
    kept = [block.size for block in timeline.blocks if timeline.part(block) is Part.ACTIVATIONS]
    assert sum(kept) - 4 * 8 * 50 in (0, 4 * 8 * 10, 4 * 8 * 10 + 4, 4)
    forward = 2 * 8 * (100 * 50 + 50 * 10)
    assert operations.total(Phase.FORWARD) == forward
    assert operations.total(Phase.BACKWARD) == 2 * 8 * (2 * 50 * 10 + 100 * 50)  # no gradient of the images
    assert operations.total(repeated=True) == 0


def test_nothing_lives_on_but_gradients():
    timeline = tracked([100, 50, 10], batch=8).timeline
    assert {block.is_gradient for block in timeline.blocks if block.dies is None} <= {True, False}
    assert timeline.peak().parts[Part.GRADIENTS] <= 4 * (100 * 50 + 50 * 10)


def test_gradients_of_a_weight_used_twice_wait_for_each_other():
    with FakeTensorMode(), Answers():
        net, images = nn.Linear(20, 20, bias=False), torch.empty(8, 20)
        tracker = StepTracker([net.weight, images])
        net.weight.register_post_accumulate_grad_hook(tracker.mark_gradient)
        with tracker:
            loss = net(net(images)).sum()
            tracker.enter(Phase.BACKWARD)
            loss.backward()
    timeline = tracker.timeline
    waiting = [block.size for block in timeline.blocks if timeline.part(block) is Part.WAITING]
    assert waiting == [4 * 20 * 20] * 2
    assert sum(block.size for block in timeline.blocks if block.is_gradient) == 4 * 20 * 20


def blocks(size: int) -> list[Block]:
    return [
        Block(10 * size, 1, Phase.FORWARD, f'kept ({size},)', dies=6),
        Block(30 * size, 2, Phase.FORWARD, f'logits ({size},)', dies=3),
        Block(8, 5, Phase.BACKWARD, 'gradient (2,)', is_gradient=True),
        Block(25 * size, 5, Phase.BACKWARD, f'slopes ({size},)', dies=7),
    ]


def timeline(size: int) -> Timeline:
    return Timeline(blocks(size), {Phase.FORWARD: 0, Phase.BACKWARD: 4, Phase.UPDATE: 7}, end=8)


def test_the_peak_is_parted():
    peak = timeline(1).peak()
    assert peak.parts == {Part.ACTIVATIONS: 10, Part.TEMPORARY: 25, Part.GRADIENTS: 8, Part.WAITING: 0}
    assert peak.most == {Part.ACTIVATIONS: 10, Part.TEMPORARY: 30, Part.GRADIENTS: 8, Part.WAITING: 0}
    assert peak.done == pytest.approx(1 / 3)
    assert (peak.phase, peak.largest, peak.pieces, peak.total) == (Phase.BACKWARD, ('slopes (1,)', 25), 1, 43)


def test_the_peak_moves_when_gradients_are_divided():
    peak = timeline(1).peak({Part.GRADIENTS: 0.125})
    assert (peak.phase, peak.total) == (Phase.FORWARD, 40)
    assert peak.largest == ('logits (1,)', 30)


@pytest.mark.parametrize('size', [1, 2, 7])
def test_other_batches_lie_on_a_line(size):
    between = timeline(2).between(timeline(3), size - 2)
    assert between == timeline(size)


def test_other_operations_lie_on_no_line():
    assert timeline(2).between(Timeline(blocks(3)[:3], {}, 8), 2.0) is None
    first, second = Operations(), Operations()
    first.add(Phase.FORWARD, False, 1, True, 1)
    assert first.between(second, 2.0) is None
