"""Ten iterations equal five and five, to the last bit, for every task and with all that is random switched on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from comparisons import assert_same
from mmengine.config import Config
from small_recipes import small_recipe
from tiny_data import write_data

from sapiens2.engine import Sapiens2Runner

TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')


def make_cfg(task: str, data: list[str], work_dir: Path, **changes: Any) -> Config:
    cfg = small_recipe(
        task, data, work_dir, train_cfg__max_iters=10, train_cfg__val_interval=4, train_dataloader__num_workers=2,
        optim_wrapper__accumulative_counts=2, default_hooks__checkpoint__interval=5, **changes)
    cfg.custom_hooks = [*cfg.custom_hooks, dict(type='EMAHook')]
    return cfg


def run(cfg: Config) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Train; the last checkpoint and the rows of the log."""
    Sapiens2Runner.from_cfg(cfg).train()
    log = max(Path(cfg.work_dir).glob('*/vis_data/scalars.json'), key=lambda file: file.stat().st_mtime_ns)
    state = torch.load(Path(cfg.work_dir, 'iter_10.pth'), weights_only=True)
    return state, [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines()]


@pytest.mark.parametrize('task', TASKS)
def test_ten_iterations_equal_five_and_five(task: str, tmp_path: Path) -> None:
    data = write_data(task, tmp_path / 'data', count=7)  # 7 samples, 4 an iteration: no pass ends with an iteration
    whole, rows = run(make_cfg(task, data, tmp_path / 'whole'))
    first = tmp_path / 'whole' / 'iter_5.pth'
    resumed, rest = run(make_cfg(task, data, tmp_path / 'resumed', resume=True, load_from=str(first)))
    for key in ('state_dict', 'training_weights', 'optimizer', 'param_schedulers'):
        assert_same(whole[key], resumed[key], key)
    assert whole['meta']['samples'] == resumed['meta']['samples'] == 40
    timing = ('time', 'data_time', 'memory')
    assert [{key: value for key, value in row.items() if key not in timing} for row in rows if row['step'] > 5] == [
        {key: value for key, value in row.items() if key not in timing} for row in rest]
    before = torch.load(first, weights_only=True)['training_weights']
    changed = [name for name, value in before.items() if not torch.equal(value, whole['training_weights'][name])]
    assert len(changed) > 0.9 * len(before)
