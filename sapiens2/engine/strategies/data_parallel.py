"""Every process holds the whole model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from mmengine.device import get_device
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import nn

from sapiens2.engine.checkpoints import read_meta, read_training_state, write_training_state
from sapiens2.engine.strategies.base import Strategy
from sapiens2.engine.strategies.sharded_state import read_whole
from sapiens2.models.checkpoints import load_checkpoint
from sapiens2.models.checkpoints.sharded import check_files, is_sharded, read_manifest
from sapiens2.registry import STRATEGIES

if TYPE_CHECKING:
    from sapiens2.engine.runner import Sapiens2Runner


@STRATEGIES.register_module()
class DataParallel(Strategy):
    """One process, or several with torch's ``DistributedDataParallel`` (Li et al., arXiv 2006.15704): the default."""

    def build(self, runner: Sapiens2Runner, config: Union[Mapping[str, Any], nn.Module]) -> nn.Module:
        return Runner.build_model(runner, config)

    def wrap(self, runner: Sapiens2Runner, model: nn.Module) -> nn.Module:
        """See ``Strategy``. A model on the CPU is wrapped without device ids."""
        wrapper = runner.cfg.get('model_wrapper_cfg')
        if runner.distributed and not is_model_wrapper(model) and get_device() == 'cpu':
            wrapper = dict(broadcast_buffers=False, device_ids=None, **(wrapper or {}))
        # MMEngine's argument, for which newer versions of torch have another name.
        warnings.filterwarnings('ignore', '`broadcast_buffers` is deprecated', FutureWarning)
        return Runner.wrap_model(runner, wrapper and {'_scope_': 'mmengine', **wrapper}, model)

    def initialise(self, runner: Sapiens2Runner) -> None:
        Runner._init_model_weights(runner)

    def load(self, model: nn.Module, filename: Union[str, Path], strict: bool) -> None:
        load_checkpoint(model, filename, strict=strict)

    def write(self, runner: Sapiens2Runner, checkpoint: Mapping[str, Any], path: Path) -> None:
        write_training_state(checkpoint, path)

    def read(self, runner: Sapiens2Runner, filename: Union[str, Path]) -> Mapping[str, Any]:
        path = Path(filename)
        if not is_sharded(path):
            return read_training_state(path)
        return read_whole(runner, path)

    def check(self, filename: Path) -> None:
        self.compare(filename)
        read_meta(filename)

    def compare(self, filename: Path) -> None:
        if is_sharded(filename):
            files = read_manifest(filename)
            check_files(filename, files, files)
