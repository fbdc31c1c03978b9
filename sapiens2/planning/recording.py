"""A step of training on tensors without content: nothing is computed, any size of model can be recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from mmengine.config import Config
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from sapiens2.engine.strategies.units import units
from sapiens2.planning.operations import Operations
from sapiens2.planning.timeline import Phase, Timeline
from sapiens2.planning.tracker import Answers, StepTracker
from sapiens2.planning.training import Settings, Training, build_model, gather_half

TEACHER = 'teacher'


@dataclass(frozen=True)
class Recording:
    """What a step needs. Bytes are those of one device that holds everything.

    Attributes:
        samples: of the batch.
        timeline, operations: memory that comes and goes, and costs.
        weights: bytes of parameters that are trained, or frozen, and of buffers.
        teacher: bytes of parameters that follow others as averages.
        trained: bytes of parameters that are trained.
        optimizer: bytes of its state.
        parameters: number of parameters, the teacher's left out.
        units: numbers of parameters of the parts that ``FSDP2`` gathers, each with whether they are trained.
    """

    samples: int
    timeline: Timeline
    operations: Operations
    weights: int
    teacher: int
    trained: int
    optimizer: int
    parameters: int
    units: tuple[tuple[int, bool], ...]


def record(cfg: Config, settings: Settings) -> Recording:
    """Record one step, with the optimizer's state already there.

    Raises:
        ConfigError: if the config cannot be trained.
    """
    with torch.device('meta'):
        model = build_model(cfg, settings)
    with FakeTensorMode(allow_non_fake_inputs=True), Answers():
        model.to_empty(device='cpu')
        training = Training(cfg, settings, model)
        training.start_optimizer()
        state, named = training.state(), dict(model.named_parameters())
        is_teacher = {name: TEACHER in name and not parameter.requires_grad for name, parameter in named.items()}
        sizes = dict(
            weights=_bytes([*(value for name, value in named.items() if not is_teacher[name]), *model.buffers()]),
            teacher=_bytes(value for name, value in named.items() if is_teacher[name]),
            trained=_bytes(training.trained), optimizer=_optimizer_bytes(cfg, settings, training, state),
            parameters=sum(value.numel() for name, value in named.items() if not is_teacher[name]),
            units=_units(model))
        if settings.gathered_half:
            gather_half(model)
            # The update, of parts in float32, is a small share of the step; optimizers take tensors of one dtype.
            for parameter, values in training.wrapper.optimizer.state.items():
                values.update({name: value.to(parameter.dtype) for name, value in values.items()
                               if isinstance(value, Tensor) and value.ndim})
            state = training.state()
        tracker = StepTracker([*model.parameters(), *model.buffers(), *state])
        for parameter in training.trained:
            parameter.register_post_accumulate_grad_hook(tracker.mark_gradient)
        with tracker:
            training.step(lambda: tracker.enter(Phase.BACKWARD), lambda: tracker.enter(Phase.UPDATE))
    return Recording(samples=settings.batch, timeline=tracker.timeline, operations=tracker.operations, **sizes)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _units(model: nn.Module) -> tuple[tuple[int, bool], ...]:
    """Numbers of parameters that no inner unit has, and whether any of them is trained."""
    seen: set[int] = set()
    found = []
    for _, module in units(model):
        own = [parameter for parameter in module.parameters() if id(parameter) not in seen]
        seen.update(map(id, own))
        if own:
            found.append((sum(parameter.numel() for parameter in own), any(p.requires_grad for p in own)))
    return tuple(found)


def _optimizer_bytes(cfg: Config, settings: Settings, training: Training, state: list[Tensor]) -> int:
    if (settings.optimizer or cfg.optim_wrapper.optimizer.type) != 'AdamW8bit':
        return _bytes(state)
    # Two averages of a byte each, a scale for each block of 256; small tensors keep 32 bits.
    return sum(int(2 * p.numel() * (1 + 4 / 256)) if p.numel() >= 4096 else 8 * p.numel() for p in training.trained)
