"""What lives when, in one step of training, and how much of it is there at the worst moment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np


class Part(IntEnum):
    """What memory is for."""

    ACTIVATIONS = 0  # made in the forward pass, still there when the backward pass begins
    TEMPORARY = 1  # everything else that comes and goes: logits, resized maps, losses, work space of the optimizer
    GRADIENTS = 2
    WAITING = 3  # gradients of one use of a parameter, until those of its other uses are there


class Phase(IntEnum):
    """Stage of a step."""

    FORWARD = 0
    BACKWARD = 1
    UPDATE = 2


@dataclass
class Block:
    """One piece of memory.

    Attributes:
        size: bytes.
        born, dies: numbers of the operations between which it lives; ``dies`` is None if it outlives the step.
        phase: in which it was made.
        label: what made it.
        is_gradient: whether it is the gradient of a parameter.
        is_waiting: whether it became a part of one.
    """

    size: int
    born: int
    phase: Phase
    label: str
    dies: int | None = None
    is_gradient: bool = False
    is_waiting: bool = False


def _label(first: str, second: str, share: float) -> str:
    """A label whose numbers lie between those of two others that differ in numbers alone."""
    numbers = iter(re.findall(r'\d+', second))

    def between(match: re.Match[str]) -> str:
        number = int(match[0])
        return str(round(number + share * (int(next(numbers, number)) - number)))

    return re.sub(r'\d+', between, first)


@dataclass
class Peak:
    """The worst moment.

    Attributes:
        parts: bytes by ``Part``.
        most: bytes by ``Part`` at the worst moment of that part.
        phase: when it is.
        done: share of the operations of this phase that are done by then.
        largest: what the largest temporary piece was made by, and its bytes.
        pieces: number of temporary pieces.
    """

    parts: dict[Part, float]
    most: dict[Part, float]
    phase: Phase
    done: float
    largest: tuple[str, int]
    pieces: int

    @property
    def total(self) -> float:
        """Bytes of all parts."""
        return sum(self.parts.values())


@dataclass
class Timeline:
    """All pieces of memory that a step makes.

    Attributes:
        blocks: in the order in which they were made.
        starts: number of the first operation of each phase.
        end: number of operations.
    """

    blocks: list[Block] = field(default_factory=list)
    starts: dict[Phase, int] = field(default_factory=dict)
    end: int = 0

    def part(self, block: Block) -> Part:
        """What a piece is for."""
        if block.is_gradient:
            return Part.GRADIENTS
        if block.is_waiting:
            return Part.WAITING
        backward = self.starts.get(Phase.BACKWARD, self.end)
        kept = block.phase is Phase.FORWARD and (block.dies is None or block.dies > backward)
        return Part.ACTIVATIONS if kept else Part.TEMPORARY

    def peak(self, scale: Mapping[Part, float] | None = None) -> Peak:
        """The moment of most memory, with the bytes of a part multiplied by its ``scale`` (default 1)."""
        scale = scale or {}
        live = {part: np.zeros(self.end + 2) for part in Part}
        parts = [self.part(block) for block in self.blocks]
        for block, part in zip(self.blocks, parts):
            live[part][block.born] += block.size
            live[part][self.end + 1 if block.dies is None else block.dies] -= block.size
        curves = {part: changes.cumsum() * scale.get(part, 1.0) for part, changes in live.items()}
        moment = int(sum(curves.values()).argmax())
        temporary = [block for block, part in zip(self.blocks, parts)
                     if part is Part.TEMPORARY and self._lives(block, moment)]
        largest = max(((block.label, block.size) for block in temporary), key=lambda pair: pair[1], default=('', 0))
        begin, phase = max((start, phase) for phase, start in self.starts.items() if start <= moment)
        end = min((start for start in self.starts.values() if start > begin), default=self.end)
        return Peak({part: float(curve[moment]) for part, curve in curves.items()},
                    {part: float(curve.max()) for part, curve in curves.items()},
                    phase, (moment - begin) / max(end - begin, 1), largest, len(temporary))

    def between(self, other: Timeline, share: float) -> Timeline | None:
        """Memory at ``share`` of the way to another recording of the same operations; None if they are not the same."""
        pairs = list(zip(self.blocks, other.blocks))
        if len(self.blocks) != len(other.blocks) or any(a.label.split()[0] != b.label.split()[0] for a, b in pairs):
            return None
        blocks = [replace(a, size=round(a.size + share * (b.size - a.size)), label=_label(a.label, b.label, share))
                  for a, b in pairs]
        return Timeline(blocks, self.starts, self.end)

    @staticmethod
    def _lives(block: Block, moment: int) -> bool:
        return block.born <= moment and (block.dies is None or moment < block.dies)
