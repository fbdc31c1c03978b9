"""Two processes on CPUs train and measure as one does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import CONFIG, ROOT, launch
from tiny_data import write_data

def json_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()]


def train(work_dir: Path, data: list[str], processes: int) -> None:
    """Two updates of four samples, shared by the processes."""
    launch(CONFIG, work_dir, [
        *data, 'val_dataloader.num_workers=0', f'train_dataloader.batch_size={2 // processes}',
        'optim_wrapper.accumulative_counts=2', 'param_scheduler.0.start_factor=1.0',
        # Biases before an instance norm have no gradient but rounding errors, which a small eps would blow up.
        'optim_wrapper.optimizer.eps=0.01', 'optim_wrapper.optimizer.lr=0.1'], 0 if processes == 1 else processes)


@pytest.mark.dist
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    """A picture that cannot be read included: another sample is drawn for it, the same in any number of processes."""
    data = write_data('pose', tmp_path / 'data')
    picture = tmp_path / 'data' / '2.png'
    picture.write_bytes(picture.read_bytes()[:1000])
    # Validation is to be of whole pictures: it stops at an unreadable one.
    data += ['val_dataloader.dataset.data_root=' + write_data('pose', tmp_path / 'val')[0].split('=')[1]]
    states, rows, lists = [], [], []
    for processes in (1, 2):
        work_dir = tmp_path / str(processes)
        train(work_dir, data, processes)
        states.append(torch.load(work_dir / 'iter_2.pth', weights_only=True))
        log, = work_dir.glob('*/vis_data/scalars.json')
        rows.append(json_lines(log))
        lists.append(json_lines(work_dir / 'unreadable_images.jsonl'))
    one, two = states
    assert one['meta']['samples'] == two['meta']['samples'] == 8
    for name, value in one['state_dict'].items():
        torch.testing.assert_close(two['state_dict'][name], value, rtol=1e-4, atol=1e-6, msg=name)
    before = torch.load(tmp_path / '1' / 'iter_1.pth', weights_only=True)['state_dict']
    name = 'backbone.blocks.0.ffn.w3.weight'
    assert (before[name] - one['state_dict'][name]).abs().max() > 1e-4
    assert rows[0][-1]['pose/AP'] == pytest.approx(rows[1][-1]['pose/AP'], abs=1e-6)
    assert [row['lr'] for row in rows[0][:2]] == [row['lr'] for row in rows[1][:2]]
    assert lists[0] == lists[1] and [entry['path'] for entry in lists[0]] == [str(picture)]


@pytest.mark.dist
def test_parts_that_are_not_trained_hold_nobody_up(tmp_path: Path) -> None:
    """No loss looks at the scale branch of the head, and the backbone is frozen."""
    data = write_data('pointmap', tmp_path / 'data')
    launch(ROOT / 'configs/pointmap/sapiens2-tiny_pointmap_folder-256x192.py', tmp_path / 'run', [
        *data, 'val_dataloader.num_workers=0', 'train_dataloader.batch_size=1',
        "model.decode_head.loss_decode=[{'type': 'L1Loss'}]",
        "fine_tuning={'type': 'FrozenBackbone'}"])
    state = torch.load(tmp_path / 'run' / 'iter_2.pth', weights_only=True)
    trained = len(state['optimizer']['state'])
    heads = [name for name in state['state_dict'] if name.startswith('decode_head.')]
    assert trained == sum('.scale_' not in name for name in heads)
