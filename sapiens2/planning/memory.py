"""Memory of one GPU by part, from a recording and from how the model is spread."""

from __future__ import annotations

from dataclasses import dataclass

from sapiens2.planning.gpus import GIB
from sapiens2.planning.recording import Recording
from sapiens2.planning.runs import Spread
from sapiens2.planning.timeline import Part, Phase

# What is on a GPU besides tensors: CUDA and its libraries with their work space; NCCL's buffers. Stated, not measured.
CONTEXT = 0.9 * GIB
NCCL = 0.7 * GIB
# Part of what comes and goes that the allocator cannot use because of its pieces' sizes. Stated.
FRAGMENTS = 0.05


@dataclass(frozen=True)
class Memory:
    """Bytes of one GPU at the worst moment.

    Attributes:
        weights: parameters and buffers.
        averages: the teacher, or averages of ``EMAHook``.
        optimizer: its state.
        gradients: of parameters.
        waiting: gradients of one use of a parameter that wait for those of another; they are whole on every GPU.
        activations: kept for the backward pass.
        temporary: what else comes and goes.
        communication: parameters put together from their parts, or buckets of gradients that are on the way.
        framework: CUDA and its libraries, NCCL, what the allocator cannot use.
        most: of each part that comes and goes, what it has at its own worst moment.
        moment: phase of the step, and the share of its operations that are done by then.
        largest: what the largest temporary piece is, and its bytes.
        pieces: number of temporary pieces.
        host: bytes that all GPUs of a node keep in the memory of the host.
    """

    weights: float
    averages: float
    optimizer: float
    gradients: float
    waiting: float
    activations: float
    temporary: float
    communication: float
    framework: float
    most: dict[str, float]
    moment: tuple[Phase, float]
    largest: tuple[str, int]
    pieces: int
    host: float = 0.0

    PARTS = ('weights', 'averages', 'optimizer', 'gradients', 'waiting', 'activations', 'temporary', 'communication',
             'framework')

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
    parts, most = ({part.name.lower(): values[part] for part in Part} for values in (peak.parts, peak.most))
    if accumulate > 1:
        parts['gradients'] = most['gradients'] = recording.trained / (shards if spread.reduce_every_batch else 1)
    communication = 0.0
    if spread.is_sharded:
        communication = gathered(recording, half_gather)
    elif spread.strategy == 'ddp':
        communication = recording.trained  # buckets, as large as all gradients
    host = 0.0
    if spread.offload:
        host = (sum(state.values()) + recording.trained / shards) * min(spread.num, spread.per_node)
        state = dict.fromkeys(state, 0.0)
        parts['gradients'] = most['gradients'] = 0.0
    moving = parts['activations'] + parts['temporary'] + parts['waiting'] + communication
    framework = CONTEXT + (NCCL if spread.num > 1 else 0) + FRAGMENTS * moving
    return Memory(**state, **parts, communication=communication, framework=framework, most=most,
                  moment=(peak.phase, peak.done), largest=peak.largest, pieces=peak.pieces, host=host)


def gathered(recording: Recording, half: bool) -> float:
    """Bytes of what ``FSDP2`` puts together at a time.

    Of the two largest units, the one that runs and the next, the parameters; of one the buffer that they come in, the
    gradients, and those in float32 that are being summed.
    """
    size = 2 if half else 4
    units = sorted((count for count, _ in recording.units), reverse=True)
    trained = max((count for count, is_trained in recording.units if is_trained), default=0)
    return size * (sum(units[:2]) + units[0]) + (size + 4) * trained
