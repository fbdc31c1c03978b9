"""Time of an update, from counted operations and bytes and from the rates of a GPU and its links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from sapiens2.planning.gpus import Gpu
from sapiens2.planning.recording import Recording
from sapiens2.planning.runs import Spread
from sapiens2.planning.timeline import Phase

DAY = 86400


@dataclass(frozen=True)
class Rates:
    """What is assumed of speeds.

    Attributes:
        products: share of the peak that matrix products reach.
        memory: share of the bandwidth that other operations reach.
        links: share of their bandwidth that collectives reach.
        load: samples that one worker process of the data loader makes in a second.
        measured: samples a second of one GPU, in place of what is counted.
    """

    products: float = 0.6
    memory: float = 0.8
    links: float = 0.7
    load: float = 20.0
    measured: Optional[float] = None


@dataclass(frozen=True)
class Speed:
    """Seconds of an update, and what follows.

    Attributes:
        forward, backward, update: of the computation; backward includes what is computed again.
        collectives: of the exchange between GPUs, which goes on beside the computation.
        loading: of the data loader, which works beside it, too.
        samples: of an update, on all GPUs.
        flops: floating-point operations of an update on one GPU, without those done a second time.
        repeated: those.
        peak: floating-point operations a second of one GPU.
    """

    forward: float
    backward: float
    update: float
    collectives: float
    loading: float
    samples: int
    flops: int
    repeated: int
    peak: float

    @property
    def compute(self) -> float:
        """Seconds of the computation."""
        return self.forward + self.backward + self.update

    @property
    def seconds(self) -> float:
        """Of an update: the slowest of the three."""
        return max(self.compute, self.collectives, self.loading)

    @property
    def bound(self) -> str:
        """Which that is."""
        return max(('computation', self.compute), ('collectives', self.collectives), ('loading', self.loading),
                   key=lambda pair: pair[1])[0]

    @property
    def rate(self) -> float:
        """Samples a second on all GPUs."""
        return self.samples / self.seconds

    @property
    def utilisation(self) -> float:
        """Share of the peak that goes to operations which are needed once (MFU)."""
        return self.flops / self.seconds / self.peak

    def days(self, images: float) -> float:
        """Days for so many samples."""
        return images / self.rate / DAY


def speed_of(recording: Recording, spread: Spread, gpu: Gpu, rates: Rates, half: bool, accumulate: int = 1,
             workers: int = 1, half_gather: bool = True) -> Speed:
    """Time of an update.

    Args:
        recording: of a step.
        spread: over GPUs.
        gpu: its peaks.
        rates: shares of them.
        half: whether the network computes in 16 bits; says which peak counts.
        accumulate: batches of an update.
        workers: processes of each data loader.
        half_gather: whether parameters are gathered in bfloat16.
    """
    parts = recording.operations.seconds(gpu.half * 1e12 * rates.products, gpu.full * 1e12 * rates.products,
                                         gpu.bandwidth * 1e9 * rates.memory)
    forward, backward = parts[Phase.FORWARD] * accumulate, parts[Phase.BACKWARD] * accumulate
    update = parts[Phase.UPDATE] / spread.shards
    samples = recording.samples * accumulate
    if rates.measured is not None:
        factor = samples / rates.measured / (forward + backward + update)
        forward, backward, update = forward * factor, backward * factor, update * factor
    repeated = recording.operations.total(repeated=True) * accumulate
    return Speed(
        forward, backward, update, collectives(recording, spread, gpu, rates, accumulate, half_gather),
        samples / (max(workers, 1) * rates.load), samples * spread.num,
        recording.operations.total() * accumulate - repeated, repeated, (gpu.half if half else gpu.full) * 1e12)


def collectives(recording: Recording, spread: Spread, gpu: Gpu, rates: Rates, accumulate: int, half: bool) -> float:
    """Seconds of the exchange: bytes that each GPU sends in rings, over the slowest link.

    Rings over several nodes use the network links of all GPUs of a node; what is exchanged between copies on different
    nodes, each GPU sends over its own.
    """
    inside, own = (1e9 * rates.links * bandwidth for bandwidth in (gpu.link, gpu.network))
    across = min(inside, own * min(spread.per_node, spread.num))

    def ring(size: float, members: int, link: float) -> float:
        return size * (members - 1) / members / link

    if not spread.is_sharded:
        return 2 * ring(recording.trained, spread.num, inside if spread.nodes == 1 else across)
    shards, copies = spread.shards, spread.num // spread.shards
    link = inside if shards <= spread.per_node else across
    factor = 0.5 if half else 1.0
    # Trained parameters are gathered for the forward and the backward pass, the others for one.
    gather = ring(factor * (recording.weights + recording.trained + recording.teacher), shards, link) * accumulate
    reduce = ring(recording.trained, shards, link) * (accumulate if spread.reduce_every_batch else 1)
    return gather + reduce + 2 * ring(recording.trained / shards, copies, own if shards >= spread.per_node else across)
