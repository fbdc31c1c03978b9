"""The data preprocessor of all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mmengine.model import ImgDataPreprocessor
from torch import Tensor

from sapiens2.registry import MODELS
from sapiens2.structures.names import sample_name

# Per channel, R, G, B, of grey levels 0 to 255.
MEAN = (123.675, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)


@MODELS.register_module()
class SapiensDataPreprocessor(ImgDataPreprocessor):
    """Move a batch to the device, turn BGR into RGB, subtract the mean and divide by the standard deviation.

    Unlike its base class it never pads: images of different sizes in one batch are an error, since a prediction could
    not be cut out of padding that no sample knows of.

    Args:
        mean: of R, G, B, grey levels.
        std: of R, G, B, grey levels.
        bgr_to_rgb: whether images come as BGR.
        non_blocking: whether copies to the device may overlap with computation.
    """

    def __init__(self,
                 mean: Sequence[float] = MEAN,
                 std: Sequence[float] = STD,
                 bgr_to_rgb: bool = True,
                 non_blocking: bool = False) -> None:
        super().__init__(bgr_to_rgb=bgr_to_rgb, non_blocking=non_blocking)
        if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
            raise ValueError(f'mean and std must hold three values, those of std positive, got {mean} and {std}')
        self._values = {'mean': tuple(mean), 'std': tuple(std)}
        for name in self._values:
            self.register_buffer(name, torch.empty(3, 1, 1, device='cpu'), persistent=False)
        self._fill()

    def _fill(self) -> None:
        for name, values in self._values.items():
            device = getattr(self, name).device
            setattr(self, name, torch.tensor(values, dtype=torch.float32, device=device).view(3, 1, 1))

    def _apply(self, fn, recurse: bool = True):  # noqa: ANN001, ANN202 - signature of nn.Module
        """Move to a device, in float32 whatever the model's dtype.

        No checkpoint holds these values, so they are written anew: a model that was built on the meta device has none.
        """
        super()._apply(fn, recurse)
        self._fill()
        self._device = self.mean.device
        return self

    def forward(self, data: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Prepare a batch.

        Args:
            data: ``inputs``, a list of (3, H, W) images or one (B, 3, H, W) tensor, grey levels 0 to 255; and
                ``data_samples``, optional.
            training: not used; the network sees the same in training and test.

        Returns:
            The same keys: ``inputs`` (B, 3, H, W), float32, and ``data_samples`` (None if there were none).

        Raises:
            ValueError: if an image is not (3, H, W) or sizes differ.
        """
        data = dict(self.cast_data(data))
        data.setdefault('data_samples', None)
        data['inputs'] = self.normalise(self._batch(data['inputs'], data['data_samples']))
        return data

    def normalise(self, images: Tensor) -> Tensor:
        """Images (B, 3, H, W) as read, grey levels 0 to 255, to what the network sees, float32."""
        if self._channel_conversion:
            images = images.flip(1)
        return (images.float() - self.mean) / self.std

    def denormalise(self, images: Tensor) -> Tensor:
        """Images (B, 3, H, W) that the network sees, as read: uint8, in the order of channels that they had."""
        levels = (images.float() * self.std + self.mean).round().clamp(0, 255).to(torch.uint8)
        return levels.flip(1) if self._channel_conversion else levels

    @staticmethod
    def _batch(inputs: Tensor | Sequence[Tensor], data_samples: Sequence[Any] | None) -> Tensor:
        def name(index: int) -> str:
            return sample_name(data_samples[index] if data_samples else None, index)

        for i, image in enumerate(inputs):
            if image.ndim != 3 or image.shape[0] != 3:
                raise ValueError(f'{name(i)}: an image must be (3, H, W), got {tuple(image.shape)}')
            if image.shape != inputs[0].shape:
                raise ValueError(f'images of one batch must have one size (H, W): {name(0)} has '
                                 f'{tuple(inputs[0].shape[1:])}, {name(i)} has {tuple(image.shape[1:])}; resize all in '
                                 f'the pipeline, or use a batch size of 1')
        return inputs if isinstance(inputs, Tensor) else torch.stack(tuple(inputs))
