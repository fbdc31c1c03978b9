"""Watches a step of training run on tensors without content: memory, floating-point operations and bytes moved."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from sapiens2.planning.operations import Operations, count, moved
from sapiens2.planning.timeline import Block, Phase, Timeline

HALF = (torch.bfloat16, torch.float16)
# What gradients of several uses of a parameter go through on their way to be its gradient.
PASSED_ON = (torch.ops.aten.add, torch.ops.aten._to_copy)


class Answers(TorchDispatchMode):
    """Lets a program ask tensors without content for values: numbers are 1, and nothing is true.

    So checks of data find nothing wrong, and nothing is divided by zero.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[dict] = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            return False if args[0].dtype is torch.bool else 1.0 if args[0].is_floating_point() else 1
        return func(*args, **(kwargs or {}))


class StepTracker(Answers):
    """Notes what every operation makes, as long as that lives, and what the operation costs.

    Args:
        before: tensors that are there before the step; they are not noted.

    Attributes:
        timeline: memory.
        operations: costs.
    """

    def __init__(self, before: Iterable[Tensor]) -> None:
        super().__init__()
        self.timeline, self.operations = Timeline(starts={Phase.FORWARD: 0}), Operations()
        self._phase = Phase.FORWARD
        self._known: dict[int, Any] = {}  # weak references to storages, by address
        self._blocks: dict[int, Block] = {}
        self._sources: dict[int, list[Block]] = {}  # of blocks that were passed on, by their id
        for tensor in before:
            self._note(tensor, None)

    def enter(self, phase: Phase) -> None:
        """Say that a phase begins."""
        self._phase = phase
        self.timeline.starts[phase] = self.timeline.end

    def mark_gradient(self, parameter: nn.Parameter) -> None:
        """Say that the gradient of a parameter is one."""
        block = self._blocks.get(parameter.grad.untyped_storage()._cdata)
        if block is not None:
            block.is_gradient = True
            sources = self._sources.pop(id(block), [])
            while sources:
                source = sources.pop()
                source.is_waiting = not source.is_gradient
                sources += self._sources.pop(id(source), [])

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[dict] = None) -> Any:
        kwargs = kwargs or {}
        out = super().__torch_dispatch__(func, types, args, kwargs)
        self.timeline.end += 1
        made = [tensor for tensor in tree_iter(out) if isinstance(tensor, Tensor)]
        fresh = [self._note(tensor, func) for tensor in made]
        if self._phase is Phase.BACKWARD and func.overloadpacket in PASSED_ON and any(fresh):
            self._note_sources(made[0], args)
        if any(fresh) or func._schema.is_mutable:  # not a view
            flops = count(func, args, kwargs, out)
            self.operations.add(self._phase, self._phase is Phase.BACKWARD and torch.is_grad_enabled(), flops,
                                any(tensor.dtype in HALF for tensor in made), moved(args, kwargs, out))
        return out

    def _note(self, tensor: Tensor, func: Any) -> bool:
        """Note the storage of a tensor; whether it is new."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address in self._known:
            return False
        block = None
        if func is not None:
            name = func.overloadpacket.__name__
            block = Block(storage.nbytes(), self.timeline.end, self._phase,
                          f'{name} {tuple(tensor.shape)} {str(tensor.dtype).removeprefix("torch.")}')
            self.timeline.blocks.append(block)
            self._blocks[address] = block
        self._known[address] = weakref.ref(storage, partial(self._end, address, block))
        return True

    def _note_sources(self, tensor: Tensor, args: Any) -> None:
        blocks = (self._blocks.get(value.untyped_storage()._cdata) for value in args
                  if isinstance(value, Tensor) and value.shape == tensor.shape)
        self._sources[id(self._blocks[tensor.untyped_storage()._cdata])] = [
            block for block in blocks if block is not None and block.phase is Phase.BACKWARD]

    def _end(self, address: int, block: Optional[Block], _: Any) -> None:
        self._known.pop(address, None)
        self._blocks.pop(address, None)
        if block is not None:
            block.dies = self.timeline.end + 1
