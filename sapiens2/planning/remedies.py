"""What to change when a run does not fit, and the memory that it would need then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Optional

from mmengine.config import Config

from sapiens2.planning.runs import LARGEST, Run

ADAFACTOR_RATE = 1e-2  # relative to the size of each weight matrix; see docs/en/advanced_guides/small_gpu.md
# A run with something changed; None where it changes nothing.
Change = Callable[[Run], Optional[Run]]


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


class Remedies:
    """Finds remedies.

    Args:
        cfg: config of a run.
        memory: bytes of a run on one GPU.
        capacity: bytes of a GPU.
    """

    def __init__(self, cfg: Config, memory: Callable[[Run], float], capacity: float) -> None:
        self.cfg, self.memory, self.capacity = cfg, memory, capacity

    def of(self, run: Run) -> list[Remedy]:
        """What saves memory, from what costs least; what changes which parameters are trained comes last, by itself."""
        found: list[Remedy] = []
        so_far, fits = run, False
        for name, how, change in self._changes(run):
            alone, combined = change(run), None if fits else change(so_far)
            together = None
            if combined is not None:
                so_far, together = combined, self.memory(combined)
                fits = together <= self.capacity
            if alone is not None:
                best = combined or alone
                found.append(Remedy(name, how.format(batch=best.settings.batch, accumulate=best.accumulate),
                                    self.memory(alone), together))
        if 'decode_head' in self.cfg.model and not self._is_tuned(run):
            whole = replace(run.spread, offload=False, shard_size=None,
                            strategy='ddp' if run.spread.num > 1 else 'single')
            for kind in ('LoRA', 'FrozenBackbone'):
                changed = replace(run, settings=replace(run.settings, fine_tuning=kind), spread=whole)
                found.append(Remedy(f'train less: {kind}', f"fine_tuning = dict(type='{kind}')", self.memory(changed),
                                    None))
        return found

    def _changes(self, run: Run) -> Iterator[tuple[str, str, Change]]:
        """Name, how to do it (``batch`` and ``accumulate`` of the changed run go into it), and the change."""
        spread = run.spread
        if not run.settings.half:
            yield 'bfloat16', '--amp', _settings(half=True)
        if self._recompute(run) != 1:
            how = 'strategy.recompute=1' if spread.is_sharded else 'model.backbone.with_cp=True'
            yield 'recompute activations', how, _settings(recompute=1)
        if spread.num > 1 and not self._is_tuned(run):
            if spread.num > spread.per_node and spread.strategy != 'fsdp2':
                yield ('a copy on each node', "strategy = dict(type='FSDP2', shard_size='node')",
                       _spread(strategy='hybrid'))
            if spread.strategy != 'fsdp2':
                yield 'a copy on all GPUs', "strategy = dict(type='FSDP2')", _spread(strategy='fsdp2')
        yield ('smaller batches, accumulated',
               'train_dataloader.batch_size={batch} optim_wrapper.accumulative_counts={accumulate}', self._smaller)
        if not self._is_tuned(run) and run.settings.optimizer is None:
            own = self.cfg.optim_wrapper.optimizer
            for kind, rate in (('AdamW8bit', own.get('lr')), ('TorchAdafactor', ADAFACTOR_RATE)):
                if own.type != kind:
                    values = {'lr': rate, 'weight_decay': own.get('weight_decay')}
                    arguments = ', '.join(f'{name}={value}' for name, value in values.items() if value is not None)
                    yield (f'{kind} instead',
                           f"optim_wrapper = dict(optimizer=dict(_delete_=True, type='{kind}', {arguments}))",
                           _optimizer(kind))
        if not self._is_tuned(run) and not spread.offload:
            yield ('parameters on the host', "strategy = dict(type='FSDP2', cpu_offload=True)",
                   _spread(offload=True, strategy=spread.strategy if spread.is_sharded else 'fsdp2'))

    def _smaller(self, run: Run) -> Optional[Run]:
        """The largest smaller batch that fits, with as many samples an update; if none does, single samples."""
        total = run.settings.batch * run.accumulate
        tries = [replace(run, accumulate=total // size, settings=replace(run.settings, batch=size))
                 for size in range(min(run.settings.batch - 1, LARGEST), 0, -1) if total % size == 0]
        fitting = (trial for trial in tries if self.memory(trial) <= self.capacity)
        return next(fitting, tries[-1] if tries else None)

    def _is_tuned(self, run: Run) -> bool:
        return bool(run.settings.fine_tuning or self.cfg.get('fine_tuning'))

    def _recompute(self, run: Run) -> int:
        if run.settings.recompute is not None:
            return run.settings.recompute
        return int(bool(self.cfg.model.get('backbone', {}).get('with_cp')))


def _settings(**values: Any) -> Change:
    def change(run: Run) -> Optional[Run]:
        changed = replace(run, settings=replace(run.settings, **values))
        return None if changed == run else changed
    return change


def _spread(**values: Any) -> Change:
    def change(run: Run) -> Optional[Run]:
        changed = replace(run, spread=replace(run.spread, shard_size=None, **values),
                          settings=replace(run.settings, half=True))
        return None if changed == run else changed
    return change


def _optimizer(kind: str) -> Change:
    return lambda run: None if run.spread.is_sharded else _settings(optimizer=kind)(run)
