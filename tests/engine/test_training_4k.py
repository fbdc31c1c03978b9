"""The 4K recipes, shrunk: targets of half the size of the picture, and chunks in training and in test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from small_recipes import small_recipe
from tiny_data import write_data

from sapiens2.engine import Sapiens2Runner
from sapiens2.models.layers import decoder_chunks

TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')


@pytest.mark.parametrize('task', TASKS)
def test_one_step_and_one_test_of_each_4k_recipe(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_chunks, 'CHUNK_VALUES', 2**14)
    monkeypatch.setattr(decoder_chunks, 'MIN_CHANNELS', 4)
    cfg = small_recipe(task, write_data(task, tmp_path / 'data'), tmp_path / 'run', '1b-4k', train_cfg__max_iters=1,
                       model__backbone__tokenizer_chunk_size=5)
    runner = Sapiens2Runner.from_cfg(cfg)
    model = runner.bare_model
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    runner.train()
    assert np.isfinite(runner.message_hub.get_scalar('train/loss').current())
    still = [name for name, value in model.named_parameters()
             if value.requires_grad and torch.equal(value, before[name])]
    assert not still
    batch = model.data_preprocessor(next(iter(runner.train_dataloader)))
    target = batch['data_samples'][0].gt_fields
    assert batch['inputs'].shape[2:] == (256, 192)
    if task == 'pose':
        assert target.heatmaps.shape[1:] == (32, 24)
    else:
        name = 'sem_seg' if task == 'seg' else task
        assert target.get(name).shape[-2:] == (128, 96)
