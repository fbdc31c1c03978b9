"""Optimizers that keep little, from the config to a resumed run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import Config

from sapiens2.engine import Sapiens2Runner
from sapiens2.registry import OPTIMIZERS
from sapiens2.utils.config import check_config

ConfigMaker = Callable[..., Config]
FACTORED = dict(type='TorchAdafactor', lr=0.01, weight_decay=0.1)
BYTES = dict(type='AdamW8bit', lr=0.01, weight_decay=0.1)


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


@pytest.mark.parametrize('optimizer', [FACTORED, BYTES], ids=lambda optimizer: optimizer['type'])
def test_resumed_run_equals_unbroken_run(toy_cfg: ConfigMaker, optimizer: dict[str, Any]) -> None:
    if optimizer is BYTES:
        pytest.importorskip('bitsandbytes')
    options = dict(optim_wrapper__optimizer=dict(optimizer, _delete_=True), default_hooks__checkpoint__interval=4)
    cfg = toy_cfg('whole', **options)
    check_config(cfg)
    whole = train(cfg)
    resumed = train(toy_cfg('second', resume=True, load_from=str(Path(whole.work_dir, 'iter_4.pth')), **options))
    for name, value in whole.bare_model.state_dict().items():
        assert torch.equal(value, resumed.bare_model.state_dict()[name]), name


def test_factored_state_grows_with_rows_and_columns() -> None:
    weight = torch.nn.Parameter(torch.randn(100, 200))
    optimizer = OPTIMIZERS.build(dict(FACTORED, params=[weight]))
    weight.square().sum().backward()
    optimizer.step()
    assert sum(value.numel() for value in optimizer.state[weight].values()) < 310


def test_8_bit_state_is_bytes() -> None:
    pytest.importorskip('bitsandbytes')
    weight = torch.nn.Parameter(torch.randn(100, 200))
    optimizer = OPTIMIZERS.build(dict(BYTES, params=[weight]))
    weight.square().sum().backward()
    optimizer.step()
    assert {optimizer.state[weight][key].dtype for key in ('state1', 'state2')} == {torch.uint8}


def test_lack_of_bitsandbytes_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'bitsandbytes', None)
    monkeypatch.setitem(sys.modules, 'bitsandbytes.optim', None)
    with pytest.raises(ImportError, match=r'pip install "sapiens2\[8bit\]"'):
        OPTIMIZERS.build(dict(BYTES, params=[torch.nn.Parameter(torch.zeros(2))]))
