"""Sharded pretraining, teacher and branches included, equals that in which each process has the whole model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from pretrain_sets import pictures, write_folder
from processes import ROOT, launch

from sapiens2.models.checkpoints.sharded import open_sharded

CONFIG = ROOT / 'configs/pretrain/sapiens2-tiny_pretrain_synth-256x192.py'


@pytest.mark.dist
def test_sharded_pretraining_equals_that_of_whole_models(tmp_path: Path) -> None:
    root = write_folder(tmp_path / 'images', pictures(8))
    crops = dict(global_crops=dict(size=(64, 48)), local_crops=dict(number=2, size=(32, 32)))
    options = [f'train_dataloader.dataset.data_root={root}', 'train_dataloader.batch_size=2',
               f'train_dataloader.dataset.pipeline_options.MultiCrop={crops}',
               'param_scheduler.0.start_factor=1.0', 'optim_wrapper.type=OptimWrapper',
               'optim_wrapper.optimizer.eps=0.001', 'model.contrastive.freeze_prototypes=1', 'model.mae.with_cp=True']
    launch(CONFIG, tmp_path / 'whole', options)
    launch(CONFIG, tmp_path / 'sharded', [*options, f"strategy={dict(type='FSDP2', param_dtype='fp32')}"])
    expected = torch.load(tmp_path / 'whole' / 'iter_2.pth', weights_only=True)['state_dict']
    tensors, _ = open_sharded(tmp_path / 'sharded' / 'iter_2')
    found = {name.removeprefix('state_dict.'): stored.read() for name, stored in tensors.items()
             if name.startswith('state_dict.')}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-5, msg=name)
    before, _ = open_sharded(tmp_path / 'sharded' / 'iter_1')
    for name in ('teacher_backbone', 'backbone'):
        name = f'{name}.blocks.0.ffn.w3.weight'
        assert not torch.equal(before[f'state_dict.{name}'].read(), found[name])
    assert list((tmp_path / 'sharded' / 'vis').glob('*.jpg'))
