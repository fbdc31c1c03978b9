"""A batch of the shape that a config's data set gives, without data."""

from __future__ import annotations

from typing import Any

import torch
from mmengine.config import Config
from torch import Tensor, nn

from sapiens2.datasets.pipeline_options import with_options
from sapiens2.models.heads.base_head import BaseHead
from sapiens2.models.pretrainers import Sapiens2Pretrainer
from sapiens2.registry import TRANSFORMS
from sapiens2.structures import DataSample
from sapiens2.utils.config import ConfigError


def make_batch(cfg: Config, model: nn.Module, samples: int) -> dict[str, Any]:
    """What the collate function would give of so many samples: ``inputs`` and ``data_samples``.

    Raises:
        ConfigError: for a model or pipeline of which the inputs are not known.
    """
    data_samples = [DataSample() for _ in range(samples)]
    if isinstance(model, Sapiens2Pretrainer):
        return dict(inputs=_crops(cfg, samples), data_samples=data_samples)
    head = getattr(model, 'decode_head', None)
    if not isinstance(head, BaseHead):
        raise ConfigError('model: a plan knows what an estimator with a decode_head of this package is trained on, and '
                          f'what Sapiens2Pretrainer is, but not {type(model).__name__}')
    head.stack = _stack
    size = model.backbone.img_size
    return dict(inputs=torch.zeros(samples, 3, *size, dtype=torch.uint8), data_samples=data_samples)


def _stack(data_samples: list[DataSample], field: str, shape: tuple[int, ...], like: Tensor,
           dtype: torch.dtype = torch.float32) -> Tensor:
    """In place of ``BaseHead.stack``: targets of the right shape, all one.

    Those of the samples are made at once, before they are stacked: so the operations of a step are the same whatever
    the batch is.
    """
    return torch.ones((len(data_samples), *shape), dtype=dtype, device=like.device).clone()


def _crops(cfg: Config, samples: int) -> dict[str, Tensor]:
    """Crops, and the places of visible tokens, as the steps of the training pipeline make them."""
    data = cfg.get('train_dataloader', {}).get('dataset', {})
    steps = {step['type']: step for step in with_options(data.get('pipeline', ()), data.get('pipeline_options', {}))}
    if 'MultiCrop' not in steps:
        raise ConfigError('train_dataloader.dataset.pipeline has no MultiCrop: the crops of pretraining are not known')
    kinds = TRANSFORMS.build(steps['MultiCrop']).kinds
    inputs = {name: torch.zeros(samples, crops.number, 3, *crops.size, dtype=torch.uint8)
              for name, crops in kinds.items() if crops.number}
    mask = TRANSFORMS.build(steps['RandomTokenMask']) if 'RandomTokenMask' in steps else None
    if mask is not None and mask.ratio:
        crops = kinds['global_crops']
        tokens = crops.size[0] // mask.token_size * (crops.size[1] // mask.token_size)
        places = torch.arange(tokens - round(tokens * mask.ratio))
        inputs['visible'] = places.expand(samples, crops.number, -1).contiguous()
    return inputs
