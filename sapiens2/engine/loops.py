"""The training loop: one iteration is one update of the weights, and a resumed run draws what an unbroken one draws."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Optional, Union

import numpy as np
import torch
from mmengine.dist import get_rank, get_world_size
from mmengine.runner import BaseLoop, Runner
from torch import Tensor, nn
from torch.utils.data import DataLoader

from sapiens2.registry import LOOPS


@LOOPS.register_module()
class UpdateTrainLoop(BaseLoop):
    """Trains for ``max_iters`` updates.

    Three things differ from MMEngine's ``IterBasedTrainLoop``:

    * An iteration draws ``accumulative_counts`` batches (of the optimizer wrapper) and updates the weights once.
      Learning-rate schedules, intervals, ``max_iters`` and the log count updates, whatever the accumulation.
    * A resumed run tells the sampler where to go on, instead of loading and dropping all earlier batches. The position
      is kept in samples, so it stays right when the batch size or the number of processes changes.
    * torch is seeded from (seed, iteration, rank) at each iteration, so drop path and the like come out the same after
      a resume, without random-generator states in the checkpoint.

    Args:
        runner: the runner.
        dataloader: its data loader, or the configuration of one. The sampler must be endless and have a settable
            ``start``, the number of samples (of all processes together) that are behind.
        max_iters: updates of the whole run.
        val_begin: first iteration after which validation may run.
        val_interval: updates between validations; the last iteration is always followed by one.

    Raises:
        TypeError: if the sampler has no ``start``.
    """

    def __init__(self, runner: Runner, dataloader: Union[DataLoader, dict], max_iters: int, val_begin: int = 1,
                 val_interval: int = 1000) -> None:
        super().__init__(runner, dataloader)
        if not hasattr(self.dataloader.sampler, 'start'):
            raise TypeError(f'train_dataloader.sampler: {type(self.dataloader.sampler).__name__} cannot start in the '
                            "middle, so a run could not be resumed; use dict(type='ResumableInfiniteSampler')")
        self.max_iters, self.max_epochs = max_iters, 1
        self.iter = self.epoch = 0
        self.val_begin, self.val_interval = val_begin, val_interval
        self.samples = 0
        self._behind = (0, 0)
        # Of the iteration that runs: when it began (``time.perf_counter``), and seconds that it waited for batches.
        self.began = self.waited = 0.0
        self.stop_training = False  # set by MMEngine's EarlyStoppingHook
        runner.visualizer.dataset_meta = getattr(self.dataloader.dataset, 'metainfo', None)

    @property
    def accumulative_counts(self) -> int:
        """Batches per update."""
        return self.runner.optim_wrapper._accumulative_counts

    @property
    def samples_per_iter(self) -> int:
        """Samples per update, all processes together."""
        return self.dataloader.batch_size * self.accumulative_counts * get_world_size()

    def resume(self, iteration: int, samples: Optional[int] = None) -> None:
        """Let ``run`` go on after ``iteration`` updates that drew ``samples`` samples (default: as this run would)."""
        self._behind = iteration, iteration * self.samples_per_iter if samples is None else samples

    def run(self) -> nn.Module:
        """Train, and validate between; returns the model (in its wrapper)."""
        runner = self.runner
        self.iter, self.samples = self._behind
        runner.call_hook('before_train')
        runner.call_hook('before_train_epoch')
        counts = self.accumulative_counts
        # The wrapper counts batches. The runner has told it iterations, of which none was done so far: of a number that
        # the counts do not divide it would say that gradients were lost.
        runner.optim_wrapper.initialize_count_status(runner.model, self.iter * counts, self.max_iters * counts)
        self.dataloader.sampler.start = self.samples
        batches = iter(self.dataloader)
        while self.iter < self.max_iters and not self.stop_training:
            runner.model.train()
            self.run_iter(batches)
            if self._validates():
                runner.val_loop.run()
        runner.call_hook('after_train_epoch')
        runner.call_hook('after_train')
        return runner.model

    def _validates(self) -> bool:
        due = self.iter % self.val_interval == 0 or self.iter == self.max_iters
        return self.runner.val_loop is not None and self.iter >= self.val_begin and due

    def run_iter(self, batches: Iterator[dict[str, Any]]) -> None:
        """Draw the batches of one update, update, and report the mean of their losses."""
        runner, counts = self.runner, self.accumulative_counts
        seed = np.random.SeedSequence([runner.seed, self.iter, get_rank()]).generate_state(1, np.uint64)
        torch.manual_seed(int(seed[0]))
        means: dict[str, Tensor] = {}
        self.began, self.waited = time.perf_counter(), 0.0
        for number in range(counts):
            asked = time.perf_counter()
            batch = next(batches)
            self.waited += time.perf_counter() - asked
            if number == 0:
                runner.call_hook('before_train_iter', batch_idx=self.iter, data_batch=batch)
            runner.strategy.synchronise_gradients(runner.model, number == counts - 1)
            outputs = runner.model.train_step(batch, optim_wrapper=runner.optim_wrapper)
            runner.call_hook('after_train_batch', data_batch=batch, outputs=outputs)
            for name, value in outputs.items():
                means[name] = means.get(name, 0) + value.detach() / counts
        self.samples += self.samples_per_iter
        runner.strategy.poll()
        runner.call_hook('after_train_iter', batch_idx=self.iter, data_batch=batch, outputs=means)
        self.iter += 1
