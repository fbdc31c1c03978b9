"""A Sapiens2 backbone as transformers and XTuner want a visual encoder."""

from __future__ import annotations

from typing import Any, Optional

import torch
from mmengine.registry import DefaultScope
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from sapiens2.evaluation.probes.backbones import parse_backbone
from sapiens2.models.backbones.base import VisionTransformer
from sapiens2.models.checkpoints import build_model
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.registry import MODELS

_TYPES = ('Sapiens2', 'Sapiens')
# Of the config of a backbone: what this model or XTuner decides.
_NOT_KEPT = ('init_cfg', 'out_type', 'out_indices', 'frozen_stages', 'with_cp')


class Sapiens2VisionConfig(PretrainedConfig):
    """What an encoder is made of.

    Args:
        backbone: config of a backbone of sapiens2 with class token: ``dict(type='Sapiens2', arch='sapiens2_1b',
            img_size=[1024, 768])``. Its outputs are not for it to say.
        hidden_size: C, set by the model.
        kwargs: of ``PretrainedConfig``.
    """

    model_type = 'sapiens2_backbone'

    def __init__(self, backbone: Optional[dict[str, Any]] = None, hidden_size: Optional[int] = None,
                 **kwargs: Any) -> None:
        self.backbone = dict(backbone or {})
        self.hidden_size = hidden_size
        super().__init__(**kwargs)


class Sapiens2VisionModel(PreTrainedModel):
    """The backbone, its parameters under ``backbone.`` with the released names.

    Differs from a bare backbone in its outputs: those of all blocks, each with the class token in front and without the
    storage tokens, because LLaVA cuts off exactly one token and takes the rest for patches. The last output is
    normalised, the others are not.

    Args:
        config: what it is made of.
        backbone: the backbone itself. Default: one with random weights is built.

    Raises:
        ValueError: for a backbone without class token.
    """

    config_class = Sapiens2VisionConfig
    base_model_prefix = 'backbone'
    main_input_name = 'pixel_values'
    supports_gradient_checkpointing = True

    def __init__(self, config: Sapiens2VisionConfig, backbone: Optional[VisionTransformer] = None) -> None:
        super().__init__(config)
        self.backbone = backbone if backbone is not None else _build(config.backbone)
        if not self.backbone.with_cls_token:
            raise ValueError(f'{config.backbone}: LLaVA cuts off the class token, and this backbone has none; set '
                             'with_cls_token=True')
        self.backbone.out_type, self.backbone.out_indices = 'raw', tuple(range(self.backbone.num_layers))
        self.config.hidden_size = self.backbone.embed_dims

    @classmethod
    def from_checkpoint(cls, checkpoint: str, img_size: Optional[tuple[int, int]] = None,
                        torch_dtype: torch.dtype = torch.float32) -> Sapiens2VisionModel:
        """The backbone of any checkpoint that sapiens2 reads: released, of a task, of a training run.

        Args:
            checkpoint: as ``sapiens2 probe`` spells it: FILE, CONFIG.py@FILE, or NAME@random for random weights.
            img_size: (H, W) of the pictures, pixels. Default: what the weights are for. A record only: the network
                takes any multiple of its patches.
            torch_dtype: of the weights.

        Raises:
            ValueError: for a name that is none of these, or another kind of backbone.
            FileNotFoundError, BadCheckpointFile, CheckpointMismatch: if the file is missing or wrong.
        """
        with DefaultScope.overwrite_default_scope('sapiens2'):
            spec = parse_backbone(checkpoint)
        settings = {name: value for name, value in (spec.config or {}).items() if name not in _NOT_KEPT}
        if settings.get('type') not in _TYPES:
            raise ValueError(f'{checkpoint}: only {" and ".join(_TYPES)} can be visual encoders here')
        if settings['type'] == 'Sapiens':
            settings['with_cls_token'] = True
        if img_size is not None:
            settings['img_size'] = img_size
        if 'img_size' in settings:
            settings['img_size'] = list(settings['img_size'])
        backbone = _build(settings, spec.weights or RANDOM, torch_dtype)
        return cls(Sapiens2VisionConfig(settings, torch_dtype=torch_dtype), backbone)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str,
                        torch_dtype: Optional[torch.dtype] = None) -> Sapiens2VisionModel:
        """The encoder in a folder of ``save_pretrained``, with every weight.

        Not by transformers' own loading, which takes ``gamma`` in a name for an old way to say ``weight`` and goes on
        without what it then lacks.

        Args:
            pretrained_model_name_or_path: the folder.
            torch_dtype: of the weights. Default: as saved.

        Raises:
            OSError: if there is no such folder, or no config in it.
            BadCheckpointFile, CheckpointMismatch: if its weights are damaged or do not fit its config.
        """
        config = cls.config_class.from_pretrained(pretrained_model_name_or_path)
        config.torch_dtype = torch_dtype or config.torch_dtype or torch.float32
        return cls(config, _build(config.backbone, pretrained_model_name_or_path, config.torch_dtype))

    def forward(self, pixel_values: Tensor, output_hidden_states: bool = True,
                return_dict: Optional[bool] = None) -> BaseModelOutput:
        """Encode pictures.

        Args:
            pixel_values: (B, 3, H, W), normalised RGB, as ``Sapiens2ImageProcessor`` gives them.
            output_hidden_states: whether the outputs of all blocks are given, or the last one alone.
            return_dict: not used; the output is an object with names.

        Returns:
            ``last_hidden_state`` (B, 1 + h * w, C), the class token and the patches row by row; ``hidden_states``, one
            such tensor for each block.
        """
        outputs = tuple(self._without_storage(tokens) for tokens in self.backbone(pixel_values))
        return BaseModelOutput(last_hidden_state=outputs[-1], hidden_states=outputs if output_hidden_states else None)

    def _without_storage(self, tokens: Tensor) -> Tensor:
        return torch.cat((tokens[:, :1], tokens[:, self.backbone.num_prefix_tokens:]), dim=1)

    def get_input_embeddings(self) -> nn.Module:
        """The patch embedding."""
        return self.backbone.patch_embed

    def enable_input_require_grads(self) -> None:
        """Do nothing: the backbone's own checkpointing gives gradients without it, and a frozen backbone would keep all
        its activations with it."""

    def gradient_checkpointing_enable(self, gradient_checkpointing_kwargs: Optional[dict[str, Any]] = None) -> None:
        """Recompute the activations of each block in the backward pass, without re-entrance."""
        self.backbone.with_cp = True

    def gradient_checkpointing_disable(self) -> None:
        """Keep the activations."""
        self.backbone.with_cp = False

    def _init_weights(self, module: nn.Module) -> None:
        """Do nothing: the backbone is full when it is made."""


def _build(settings: dict[str, Any], weights: str = RANDOM, dtype: torch.dtype = torch.float32) -> VisionTransformer:
    # MMEngine's default scope is put back afterwards: XTuner's runner has another one.
    with DefaultScope.overwrite_default_scope(MODELS.scope):
        return build_model(settings, weights, device='cpu', dtype=dtype)
