"""What both estimators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Optional, Union

from mmengine.model import BaseModel
from torch import Tensor, nn

from sapiens2.registry import MODELS, build_from
from sapiens2.structures import DataSample
from sapiens2.utils.suggest import UnknownNameError, check_names, unknown_name

Config = dict[str, Any]
MODES = ('tensor', 'loss', 'predict')


class BaseEstimator(BaseModel):
    """A backbone and one head on its last feature map.

    Args:
        backbone: gives a tuple of feature maps (B, C, h, w) and knows C as ``embed_dims``.
        decode_head: its ``in_channels`` may be left out.
        data_preprocessor: default: ``SapiensDataPreprocessor``.
        test_cfg: options of prediction; which there are, ``known_options`` says.
        init_cfg: initial values, as in MMEngine.

    Raises:
        ValueError: if ``in_channels`` is given and is not the width of the backbone, or an option is unknown.
    """

    # Options of ``test_cfg`` that the estimator itself carries out, and their defaults.
    estimator_options: ClassVar[Config] = {}

    def __init__(self,
                 backbone: Union[Config, nn.Module],
                 decode_head: Union[Config, nn.Module],
                 data_preprocessor: Union[Config, nn.Module, None] = None,
                 test_cfg: Optional[Config] = None,
                 init_cfg: Optional[Config] = None) -> None:
        super().__init__(
            build_from(MODELS, data_preprocessor or {}, type='SapiensDataPreprocessor'), init_cfg)
        self.backbone = build_from(MODELS, backbone)
        width = self.backbone.embed_dims
        self.decode_head = build_from(MODELS, decode_head, in_channels=width)
        if self.decode_head.in_channels != width:
            raise ValueError(f'decode_head has in_channels={self.decode_head.in_channels}, but the backbone gives '
                             f'{width} channels: leave in_channels out, or choose the backbone it belongs to')
        known = self.known_options()
        check_names(test_cfg or (), known, 'test_cfg')
        self.test_cfg: Config = {**known, **(test_cfg or {})}

    def known_options(self) -> Config:
        """Options of ``test_cfg`` and their defaults: the estimator's and its head's."""
        return {**self.estimator_options, **self.decode_head.test_options}

    def forward(self,
                inputs: Tensor,
                data_samples: Optional[Sequence[DataSample]] = None,
                mode: str = 'tensor') -> Any:
        """Run the network.

        Args:
            inputs: (B, 3, H, W), normalised.
            data_samples: of the images; not needed for 'tensor'.
            mode: 'tensor' gives the head's raw output, 'loss' losses by name, 'predict' the samples with predictions
                in the frame of the source image.

        Raises:
            ValueError: for another mode, or if samples are needed and missing.
        """
        if mode not in MODES:
            raise UnknownNameError(unknown_name(mode, MODES, 'mode'))
        if mode == 'tensor':
            return self.decode_head(self.extract_feat(inputs))
        if data_samples is None or len(data_samples) != len(inputs):
            raise ValueError(f'mode {mode!r} needs a data sample for each of the {len(inputs)} images')
        if mode == 'loss':
            return self.decode_head.loss(self.extract_feat(inputs), data_samples)
        return self.decode_head.predictions(self.outputs(inputs), data_samples, **self.head_options())

    def extract_feat(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Images (B, 3, H, W) to feature maps (B, C, h, w); images take on the dtype of a model cast as a whole."""
        return self.backbone(inputs.to(next(self.backbone.parameters()).dtype))

    def head_options(self) -> Config:
        """Options of ``test_cfg`` that are the head's."""
        return {name: self.test_cfg[name] for name in self.decode_head.test_options}

    def outputs(self, inputs: Tensor) -> Any:
        """What predictions are made of, for images (B, 3, H, W): the head's raw output."""
        return self.decode_head(self.extract_feat(inputs))
