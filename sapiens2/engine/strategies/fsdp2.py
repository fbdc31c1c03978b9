"""Fully sharded data parallel training with torch's ``fully_shard``.

Rajbhandari et al., ZeRO, arXiv 1910.02054; Zhao et al., PyTorch FSDP, arXiv 2304.11277.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union

import torch
from mmengine.device import get_device
from mmengine.model.base_model.data_preprocessor import BaseDataPreprocessor
from mmengine.runner import Runner
from torch import distributed, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard,
                                    register_fsdp_forward_method)
from torch.utils.checkpoint import checkpoint as recomputed

from sapiens2.engine.checkpoints import read_meta
from sapiens2.engine.fine_tuning import FineTuning
from sapiens2.engine.strategies import agreement
from sapiens2.engine.strategies.base import Strategy
from sapiens2.engine.strategies.saving import save, staged
from sapiens2.engine.strategies.sharded_state import optimizer_names, pack
from sapiens2.engine.strategies.sharded_weights import fill_from, load_weights, read_state
from sapiens2.engine.strategies.units import OTHER_METHODS, blocks, units
from sapiens2.models.checkpoints import parameters_on_meta
from sapiens2.models.checkpoints.sharded import check_files, is_sharded, note_compared, read_manifest
from sapiens2.registry import MODELS, STRATEGIES
from sapiens2.utils.config import ConfigError
from sapiens2.utils.devices import dtype_named, pick_dtype

if TYPE_CHECKING:
    from sapiens2.engine.runner import Sapiens2Runner

Result = TypeVar('Result')
NODE = 'node'


@STRATEGIES.register_module()
class FSDP2(Strategy):
    """Every process holds a part of each parameter, of its gradient and of what the optimizer keeps for it.

    The parameters of a unit (a block of a transformer, a stage of a decoder, the rest of a part of the model; see
    ``units``) are put together when it runs and released afterwards. Losses and updates are those of ``DataParallel``.

    Args:
        shard_size: so many processes share one copy of the model, and there are as many copies as such groups; 'node'
            is the number of processes on a machine. Default: all share one copy.
        param_dtype: in which parameters are gathered and used, 'auto': bf16 where the device computes in it, else fp32;
            those that are kept and updated are float32.
        reduce_dtype: in which gradients are summed.
        full_precision: parts of the model (children of it, by name) whose parameters are used in float32.
        reshard_after_forward: release parameters after the forward pass and gather them again for the backward pass;
            False keeps them until then, which takes more memory and less communication.
        cpu_offload: keep parameters, gradients and the optimizer's state in the memory of the host.
        recompute: recompute the activations of every n-th block in the backward pass, 1 for all, 0 for none; takes the
            place of ``with_cp`` of the model. Default: what that says.
        compile: compile the blocks with ``torch.compile``.
        reduce_every_batch: sum gradients over processes after each accumulated batch, rather than after the last one: a
            sharded gradient then takes the place of a whole one in between.
        async_save: go on training while a checkpoint is written; it is first copied to the memory of the host.

    Raises:
        ConfigError: for processes that ``shard_size`` does not divide, or other values that cannot be.
    """

    checkpoint_name = 'iter_{}'
    all_write = True
    all_stop = True

    def __init__(self, shard_size: Union[int, str, None] = None, param_dtype: str = 'auto', reduce_dtype: str = 'fp32',
                 full_precision: tuple[str, ...] = ('contrastive',), reshard_after_forward: bool = True,
                 cpu_offload: bool = False, recompute: Optional[int] = None, compile: bool = False,
                 reduce_every_batch: bool = False, async_save: bool = False) -> None:
        if not distributed.is_initialized():
            raise ConfigError('strategy: FSDP2 needs the processes of a launcher, be it one: start with '
                              'tools/dist_train.sh CONFIG PROCESSES, or take strategy out for a single device')
        if cpu_offload and 'gloo' not in distributed.get_backend_config():
            raise ConfigError('strategy.cpu_offload: gradients are summed on the host, which needs --cfg-options '
                              'env_cfg.dist_cfg.backend=cpu:gloo,cuda:nccl')
        if recompute is not None and recompute < 0:
            raise ConfigError(f'strategy.recompute must be at least 0, got {recompute}')
        self.full_precision, self.reshard_after_forward = tuple(full_precision), reshard_after_forward
        self.param_dtype = pick_dtype(param_dtype, torch.device(get_device()))
        self.reduce_dtype = dtype_named(reduce_dtype)
        self.cpu_offload, self.recompute, self.compile = cpu_offload, recompute, compile
        self.reduce_every_batch, self.async_save = reduce_every_batch, async_save
        self.mesh = _mesh(shard_size)
        # Messages and checkpoints go over the hosts' own network, beside what the devices are doing.
        self.group, self.save_group = (distributed.new_group(backend='gloo') for _ in range(2))
        self._config: Optional[Mapping[str, Any]] = None
        self._random_state = torch.get_rng_state()
        self._writer = ThreadPoolExecutor(1, 'checkpoint')
        self._pending: Optional[Future[None]] = None

    def build(self, runner: Sapiens2Runner, config: Union[Mapping[str, Any], nn.Module]) -> nn.Module:
        """See ``Strategy``. No memory is taken for parameters before they are in parts."""
        if isinstance(config, nn.Module):
            raise ConfigError('strategy: FSDP2 builds the model itself, give its configuration')
        self._config, self._random_state = config, torch.get_rng_state()
        with parameters_on_meta():
            return Runner.build_model(runner, config)

    def wrap(self, runner: Sapiens2Runner, model: nn.Module) -> nn.Module:
        if isinstance(model, FSDPModule):
            return model
        unknown = set(self.full_precision) - {'contrastive', *(name for name, _ in model.named_children())}
        if unknown:
            raise ConfigError(f'strategy.full_precision: the model has no part {", ".join(sorted(unknown))}; it has '
                              f'{", ".join(name for name, _ in model.named_children())}')
        self._change_blocks(model)
        # Stages of a decoder end in such views, and nothing changes them in place.
        warnings.filterwarnings('ignore', 'FSDP2-wrapped module .* returned a view tensor')
        offload = CPUOffloadPolicy(pin_memory=torch.cuda.is_available()) if self.cpu_offload else OffloadPolicy()
        for part, module in list(units(model)):
            is_full = part in self.full_precision
            # A backbone is given pictures in float32. Others are given what it makes of them, besides targets and
            # tables of angles, which keep their precision.
            precision = MixedPrecisionPolicy(
                param_dtype=torch.float32 if is_full else self.param_dtype, reduce_dtype=self.reduce_dtype,
                cast_forward_inputs=is_full or hasattr(module, 'get_layer_depth'))
            fully_shard(module, mesh=self.mesh, reshard_after_forward=self.reshard_after_forward, mp_policy=precision,
                        offload_policy=offload)
            for method in OTHER_METHODS:
                if hasattr(module, method):
                    register_fsdp_forward_method(module, method)
        device = get_device()
        place = 'cpu' if self.cpu_offload else device
        model._apply(lambda tensor: torch.empty_like(tensor, device=place) if tensor.is_meta else tensor)
        for buffer in model.buffers():
            buffer.data = buffer.data.to(device)
        for module in model.modules():
            if isinstance(module, BaseDataPreprocessor):
                module._device = torch.device(device)
        model.register_forward_hook(_release_after_inference)
        return model

    def _change_blocks(self, model: nn.Module) -> None:
        """Let blocks be compiled, and recomputed, inside of what gathers their parameters."""
        if self.recompute is not None:
            for module in model.modules():
                if hasattr(module, 'with_cp'):
                    module.with_cp = False
        every = list(blocks(model))
        if self.compile:  # blocks differ in constants (drop path), for each of which there is a compilation
            torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, 2 * len(every))
        for number, block in enumerate(every):
            if self.compile:
                block.forward = torch.compile(block.forward)
            if self.recompute and number % self.recompute == 0 and any(p.requires_grad for p in block.parameters()):
                block.forward = partial(recomputed, block.forward, use_reentrant=False)

    def initialise(self, runner: Sapiens2Runner) -> None:
        """See ``Strategy``. The values are those that a single process would draw.

        The first process draws them, and so holds one whole model in memory for as long as it takes to give the others
        their parts. If all values will be read from a file, none are drawn.
        """
        if self.agree(runner.fills_all_weights):
            return
        whole: Optional[nn.Module] = None
        if distributed.get_rank(self.group) == 0:
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(self._random_state)
                whole = MODELS.build(self._config)
                whole.init_weights()
        fill_from(runner.bare_model, whole, self.group)

    def check_fine_tuning(self, fine_tuning: FineTuning) -> None:
        if fine_tuning.adds_parameters:
            raise ConfigError(f'fine_tuning: {type(fine_tuning).__name__} adds parameters to a model, which strategy '
                              'FSDP2 has divided already; few are trained, so take strategy out')

    def load(self, model: nn.Module, filename: Union[str, Path], strict: bool) -> None:
        self.compare(Path(filename))
        agreement.on_all(lambda: load_weights(model, filename, strict), self.group)

    def synchronise_gradients(self, model: nn.Module, wanted: bool) -> None:
        model.set_requires_gradient_sync(wanted or self.reduce_every_batch)

    def write(self, runner: Sapiens2Runner, checkpoint: Mapping[str, Any], path: Path) -> None:
        self.wait()
        tensors, rest = pack(checkpoint, optimizer_names(runner) if 'optimizer' in checkpoint else ())
        if not self.async_save:
            save(tensors, rest, path, self.save_group)
        else:
            self._pending = self._writer.submit(save, *staged(tensors, rest), path, self.save_group)

    def wait(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()

    def poll(self) -> None:
        if self._pending is not None and self._pending.done() and self._pending.exception() is not None:
            self.wait()

    def read(self, runner: Sapiens2Runner, filename: Union[str, Path]) -> Mapping[str, Any]:
        """See ``Strategy``. Takes files of ``DataParallel``, too."""
        return agreement.on_all(lambda: read_state(runner, Path(filename)), self.group)

    def check(self, filename: Path) -> None:
        agreement.on_all(lambda: read_meta(filename), self.group)
        self.compare(filename)

    def compare(self, filename: Path) -> None:
        """See ``Strategy``. Each process reads some of the files."""
        if not self.agree(lambda: is_sharded(filename)):
            return
        files = self.agree(lambda: read_manifest(filename))
        rank, processes = distributed.get_rank(self.group), distributed.get_world_size(self.group)
        agreement.on_all(lambda: check_files(filename, sorted(files)[rank::processes], files), self.group)
        agreement.on_all(lambda: note_compared(filename, files), self.group)

    def agree(self, decide: Callable[[], Result]) -> Result:
        return agreement.on_first(decide, self.group)

    def any(self, value: bool) -> bool:
        return agreement.any_of(value, self.group)


def _mesh(shard_size: Union[int, str, None]) -> DeviceMesh:
    """All processes in one dimension, or (copies, processes of a copy)."""
    processes = distributed.get_world_size()
    size = int(os.environ.get('LOCAL_WORLD_SIZE', processes)) if shard_size == NODE else shard_size or processes
    if not isinstance(size, int) or size < 1 or processes % size:
        fitting = [number for number in range(1, processes + 1) if processes % number == 0]
        raise ConfigError(f'strategy.shard_size: {shard_size!r} does not divide the {processes} processes of this run; '
                          f'{", ".join(map(str, fitting))} or {NODE!r} would do')
    device = get_device()
    if size == processes:
        return init_device_mesh(device, (processes,), mesh_dim_names=('shard',))
    return init_device_mesh(device, (processes // size, size), mesh_dim_names=('replicate', 'shard'))


def _release_after_inference(model: nn.Module, *_: Any) -> None:
    """Without a backward pass some units would stay gathered, and not see the next change of the parameters."""
    if not torch.is_grad_enabled():
        for module in model.modules():
            if isinstance(module, FSDPModule):
                module.reshard()
