"""A plan: memory and time of a training run on given GPUs, and what to change if it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Optional

from mmengine.config import Config

from sapiens2.engine.fine_tuning import LoRA
from sapiens2.planning.gpus import GIB, Gpu
from sapiens2.planning.memory import Memory, Spread, memory_of
from sapiens2.planning.recording import Recording, record
from sapiens2.planning.speed import Rates, Speed, speed_of
from sapiens2.planning.training import Settings
from sapiens2.registry import FINE_TUNING
from sapiens2.utils.config import ConfigError

# Batches whose recordings the others lie between. With one sample some operations differ.
BASIS = (2, 3)
LARGEST = 4096


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


@dataclass(frozen=True)
class Run:
    """How a config is run.

    Attributes:
        settings: of the step.
        spread: over GPUs.
        accumulate: batches of an update.
    """

    settings: Settings
    spread: Spread
    accumulate: int = 1


@dataclass(frozen=True)
class Remedy:
    """Something that saves memory.

    Attributes:
        name: what it is.
        how: what to write, in the config or in the command.
        alone: bytes of the run with it alone.
        together: bytes with it and those before it; None if it is no part of such a row.
    """

    name: str
    how: str
    alone: float
    together: Optional[float]


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
        return speed_of(self.recording(run), run.spread, self.gpu, self.rates, run.settings.half, run.accumulate, workers,
                        run.settings.half)

    def plan(self, run: Run) -> Plan:
        """Everything about a run.

        Raises:
            ConfigError: if it is none that this package can do.
        """
        self.check(run)
        plan = Plan(run, self.gpu, self.capacity, self.memory(run), self.speed(run), self.largest_batch(run),
                    self.recording(run).parameters)
        if not plan.fits:
            plan.remedies = self.remedies(run)
        return plan

    def check(self, run: Run) -> None:
        """Raise ConfigError if the strategy does not suit what is trained."""
        kind = run.settings.fine_tuning or (self.cfg.get('fine_tuning') or {}).get('type')
        if run.spread.is_sharded and kind is not None and issubclass(FINE_TUNING.get(kind), LoRA):
            raise ConfigError(f'--strategy {run.spread.strategy} does not go with fine_tuning LoRA, which adds parameters to '
                              'a model that is divided already: take ddp')

    def largest_batch(self, run: Run) -> int:
        """The most samples of a forward pass that fit; 0 if not even one does."""
        def fits(batch: int) -> bool:
            return self.memory(replace(run, settings=replace(run.settings, batch=batch))).total <= self.capacity

        if not fits(1):
            return 0
        low, high = 1, 2
        while high < LARGEST and fits(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def remedies(self, run: Run) -> list[Remedy]:
        """What saves memory, from what costs least; those that change what is trained come last, and each by itself."""
        found: list[Remedy] = []
        so_far, fits = run, False
        for name, how, change in self._changes(run):
            alone, combined = change(run), None if fits else change(so_far)
            together = None
            if combined is not None:
                so_far, together = combined, self.memory(combined).total
                fits = together <= self.capacity
            if alone is not None:
                found.append(Remedy(name, how, self.memory(alone).total, together))
        for kind in self._tunings(run):
            changed = replace(run, settings=replace(run.settings, fine_tuning=kind),
                              spread=replace(run.spread, offload=False, shard_size=None,
                                             strategy='ddp' if run.spread.num > 1 else 'single'))
            found.append(Remedy(f'train less: {kind}', f"fine_tuning = dict(type='{kind}')", self.memory(changed).total, None))
        return found

    def _tunings(self, run: Run) -> tuple[str, ...]:
        is_task = 'decode_head' in self.cfg.model
        return ('LoRA', 'FrozenBackbone') if is_task and not (run.settings.fine_tuning or self.cfg.get('fine_tuning')) else ()

    def _changes(self, run: Run) -> list[tuple[str, str, Callable[[Run], Optional[Run]]]]:
        """Name, how to do it, and the run with it; None where it changes nothing."""
        def settings(**values: object) -> Callable[[Run], Optional[Run]]:
            def change(run: Run) -> Optional[Run]:
                changed = replace(run, settings=replace(run.settings, **values))
                return None if changed == run else changed
            return change

        def spread(**values: object) -> Callable[[Run], Optional[Run]]:
            def change(run: Run) -> Optional[Run]:
                changed = replace(run, spread=replace(run.spread, shard_size=None, **values),
                                  settings=replace(run.settings, half=True))
                return None if changed == run else changed
            return change

        def optimizer(kind: str) -> Callable[[Run], Optional[Run]]:
            return lambda run: None if run.spread.is_sharded else settings(optimizer=kind)(run)

        def smaller(run: Run) -> Optional[Run]:
            total = run.settings.batch * run.accumulate
            sizes = [size for size in range(run.settings.batch - 1, 0, -1) if total % size == 0]
            tries = [replace(run, accumulate=total // size, settings=replace(run.settings, batch=size)) for size in sizes]
            fitting = [trial for trial in tries if self.memory(trial).total <= self.capacity]
            return fitting[0] if fitting else tries[-1] if tries else None

        tuned = run.settings.fine_tuning or self.cfg.get('fine_tuning')
        changes = []
        if not run.settings.half:
            changes.append(('bfloat16', '--amp', settings(half=True)))
        if self._recompute(run) != 1:
            changes.append(('recompute activations', 'model.backbone.with_cp=True', settings(recompute=1)))
        if run.spread.num > 1 and not tuned:
            if run.spread.num > run.spread.per_node and run.spread.strategy != 'fsdp2':
                changes.append(('a copy on each node', "strategy = dict(type='FSDP2', shard_size='node')",
                                spread(strategy='hybrid')))
            if run.spread.strategy != 'fsdp2':
                changes.append(('a copy on all GPUs', "strategy = dict(type='FSDP2')", spread(strategy='fsdp2')))
        changes.append(('smaller batches, accumulated', 'train_dataloader.batch_size, optim_wrapper.accumulative_counts',
                        smaller))
        if not tuned and run.settings.optimizer is None:
            for kind in ('AdamW8bit', 'TorchAdafactor'):
                if self.cfg.optim_wrapper.optimizer.type != kind:
                    changes.append((f'{kind} instead', f'optim_wrapper.optimizer.type={kind}', optimizer(kind)))
        if not tuned and not run.spread.offload:
            strategy = run.spread.strategy if run.spread.is_sharded else 'fsdp2'
            changes.append(('parameters on the host', "strategy = dict(type='FSDP2', cpu_offload=True)",
                            spread(offload=True, strategy=strategy)))
        return changes

    def _recompute(self, run: Run) -> int:
        if run.settings.recompute is not None:
            return run.settings.recompute
        return int(bool(self.cfg.model.get('backbone', {}).get('with_cp')))
