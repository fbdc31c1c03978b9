"""What all decoders share: the features they take, their losses, and how targets become a batch."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Optional, Union

import torch
from mmengine.model import BaseModule
from torch import Tensor, nn

from sapiens2.registry import MODELS, build_from
from sapiens2.structures import DataSample
from sapiens2.structures.names import sample_name
from sapiens2.utils.suggest import UnknownNameError, unknown_name

Config = dict[str, Any]
LossConfig = Union[Config, nn.Module, Sequence[Union[Config, nn.Module]]]

# Truncated normal weights, zero biases; norms stay at one.
INIT_CFG: Config = dict(type='TruncNormal', layer=['Conv2d', 'ConvTranspose2d', 'Linear'], std=0.02, bias=0.0)


class BaseHead(BaseModule, metaclass=ABCMeta):
    """A decoder of the last feature map.

    A head adds its layers, ``forward``, ``target_getters`` and ``predictions``.

    Args:
        in_channels: channels C of the feature map; an estimator fills it in from its backbone.
        loss_decode: one loss or several; none for a head that only predicts. Every loss lists in ``inputs`` what it is
            given by keyword, out of ``names`` and what ``target_getters`` offers.
        init_cfg: initial values, as in MMEngine.
        with_cp: compute large intermediate results again in the backward pass, in chunks, to save memory.
    """

    # Options of ``predictions`` and their defaults; the estimator's ``test_cfg`` sets them.
    test_options: ClassVar[Config] = {}

    def __init__(self,
                 in_channels: int,
                 loss_decode: Optional[LossConfig] = None,
                 init_cfg: Optional[Config] = None,
                 with_cp: bool = False) -> None:
        super().__init__(INIT_CFG if init_cfg is None else init_cfg)
        self.in_channels, self.with_cp = in_channels, with_cp
        if loss_decode is None:
            loss_decode = []
        elif isinstance(loss_decode, (dict, nn.Module)):
            loss_decode = [loss_decode]
        self.loss_decode = nn.ModuleList(build_from(MODELS, loss) for loss in loss_decode)

    @abstractmethod
    def forward(self, feats: Sequence[Tensor]) -> Any:
        """Feature maps (B, C, h, w), of which the last is decoded, to the raw output of the network."""

    @abstractmethod
    def target_getters(self, output: Any, data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        """What losses may ask for besides ``names``, each made only when asked for.

        Args:
            output: what ``forward`` gave.
            data_samples: of the B images.
        """

    def predict(self, feats: Sequence[Tensor], data_samples: Sequence[DataSample], **options: Any) -> list[DataSample]:
        """``predictions`` of feature maps, the last of (B, C, h, w)."""
        return self.predictions(self(feats), data_samples, **options)

    @abstractmethod
    def predictions(self, output: Any, data_samples: Sequence[DataSample], **options: Any) -> list[DataSample]:
        """Fill the samples with predictions in the frame of the source image and return them.

        Args:
            output: what ``forward`` gave.
            data_samples: of the B images.
            options: as named by ``test_options``.
        """

    def loss(self, feats: Sequence[Tensor], data_samples: Sequence[DataSample]) -> dict[str, Tensor]:
        """The weighted losses by name; of several with one name the second is called ``name_2``, and so on.

        They are computed in float32, whatever autocast the caller runs under.

        Raises:
            ValueError: if the head has no loss, or a sample lacks a target or has it in another size.
        """
        if not self.loss_decode:
            raise ValueError(f'{type(self).__name__} has no loss: set loss_decode in its config to train it')
        output = self(feats)
        getters = self.target_getters(output, data_samples)
        getters['names'] = lambda: [sample_name(sample, i) for i, sample in enumerate(data_samples)]
        batch: dict[str, Any] = {}
        losses: dict[str, Tensor] = {}
        with torch.autocast(feats[-1].device.type, enabled=False):
            for loss in self.loss_decode:
                for field in loss.inputs:
                    if field not in batch:
                        if field not in getters:
                            raise UnknownNameError(f'{type(loss).__name__} cannot train {type(self).__name__}: '
                                                   + unknown_name(field, getters, 'loss input'))
                        batch[field] = getters[field]()
                losses[_unused(loss.loss_name, losses)] = loss(**{field: batch[field] for field in loss.inputs})
        return losses

    def features(self, feats: Sequence[Tensor]) -> Tensor:
        """The feature map that is decoded, (B, C, h, w): the last one.

        Raises:
            ValueError: if it is no map of ``in_channels`` channels.
        """
        x = feats[-1]
        if x.ndim != 4 or x.shape[1] != self.in_channels:
            raise ValueError(f'{type(self).__name__} takes features (B, {self.in_channels}, h, w), got '
                             f'{tuple(x.shape)}: set in_channels to the width of the backbone and its out_type to '
                             f"'featmap'")
        return x

    def stack(self,
              data_samples: Sequence[DataSample],
              field: str,
              shape: tuple[int, ...],
              like: Tensor,
              dtype: torch.dtype = torch.float32) -> Tensor:
        """``gt_fields.<field>`` of all samples, (B, *shape), on the device of ``like``.

        Raises:
            ValueError: naming the sample, if one lacks the field or has another shape.
        """
        values = []
        for i, sample in enumerate(data_samples):
            value = sample.gt_fields.get(field) if 'gt_fields' in sample else None
            if value is None:
                raise ValueError(f'{sample_name(sample, i)}: gt_fields has no {field!r}, which {type(self).__name__} '
                                 f'trains on: load it in the data set and pack it with the image')
            if tuple(value.shape) != shape:
                raise ValueError(f'{sample_name(sample, i)}: gt_fields.{field} has shape {tuple(value.shape)}, '
                                 f'{type(self).__name__} gives {shape}: make the target at the size of its output')
            values.append(value.to(like.device, dtype))
        return torch.stack(values)


def stack_meta(data_samples: Sequence[DataSample], key: str, like: Tensor) -> Tensor:
    """The pairs ``metainfo[key]`` of all samples, (B, 2), with the device and dtype of ``like``.

    Raises:
        ValueError: naming the sample that lacks the key.
    """
    for i, sample in enumerate(data_samples):
        if key not in sample:
            raise ValueError(f'{sample_name(sample, i)}: metainfo has no {key!r}, which leads back to the source '
                             f'image: cut the person out with TopdownAffine, or set {key!r} in the sample')
    return torch.stack([torch.as_tensor(sample.get(key), dtype=like.dtype).reshape(2) for sample in data_samples]).to(
        like.device)


def _unused(name: str, taken: dict[str, Tensor]) -> str:
    """``name``, or ``name_2``, ``name_3``... if that is taken."""
    key, count = name, 1
    while key in taken:
        count += 1
        key = f'{name}_{count}'
    return key
