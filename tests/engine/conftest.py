"""A training run small enough to repeat in milliseconds: a linear model with dropout on 10 fixed samples."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest
import torch
from mmengine.config import Config
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from torch import Tensor, nn
from torch.utils.data import Dataset

from sapiens2.registry import DATASETS, METRICS, MODELS
from sapiens2.structures import DataSample

SAMPLES = 10
_RUNS = itertools.count()


@DATASETS.register_module(force=True)
class ToyDataset(Dataset):
    """Ten inputs of 4 numbers; keeps a record of what was read. ``bad`` is the index of a sample with a NaN."""

    metainfo = dict(dataset_name='toy', classes=('a', 'b'))

    def __init__(self, bad: Optional[int] = None) -> None:
        self.inputs = torch.randn(SAMPLES, 4, generator=torch.Generator().manual_seed(0))
        if bad is not None:
            self.inputs[bad] = torch.nan
        self.read: list[int] = []

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, draw: Any) -> dict[str, Any]:
        index = draw if isinstance(draw, int) else draw.index
        self.read.append(index)
        return dict(inputs=self.inputs[index], data_samples=DataSample(metainfo=dict(sample_id=f'toy-{index}')))


@MODELS.register_module(force=True)
class ToyModel(BaseModel):
    """Learns the sum of its inputs; records the learning rate that each forward pass meets in ``seen``."""

    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        self.layer, self.dropout = nn.Linear(4, 1), nn.Dropout(dropout)
        self.dtypes: list[torch.dtype] = []

    def forward(self, inputs: list[Tensor], data_samples: list[DataSample], mode: str = 'tensor') -> Any:
        batch = torch.stack(inputs)
        out = self.layer(self.dropout(batch))
        self.dtypes.append(out.dtype)
        if mode == 'loss':
            return dict(loss_toy=(out.float() - batch.sum(1, keepdim=True)).square().mean())
        for sample in data_samples:
            sample.set_metainfo(dict(weight=float(self.layer.weight[0, 0])))
        return data_samples


@METRICS.register_module(force=True)
class ToyMetric(BaseMetric):
    """Counts the samples."""

    def process(self, data_batch: Any, data_samples: Any) -> None:
        self.results += list(data_samples)

    def compute_metrics(self, results: list) -> dict[str, float]:
        return dict(count=float(len(results)))


@pytest.fixture
def toy_cfg(tmp_path: Path) -> Callable[..., Config]:
    """A function that makes the config of a toy run; keyword arguments replace entries ('a.b' written 'a__b')."""

    def make(name: str = 'run', **changes: Any) -> Config:
        loader = dict(batch_size=2, num_workers=0, dataset=dict(type='ToyDataset'))
        cfg = Config(dict(
            default_scope='sapiens2', work_dir=str(tmp_path / name), model=dict(type='ToyModel'),
            train_dataloader=dict(loader, sampler=dict(type='ResumableInfiniteSampler', shuffle=True)),
            val_dataloader=dict(loader, sampler=dict(type='DefaultSampler', shuffle=False)),
            val_evaluator=dict(type='ToyMetric'), val_cfg=dict(),
            train_cfg=dict(type='UpdateTrainLoop', max_iters=6, val_interval=100),
            optim_wrapper=dict(type='OptimWrapper', optimizer=dict(type='AdamW', lr=0.1, weight_decay=0.1),
                               clip_grad=dict(max_norm=1.0)),
            param_scheduler=[dict(type='LinearLR', start_factor=0.1, begin=0, end=2, by_epoch=False),
                             dict(type='PolyLR', eta_min=0.0, begin=2, by_epoch=False)],
            default_hooks=dict(checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=100)),
            custom_hooks=[dict(type='FiniteLossHook')], log_processor=dict(by_epoch=False),
            randomness=dict(seed=3), log_level='WARNING', experiment_name=f'{name}-{next(_RUNS)}'))
        cfg.merge_from_dict({key.replace('__', '.'): value for key, value in changes.items()})
        return cfg

    return make
