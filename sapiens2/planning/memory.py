"""Memory of one GPU by part, from a recording and from how the model is spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from sapiens2.planning.gpus import GIB
from sapiens2.planning.recording import Recording
from sapiens2.planning.timeline import Part, Phase
from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import UnknownNameError, unknown_name

STRATEGIES = ('single', 'ddp', 'fsdp2', 'hybrid')
# What is on a GPU besides tensors: CUDA and its libraries with their work space; NCCL's buffers. Stated, not measured.
CONTEXT = 0.9 * GIB
NCCL = 0.7 * GIB
# Part of what comes and goes that the allocator cannot use because of its pieces' sizes. Stated.
FRAGMENTS = 0.05


@dataclass(frozen=True)
class Spread:
    """How a model is spread over GPUs.

    Attributes:
        strategy: of ``STRATEGIES``; 'hybrid' is FSDP2 with one copy of the model on each node.
        num: GPUs.
        per_node: GPUs of a node.
        offload: keep parameters, gradients and the optimizer's state in the memory of the host.
        shard_size: GPUs that share one copy; default: as ``strategy`` says.
        reduce_every_batch: sum the gradients of each accumulated batch, as the option of ``FSDP2``; otherwise they are
            kept whole until the last one.

    Raises:
        ConfigError: for numbers that do not divide, or a strategy that cannot be.
    """

    strategy: str
    num: int
    per_node: int = 8
    offload: bool = False
    shard_size: Optional[int] = None
    reduce_every_batch: bool = True

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise UnknownNameError('--strategy: ' + unknown_name(self.strategy, STRATEGIES, 'strategy'))
        if self.strategy == 'single' and self.num > 1:
            raise ConfigError(f'--strategy single is for one GPU, and --num is {self.num}: take ddp or fsdp2')
        if self.num > self.per_node and self.num % self.per_node:
            raise ConfigError(f'--num {self.num} GPUs cannot be spread over nodes of {self.per_node}: take '
                              f'{self.num // self.per_node * self.per_node} or '
                              f'{(self.num // self.per_node + 1) * self.per_node}, or say --per-node')
        if self.offload and not self.is_sharded:
            raise ConfigError(f'--offload belongs to fsdp2 and hybrid, not to {self.strategy}')
        if self.num % self.shards:
            raise ConfigError(f'strategy.shard_size: {self.shards} does not divide {self.num} GPUs')

    @property
    def is_sharded(self) -> bool:
        """Whether parameters are divided."""
        return self.strategy in ('fsdp2', 'hybrid')

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return max(1, self.num // self.per_node)

    @property
    def shards(self) -> int:
        """GPUs that share one copy of the model."""
        if not self.is_sharded:
            return 1
        return self.shard_size or (min(self.num, self.per_node) if self.strategy == 'hybrid' else self.num)


@dataclass(frozen=True)
class Memory:
    """Bytes of one GPU at the worst moment.

    Attributes:
        weights: parameters and buffers.
        averages: the teacher, or averages of ``EMAHook``.
        optimizer: its state.
        gradients: of parameters.
        activations: kept for the backward pass.
        temporary: what else comes and goes.
        communication: parameters put together from their parts, or buckets of gradients that are on the way.
        framework: CUDA and its libraries, NCCL, what the allocator cannot use.
        moment: phase of the step.
        largest: what the largest temporary piece is, and its bytes.
        pieces: number of temporary pieces.
        host: bytes that all GPUs of a node keep in the memory of the host.
    """

    weights: float
    averages: float
    optimizer: float
    gradients: float
    activations: float
    temporary: float
    communication: float
    framework: float
    moment: Phase
    largest: tuple[str, int]
    pieces: int
    host: float = 0.0

    PARTS = ('weights', 'averages', 'optimizer', 'gradients', 'activations', 'temporary', 'communication', 'framework')

    @property
    def total(self) -> float:
        """Bytes on the GPU."""
        return sum(getattr(self, part) for part in self.PARTS)


def memory_of(recording: Recording, spread: Spread, has_averages: bool = False, accumulate: int = 1,
              half_gather: bool = True) -> Memory:
    """Memory of one GPU.

    Args:
        recording: of a step, with parameters gathered in bfloat16 if ``half_gather`` and ``spread.is_sharded``.
        spread: over GPUs.
        has_averages: whether an ``EMAHook`` keeps averages of the trained parameters.
        accumulate: batches of an update.
        half_gather: whether parameters are gathered in bfloat16.
    """
    shards = spread.shards
    made = sum(block.size for block in recording.timeline.blocks if block.is_gradient) or 1
    # Gradients are float32 where they are kept, and parts of them under FSDP2.
    scale = recording.trained / made / shards
    averages = recording.teacher + (recording.trained if has_averages else 0)
    state = dict(weights=recording.weights / shards, averages=averages / shards, optimizer=recording.optimizer / shards)
    # With accumulation the gradients of earlier batches are there all the time, and new ones are added at once.
    peak = recording.timeline.peak({Part.GRADIENTS: 0.0 if accumulate > 1 or spread.offload else scale})
    gradients = peak.parts[Part.GRADIENTS]
    if accumulate > 1:
        gradients = recording.trained / (shards if spread.reduce_every_batch else 1)
    communication = 0.0
    if spread.is_sharded:
        communication = gathered(recording, half_gather)
    elif spread.strategy == 'ddp':
        communication = recording.trained  # buckets, as large as all gradients
    host = 0.0
    if spread.offload:
        host = (sum(state.values()) + recording.trained / shards) * min(spread.num, spread.per_node)
        state, gradients = dict.fromkeys(state, 0.0), 0.0
    moving = peak.parts[Part.ACTIVATIONS] + peak.parts[Part.TEMPORARY] + communication
    framework = CONTEXT + (NCCL if spread.num > 1 else 0) + FRAGMENTS * moving
    return Memory(**state, gradients=gradients, activations=peak.parts[Part.ACTIVATIONS],
                  temporary=peak.parts[Part.TEMPORARY], communication=communication, framework=framework,
                  moment=peak.phase, largest=peak.largest, pieces=peak.pieces, host=host)


def gathered(recording: Recording, half: bool) -> float:
    """Bytes of what ``FSDP2`` puts together at a time.

    Of the two largest units, the one that runs and the next, the parameters; of one the buffer that they come in, the
    gradients, and those in float32 that are being summed.
    """
    size = 2 if half else 4
    units = sorted((count for count, _ in recording.units), reverse=True)
    trained = max((count for count, is_trained in recording.units if is_trained), default=0)
    return size * (sum(units[:2]) + units[0]) + (size + 4) * trained
