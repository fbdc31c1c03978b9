"""Which parts of a model are trained: ``fine_tuning`` of a config."""

from sapiens2.engine.fine_tuning.base import FineTuning
from sapiens2.engine.fine_tuning.frozen_backbone import FrozenBackbone
from sapiens2.engine.fine_tuning.lora import LoRA

__all__ = ['FineTuning', 'FrozenBackbone', 'LoRA']
