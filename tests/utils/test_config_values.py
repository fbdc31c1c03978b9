"""Values that cannot work are found before a run starts."""

from __future__ import annotations

from typing import Any

import pytest

from sapiens2.utils.config_values import value_faults

GOOD = dict(
    train_cfg=dict(max_iters=10, val_interval=5), train_dataloader=dict(batch_size=1, num_workers=0),
    optim_wrapper=dict(optimizer=dict(lr=1e-4, weight_decay=0), clip_grad=None), param_scheduler=[dict(type='PolyLR')])


@pytest.mark.parametrize('entry, value', [
    ('train_cfg.max_iters', 0), ('train_cfg.val_interval', 0), ('train_dataloader.batch_size', 0),
    ('train_dataloader.batch_size', 1.5), ('train_dataloader.num_workers', -1), ('optim_wrapper.optimizer.lr', 'x'),
    ('optim_wrapper.optimizer.lr', float('nan')), ('optim_wrapper.optimizer.lr', -1e-3),
    ('optim_wrapper.accumulative_counts', 0), ('optim_wrapper.optimizer.weight_decay', -1), ('param_scheduler', 'x')])
def test_value_is_named_with_its_entry(entry: str, value: Any) -> None:
    cfg = {key: dict(item) if isinstance(item, dict) else item for key, item in GOOD.items()}
    cfg['optim_wrapper']['optimizer'] = dict(GOOD['optim_wrapper']['optimizer'])
    *parents, key = entry.split('.')
    node = cfg
    for parent in parents:
        node = node[parent]
    node[key] = value
    faults = list(value_faults(cfg))
    assert len(faults) == 1 and faults[0].startswith(f'{entry}: ') and repr(value) in faults[0]


def test_good_values_pass() -> None:
    assert not list(value_faults(GOOD)) and not list(value_faults({}))
