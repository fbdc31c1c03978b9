"""The data preprocessor of pretraining."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from sapiens2.models.data_preprocessors.sapiens_data_preprocessor import SapiensDataPreprocessor
from sapiens2.registry import MODELS

CROPS = ('global_crops', 'local_crops')


@MODELS.register_module()
class PretrainDataPreprocessor(SapiensDataPreprocessor):
    """Crops of each sample to crops of the whole batch, normalised. The arguments are those of the base class."""

    def forward(self, data: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Prepare a batch.

        Args:
            data: of ``collate_crops``: ``inputs`` with ``global_crops`` (B, G, 3, H, W), perhaps ``local_crops``
                (B, L, 3, h, w), grey levels 0 to 255, and ``visible`` (B, G, n); and ``data_samples``.
            training: not used.

        Returns:
            ``inputs`` with the same keys, (G * B, 3, H, W) and (L * B, 3, h, w), float32, and (G * B, n): the first
            crop of all samples, then the second, and so on; and ``data_samples``.

        Raises:
            ValueError: if there are no global crops, or crops have other shapes.
        """
        data = dict(self.cast_data(data))
        inputs = data['inputs']
        if not isinstance(inputs, dict) or CROPS[0] not in inputs:
            raise ValueError("a batch of pretraining holds 'global_crops': use the pipeline and the collate_fn of "
                             'configs/_base_/datasets/pretrain_folder.py')
        data['inputs'] = {name: self._by_crop(name, value) for name, value in inputs.items()}
        data.setdefault('data_samples', None)
        return data

    def _by_crop(self, name: str, value: Tensor) -> Tensor:
        value = value.transpose(0, 1).flatten(0, 1)
        if name not in CROPS:
            return value
        if value.ndim != 4 or value.shape[1] != 3:
            raise ValueError(f'{name} must be (B, crops, 3, H, W), got {tuple(value.shape[1:])} for a crop')
        return self.normalise(value)
