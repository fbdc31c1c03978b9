"""Any vision transformer of timm behind this project's backbone interface."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any, Optional, Union

from mmengine.model import BaseModule, initialize
from torch import Tensor

from sapiens2.models.backbones.base import resolve_out_indices
from sapiens2.models.layers import check_image_size
from sapiens2.registry import MODELS
from sapiens2.utils.suggest import UnknownNameError, unknown_name


@MODELS.register_module()
class TimmBackbone(BaseModule):
    """DINOv2, DINOv3, PE, MAE and the other vision transformers of timm as backbones.

    Args:
        model_name: timm's name, 'vit_small_patch14_dinov2' for instance.
        img_size: (H, W) in pixels that the model is built for; other multiples of the patch work where timm's
            ``dynamic_img_size`` does.
        out_indices: blocks whose feature maps are returned; negative ones count from the last.
        pretrained: let timm download its weights.
        init_cfg: MMEngine's initialisation.
        **kwargs: passed to ``timm.create_model``, such as ``depth`` or ``drop_path_rate``.

    Raises:
        ImportError: if timm is not installed.
        ValueError: for an unknown model name or argument (nearest names offered), a model without patch tokens, or a
            block that it does not have.
    """

    passes_arguments_on = True  # for the check of configs: arguments are timm's, too

    def __init__(self,
                 model_name: str,
                 img_size: Optional[Union[int, Sequence[int]]] = None,
                 out_indices: Union[int, Sequence[int]] = -1,
                 pretrained: bool = False,
                 init_cfg: Optional[dict] = None,
                 **kwargs: Any) -> None:
        super().__init__(init_cfg)
        try:
            import timm
        except ImportError as error:
            raise ImportError('TimmBackbone needs timm: pip install "sapiens2[timm]"') from error
        if model_name.split('.')[0] not in timm.list_models():
            raise UnknownNameError(unknown_name(model_name, timm.list_models(), 'timm model'))
        own = set(kwargs)
        if img_size is not None:
            kwargs['img_size'] = img_size if isinstance(img_size, int) else tuple(img_size)
        try:
            self.model = timm.create_model(
                model_name, pretrained=pretrained, num_classes=0, dynamic_img_size=True, **kwargs)
        except TypeError as error:
            refused = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if refused and refused[1] in own:
                known = inspect.signature(timm.models.VisionTransformer).parameters
                raise UnknownNameError(unknown_name(refused[1], known, f'argument of {model_name}')) from error
            # Convolutional and windowed models take images of one size.
            raise ValueError(f'{model_name} cannot be used: it is no vision transformer of timm that takes images of '
                             f'any size, or an argument is wrong ({error})') from error
        self.arch_name, self.embed_dims, self.num_layers = model_name, self.model.embed_dim, len(self.model.blocks)
        patch = self.model.patch_embed.patch_size
        self.patch_size = patch if isinstance(patch, int) else patch[0]
        self.img_size = tuple(self.model.patch_embed.img_size)
        self.out_indices = resolve_out_indices(out_indices, self.num_layers, model_name)

    def init_weights(self) -> None:
        """What ``init_cfg`` asks for. All else has its values, random or pretrained, since timm made the model."""
        if self.init_cfg:
            initialize(self, self.init_cfg)

    def get_layer_depth(self, param_name: str, prefix: str = '') -> tuple[int, int]:
        """Depth of a parameter and number of depths, see ``VisionTransformer.get_layer_depth``."""
        depths = self.num_layers + 2
        if not param_name.startswith(prefix):
            return depths - 1, depths
        first, _, rest = param_name[len(prefix) + len('model.'):].partition('.')
        if first == 'blocks':
            return int(rest.split('.')[0]) + 1, depths
        return (depths - 1 if first.startswith(('norm', 'fc_norm')) else 0), depths

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """(B, 3, H, W) -> feature maps (B, C, h, w); timm's final norm acts on all of them."""
        check_image_size(*x.shape[-2:], self.patch_size)
        return tuple(self.model.forward_intermediates(
            x, indices=list(self.out_indices), norm=True, output_fmt='NCHW', intermediates_only=True))
