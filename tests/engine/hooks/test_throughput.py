"""Figures of speed: what is counted, and over what."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from small_recipes import small_recipe
from tiny_data import write_data

from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.hooks import ThroughputHook, throughput
from sapiens2.engine.hooks.throughput import _ModelFlops
from sapiens2.models.checkpoints import parameters_on_meta
from sapiens2.registry import MODELS
from sapiens2.utils.flops import count_flops


@pytest.mark.parametrize('with_cp', [False, True])
def test_figures_of_a_run(tmp_path: Path, with_cp: bool) -> None:
    cfg = small_recipe('pose', write_data('pose', tmp_path / 'data'), tmp_path / 'run', train_cfg__max_iters=2,
                       optim_wrapper__accumulative_counts=2, model__backbone__with_cp=with_cp)
    cfg.custom_hooks = [dict(type='ThroughputHook', peak_tflops=0.5)]
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    hook = next(hook for hook in runner.hooks if isinstance(hook, ThroughputHook))
    with parameters_on_meta():
        model = MODELS.build(cfg.model)
    # Images, multiply and add, forward and backward.
    expected = 2 * 2 * 3 * count_flops(model.to('meta'), (64, 48)).total
    assert hook._flops == pytest.approx(expected, rel=0.05)
    assert hook._tokens == 2 * 2 * (1 + 8 + 4 * 3)  # batches, images, tokens
    log, = Path(cfg.work_dir).glob('*/vis_data/scalars.json')
    row = json.loads(log.read_text(encoding='utf-8').splitlines()[1])
    assert row['tokens_per_s'] / row['images_per_s'] == pytest.approx(21, rel=1e-6)
    assert 0 <= row['data_wait'] <= 1 and row['peak_memory_gb'] > 0.01
    assert row['mfu'] == pytest.approx(hook._flops * 2 / 0.5e12 * row['images_per_s'] / 4, rel=0.5)


def test_a_peak_is_positive() -> None:
    with pytest.raises(ValueError, match='peak_tflops of ThroughputHook must be above 0'):
        ThroughputHook(peak_tflops=0)


def test_attention_is_counted_on_every_device() -> None:
    shape = (2, 3, 50, 8)
    query, key, value = (torch.randn(shape, requires_grad=True) for _ in range(3))
    with _ModelFlops() as counted:
        torch.nn.functional.scaled_dot_product_attention(query, key, value)
    # Two products, multiply and add, forward and backward.
    assert counted.total == 2 * 2 * 3 * math.prod(shape) * 50


@pytest.mark.parametrize('platform, unit', [('linux', 1024), ('darwin', 1)])
def test_peak_memory_is_in_bytes(monkeypatch: pytest.MonkeyPatch, platform: str, unit: int) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    monkeypatch.setattr(throughput.sys, 'platform', platform)
    usage = SimpleNamespace(getrusage=lambda who: SimpleNamespace(ru_maxrss=5000), RUSAGE_SELF=0)
    monkeypatch.setattr(throughput, 'resource', usage)
    assert throughput._peak_memory() == 5000 * unit
    monkeypatch.setattr(throughput, 'resource', None)  # Windows
    assert throughput._peak_memory() is None
