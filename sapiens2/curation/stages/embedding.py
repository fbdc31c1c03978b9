"""What a picture shows, as a vector: pictures whose vectors are near show similar things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from mmengine.dataset import Compose

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.evaluation.probes.backbones import FeatureModel, build_backbone, parse_backbone
from sapiens2.registry import CURATION_STAGES, TRANSFORMS

POOLS = ('cls', 'mean')


@CURATION_STAGES.register_module()
class Embedding(Stage):
    """A backbone's class token, or the mean of its patch tokens.

    It is of whole pictures, and for balance: what it says of a person is pose, clothing and surroundings.

    Args:
        backbone: as ``sapiens2 probe`` takes it: a checkpoint, NAME@CHECKPOINT, timm/NAME, or 'pixels', a small copy of
            the picture, which needs nothing and tells little.
        size: (H, W) of its input, pixels; default: what it is made for.
        pool: 'cls' or 'mean'.
        device, dtype: where and how it computes, as for inference.
        kwargs: of ``Stage``.
    """

    inputs = ('picture',)
    outputs = {'embedding': Column('float32', 'of the whole picture', length=-1)}

    def __init__(self, backbone: str = 'pixels', size: Optional[Sequence[int]] = None, pool: str = 'cls',
                 device: str = 'cpu', dtype: str = 'auto', batch_size: int = 8, **kwargs: Any) -> None:
        super().__init__(batch_size=batch_size, **kwargs)
        if pool not in POOLS:
            raise ValueError(f'Embedding.pool must be one of {", ".join(POOLS)}, got {pool!r}')
        self.backbone, self.size, self.pool = backbone, None if size is None else tuple(size), pool
        self.device, self.dtype = device, dtype
        self._model: Optional[FeatureModel] = None

    def setup(self) -> None:
        self._model = build_backbone(parse_backbone(self.backbone), self.size, self.device, self.dtype)
        self._fit = Compose([TRANSFORMS.build(step) for step in (
            dict(type='Resize', size=self._model.size, keep_ratio=True), dict(type='PackInputs'))])

    def run(self, records: Sequence[Record]) -> None:
        # Transforms change what they are given.
        packed = [self._fit({'img': record['picture'].copy(), 'img_path': record['name'], 'dataset_meta': {}})
                  for record in records]
        vectors = getattr(self._model(torch.stack([one['inputs'] for one in packed])), self.pool).numpy()
        for record, vector in zip(records, vectors):
            record['embedding'] = vector.tolist()
