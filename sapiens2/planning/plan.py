"""A plan: memory and time of a training run on given GPUs, and what to change if it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Optional

from mmengine.config import Config

from sapiens2.engine.fine_tuning import LoRA
from sapiens2.planning.gpus import GIB, Gpu
from sapiens2.planning.memory import Memory, memory_of
from sapiens2.planning.recording import Recording, record
from sapiens2.planning.remedies import Remedies, Remedy
from sapiens2.planning.runs import LARGEST, Run
from sapiens2.planning.speed import Rates, Speed, speed_of
from sapiens2.planning.training import Settings
from sapiens2.registry import FINE_TUNING
from sapiens2.utils.config import ConfigError

# Batches whose recordings the others lie between. With one sample some operations differ.
BASIS = (2, 3)


class Recordings:
    """Recordings of a config, each made once. Those of larger batches follow from two: memory is linear in the batch.

    Args:
        cfg: config of a run.
        progress: told what is being recorded.
    """

    def __init__(self, cfg: Config, progress: Callable[[str], None] = lambda text: None) -> None:
        self.cfg, self.progress = cfg, progress
        self._made: dict[Settings, Recording] = {}

    def of(self, settings: Settings) -> Recording:
        """The recording of some settings."""
        if settings not in self._made:
            self._made[settings] = self._between(settings) or self._record(settings)
        return self._made[settings]

    def _record(self, settings: Settings) -> Recording:
        self.progress(f'{settings.batch} samples' + ''.join(
            f', {text}' for text in (settings.optimizer, settings.fine_tuning,
                                     'recomputing' if settings.recompute else None) if text))
        return record(self.cfg, settings)

    def _between(self, settings: Settings) -> Optional[Recording]:
        if settings.batch <= max(BASIS):
            return None
        first, second = (self.of(replace(settings, batch=batch)) for batch in BASIS)
        share = (settings.batch - BASIS[0]) / (BASIS[1] - BASIS[0])
        timeline = first.timeline.between(second.timeline, share)
        operations = first.operations.between(second.operations, share)
        if timeline is None or operations is None:
            return None
        return replace(first, samples=settings.batch, timeline=timeline, operations=operations)


@dataclass
class Plan:
    """What was found.

    Attributes:
        run, gpu: what was planned, and for what.
        capacity: bytes of a GPU.
        memory, speed: of the run.
        largest: the largest batch of a GPU that fits; 0 if none does.
        parameters: of the model, teachers left out.
        remedies: in order, if it does not fit.
    """

    run: Run
    gpu: Gpu
    capacity: float
    memory: Memory
    speed: Speed
    largest: int
    parameters: int
    remedies: list[Remedy] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        """Whether a GPU has enough memory."""
        return self.memory.total <= self.capacity


class Planner:
    """Makes plans for a config.

    Args:
        cfg: config of a run.
        gpu: which.
        rates: assumed speeds.
        progress: told what is being recorded.
    """

    def __init__(self, cfg: Config, gpu: Gpu, rates: Rates = Rates(),
                 progress: Callable[[str], None] = lambda text: None) -> None:
        self.cfg, self.gpu, self.rates = cfg, gpu, rates
        self.capacity = gpu.memory * GIB
        self.recordings = Recordings(cfg, progress)
        self.has_averages = any(hook['type'] == 'EMAHook' for hook in cfg.get('custom_hooks') or [])

    def recording(self, run: Run) -> Recording:
        """The recording that a run needs."""
        return self.recordings.of(replace(run.settings, gathered_half=run.spread.is_sharded and run.settings.half))

    def memory(self, run: Run) -> Memory:
        """Memory of a run."""
        return memory_of(self.recording(run), run.spread, self.has_averages, run.accumulate, run.settings.half)

    def speed(self, run: Run) -> Speed:
        """Time of a run."""
        workers = self.cfg.get('train_dataloader', {}).get('num_workers', 0)
        return speed_of(self.recording(run), run.spread, self.gpu, self.rates, run.settings.half, run.accumulate,
                        workers, run.settings.half)

    def plan(self, run: Run) -> Plan:
        """Everything about a run.

        Raises:
            ConfigError: if it is none that this package can do.
        """
        self.check(run)
        plan = Plan(run, self.gpu, self.capacity, self.memory(run), self.speed(run), self.largest_batch(run),
                    self.recording(run).parameters)
        if not plan.fits:
            remedies = Remedies(self.cfg, lambda run: self.memory(run).total, self.capacity)
            plan.remedies = remedies.of(run)
        return plan

    def check(self, run: Run) -> None:
        """Raise ConfigError if the strategy does not suit what is trained."""
        kind = run.settings.fine_tuning or (self.cfg.get('fine_tuning') or {}).get('type')
        if run.spread.is_sharded and kind is not None and issubclass(FINE_TUNING.get(kind), LoRA):
            raise ConfigError(f'--strategy {run.spread.strategy} does not go with fine_tuning LoRA, which adds '
                              'parameters to a model that is divided already: take ddp')

    def largest_batch(self, run: Run) -> int:
        """The most samples of a forward pass that fit, at most ``LARGEST``; 0 if not even one does."""
        def fits(batch: int) -> bool:
            return self.memory(replace(run, settings=replace(run.settings, batch=batch))).total <= self.capacity

        if not fits(2):  # asked first, as batches of 2 are recorded anyway
            return int(fits(1))
        low, high = 2, 4
        while high <= LARGEST and fits(high):
            low, high = high, 2 * high
        while low < LARGEST and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low
