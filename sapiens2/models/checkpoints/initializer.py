"""``init_cfg=dict(type='Pretrained', checkpoint=...)``: start training from a checkpoint of any supported format."""

from __future__ import annotations

from mmengine.model.weight_init import PretrainedInit, update_init_info
from torch import nn

from sapiens2.models.checkpoints.load import load_checkpoint
from sapiens2.registry import WEIGHT_INITIALIZERS


@WEIGHT_INITIALIZERS.register_module(name='Pretrained')
class Pretrained(PretrainedInit):
    """Fills a module through ``load_checkpoint``, where MMEngine's initializer of this name loads whatever fits.

    Args:
        checkpoint: see ``open_checkpoint``. A backbone takes its part of a task's checkpoint.
        strict: see ``load_checkpoint``.
    """

    def __init__(self, checkpoint: str, strict: bool = True) -> None:
        super().__init__(checkpoint)
        self.strict = strict

    def __call__(self, module: nn.Module) -> None:
        load_checkpoint(module, self.checkpoint, self.strict)
        if hasattr(module, '_params_init_info'):
            update_init_info(module, init_info=self._get_init_info())
