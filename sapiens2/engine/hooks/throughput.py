"""How fast a training run is, and what it waits for."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import Any, Optional

import torch
from mmengine.dist import get_world_size
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from sapiens2.models.backbones.base import VisionTransformer
from sapiens2.registry import HOOKS

try:
    import resource
except ImportError:  # Windows
    resource = None

_BACKWARD = 2  # the backward pass of a product takes twice the work of the forward pass


def _attention_on_cpu(query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> int:
    return sdpa_flop_count(query.shape, key.shape, value.shape)


# torch counts the other kernels of attention.
_FORMULAS = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_on_cpu, **flop_registry}


class _ModelFlops(TorchDispatchMode):
    """Counts the operations of a forward pass, and those that its backward pass will take."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Optional[dict] = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        count = _FORMULAS.get(func._overloadpacket)
        if count is not None:
            trained = any(isinstance(value, Tensor) and value.requires_grad for value in args)
            self.total += count(*args, **kwargs, out_val=result) * (1 + _BACKWARD * trained)
        return result


@HOOKS.register_module()
class ThroughputHook(Hook):
    """Adds to the log, for all processes together:

    * ``images_per_s``, and ``tokens_per_s`` of the backbone that is trained;
    * ``mfu``, model FLOPs utilisation (Chowdhery et al., PaLM, arXiv 2204.02311): operations that forward and backward
      pass need, over those that the devices could do in that time. What is computed a second time to save memory is not
      counted;
    * ``data_wait``, the share of the time for which the first process waited for batches;
    * ``peak_memory_gb``, the most that torch had taken on the device of the first process; of the process on a CPU
      (not on Windows, which does not say).

    Operations are counted once, in the first batch of the run (which takes longer for it).

    Args:
        peak_tflops: of one device in the precision of the run, in 1e12 operations a second, from its data sheet
            (dense): 989 for an H100 SXM or H200 in bfloat16, 312 for an A100. None leaves ``mfu`` out.

    Raises:
        ValueError: for a peak that is not positive.
    """

    def __init__(self, peak_tflops: Optional[float] = None) -> None:
        if peak_tflops is not None and not (peak_tflops > 0 and math.isfinite(peak_tflops)):
            raise ValueError(f'custom_hooks: peak_tflops of ThroughputHook must be above 0, got {peak_tflops}')
        self.peak_tflops = peak_tflops
        self._mode: Optional[_ModelFlops] = None
        self._flops = 0
        self._is_counted = False
        self._tokens = 0

    def before_train(self, runner: Runner) -> None:
        """Watch the model."""
        model = runner.bare_model
        model.register_forward_pre_hook(self._begin_count)
        model.register_forward_hook(self._end_count, always_call=True)
        for module in model.modules():
            if isinstance(module, VisionTransformer):
                blocks, _ = module.blocks_and_norm()
                blocks[0].register_forward_hook(self._count_tokens)

    def _begin_count(self, model: nn.Module, *_: Any) -> None:
        if not self._is_counted and model.training:
            self._mode = _ModelFlops()
            self._mode.__enter__()

    def _end_count(self, *_: Any) -> None:
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._flops, self._mode, self._is_counted = self._mode.total, None, True

    def _count_tokens(self, block: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if block.training and torch._C._current_graph_task_id() == -1:  # not what a backward pass recomputes
            self._tokens += output.shape[0] * output.shape[1]

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None) -> None:
        """Begin anew."""
        self._tokens = 0

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Log the figures of the iteration."""
        hub, loop = runner.message_hub, runner.train_loop
        seconds = time.perf_counter() - loop.began
        processes, batches = get_world_size(), runner.optim_wrapper._accumulative_counts
        hub.update_scalar('train/images_per_s', loop.samples_per_iter / seconds)
        hub.update_scalar('train/tokens_per_s', self._tokens * processes / seconds)
        if self.peak_tflops is not None and self._flops:
            hub.update_scalar('train/mfu', self._flops * batches / seconds / (self.peak_tflops * 1e12))
        hub.update_scalar('train/data_wait', loop.waited / seconds)
        if (peak := _peak_memory()) is not None:
            hub.update_scalar('train/peak_memory_gb', peak / 1e9)


def _peak_memory() -> Optional[int]:
    """Bytes, None where the system does not say."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    if resource is None:
        return None
    unit = 1 if sys.platform == 'darwin' else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
