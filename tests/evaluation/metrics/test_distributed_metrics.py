"""Two processes give the figures of one, although the sampler repeats a sample to give both as many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from mmengine.dataset import DefaultSampler

from sapiens2.evaluation.metrics import NormalMetric, SegMetric

COUNT, WORLD = 5, 2


def sample(number: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(number)
    maps = [{'normal': torch.randn(3, 6 + number, 5, generator=generator),
             'sem_seg': torch.randint(0, 3, (6 + number, 5), generator=generator)} for _ in range(2)]
    return {'sample_id': f'photo {number}', 'pred_fields': maps[0],
            'eval_fields': {**maps[1], 'mask': torch.ones(1, 6 + number, 5, dtype=torch.bool)}}


def metrics() -> list[Any]:
    return [NormalMetric(), SegMetric(classes=('background', 'hair', 'skin'))]


def figures(indices: list[int]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for metric in metrics():
        metric.process(None, [sample(index) for index in indices])
        scores |= metric.evaluate(COUNT)
    return scores


def run_rank(rank: int, folder: str) -> None:
    dist.init_process_group('gloo', init_method=f'file://{folder}/store', rank=rank, world_size=WORLD)
    try:
        indices = list(DefaultSampler(range(COUNT), shuffle=False))
        torch.save((indices, figures(indices)), Path(folder, f'{rank}.pt'))
    finally:
        dist.destroy_process_group()


@pytest.mark.dist
def test_two_processes_equal_one(tmp_path: Path) -> None:
    mp.spawn(run_rank, (str(tmp_path),), nprocs=WORLD)
    parts = [torch.load(tmp_path / f'{rank}.pt') for rank in range(WORLD)]
    assert sum(len(indices) for indices, _ in parts) == COUNT + 1, 'the sampler must pad here'
    whole = figures(list(range(COUNT)))
    for _, scores in parts:
        assert scores == pytest.approx(whole, rel=1e-12)
