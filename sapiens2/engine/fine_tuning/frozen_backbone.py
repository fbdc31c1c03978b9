"""Training of the decoder alone."""

from __future__ import annotations

from torch import nn

from sapiens2.engine.fine_tuning.base import FineTuning
from sapiens2.registry import FINE_TUNING


@FINE_TUNING.register_module()
class FrozenBackbone(FineTuning):
    """No parameter of the backbone is trained: none of its activations and gradients is kept."""

    def prepare(self, model: nn.Module) -> None:
        backbone = model.backbone
        backbone.requires_grad_(False)
        if hasattr(backbone, 'frozen_stages'):
            backbone.frozen_stages = backbone.num_layers  # keeps drop path out, too
