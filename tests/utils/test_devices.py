"""Choice of device and dtype, and what a Mac's GPU lacks: devices that are not here are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sapiens2.engine.optimizers import autocast
from sapiens2.registry import MODELS, register_all
from sapiens2.utils import devices
from sapiens2.utils.config import load_config
from sapiens2.utils.suggest import UnknownNameError

CONFIGS = Path(__file__).parents[2] / 'configs'


def pretend(monkeypatch: pytest.MonkeyPatch, cuda: bool = False, mps: bool = False) -> None:
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: cuda)
    monkeypatch.setattr(torch.cuda, 'device_count', lambda: 2 * cuda)
    monkeypatch.setattr(torch.backends.mps, 'is_available', lambda: mps)


@pytest.mark.parametrize('cuda, mps, expected', [
    (False, False, 'cpu'), (False, True, 'mps'), (True, False, 'cuda'), (True, True, 'cuda')])
def test_auto_takes_the_first_there_is(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str) -> None:
    pretend(monkeypatch, cuda, mps)
    assert devices.pick_device() == torch.device(expected)


def test_devices_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, mps=True)
    assert devices.pick_device('mps') == torch.device('mps') and devices.pick_device('cpu') == torch.device('cpu')
    with pytest.raises(ValueError, match="'cuda' is not available here: torch .* sees mps, cpu"):
        devices.pick_device('cuda')
    with pytest.raises(UnknownNameError, match='mps'):
        devices.pick_device('msp')
    pretend(monkeypatch, cuda=True)
    assert devices.pick_device('cuda:1') == torch.device('cuda', 1)
    with pytest.raises(ValueError, match="'cuda:2' is not available here: there are 2 CUDA devices"):
        devices.pick_device('cuda:2')
    with pytest.raises(ValueError, match="'mps' is not available here"):
        devices.pick_device('mps')


def test_bf16_only_where_the_device_computes_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, 'is_bf16_supported', lambda: True)
    monkeypatch.setattr(devices, 'cpu_has_bf16', lambda: True)
    chosen = {kind: devices.pick_dtype('auto', torch.device(kind)) for kind in ('cpu', 'cuda', 'mps')}
    assert chosen == {'cpu': torch.bfloat16, 'cuda': torch.bfloat16, 'mps': torch.float32}
    assert devices.pick_dtype('bf16', torch.device('mps')) == torch.bfloat16
    with pytest.raises(UnknownNameError):
        devices.pick_dtype('fp16', torch.device('mps'))


def test_training_on_a_mac_is_under_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autocast, 'get_device', lambda: 'mps')
    monkeypatch.setattr(autocast, 'cpu_has_bf16', lambda: False)
    model = torch.nn.Linear(2, 2)
    wrapper = autocast.BFloat16OptimWrapper(optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    with wrapper.optim_context(model):
        assert torch.is_autocast_enabled('mps') and torch.get_autocast_dtype('mps') == torch.bfloat16
        assert not torch.is_autocast_enabled('cpu')
    assert not torch.is_autocast_enabled('mps')


class NoFloat64(TorchDispatchMode):
    """The meta device has no float64, as MPS has none."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor) and value.is_meta and value.dtype == torch.float64:
                raise TypeError(f'{func} gives float64')
        return result


def test_the_check_below_can_fail() -> None:
    with NoFloat64(), pytest.raises(TypeError, match='float64'):
        torch.zeros(2, device='meta').double()


@pytest.mark.parametrize('task', ['pose', 'seg', 'normal', 'pointmap', 'albedo'])
def test_networks_need_no_float64(task: str) -> None:
    register_all()
    cfg = load_config(str(next((CONFIGS / task).glob('sapiens2-tiny_*.py'))))
    with NoFloat64(), torch.device('meta'):
        model = MODELS.build(cfg.model).eval()
        inputs = torch.zeros(1, 3, *cfg.model.backbone.img_size)
        with torch.no_grad():
            found = tree_leaves(model(inputs, mode='tensor'))
    assert found and all(value.dtype == torch.float32 for value in found)
