"""Training of a part of a model: what changes, what is saved, and that everything else reads it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import Config
from small_recipes import small_recipe
from tiny_data import write_data

from sapiens2.engine import Sapiens2Runner
from sapiens2.models.checkpoints import CheckpointError, build_model
from sapiens2.utils.config import ConfigError, check_config

LORA = dict(type='LoRA', rank=2)


@pytest.fixture(scope='module')
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_data('seg', tmp_path_factory.mktemp('fine') / 'data')[0].removeprefix('data_root=')


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Weights of another model of the same shape, to start from."""
    torch.manual_seed(5)
    model = build_model(make_cfg('', tmp_path).model, device='cpu')
    for parameter in model.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    torch.save(model.state_dict(), tmp_path / 'base.pth')
    return tmp_path / 'base.pth'


def make_cfg(data: str, work_dir: Path, **changes: Any) -> Config:
    return small_recipe('seg', [f'data_root={data}'], work_dir, train_cfg__max_iters=4,
                        default_hooks__checkpoint__interval=2, **changes)


def train(cfg: Config) -> tuple[Sapiens2Runner, dict[str, Any]]:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner, torch.load(Path(cfg.work_dir, 'iter_4.pth'), weights_only=True)


def test_frozen_backbone_trains_the_decoder_alone(data: str, base: Path, tmp_path: Path) -> None:
    runner, state = train(make_cfg(data, tmp_path / 'run', fine_tuning=dict(type='FrozenBackbone'),
                                   load_from=str(base)))
    before = torch.load(base, weights_only=True)
    changed = {name for name, value in state['state_dict'].items() if not torch.equal(value, before[name])}
    assert changed and all(name.startswith('decode_head.') for name in changed)
    assert all(parameter.grad is None for parameter in runner.bare_model.backbone.parameters())
    assert len(state['optimizer']['state']) == sum(1 for _ in runner.bare_model.decode_head.parameters())


class TestLoRA:
    """Adapters."""

    @pytest.fixture(autouse=True)
    def needs_peft(self) -> None:
        pytest.importorskip('peft')

    def test_adapters_and_decoder_are_trained(self, data: str, base: Path, tmp_path: Path) -> None:
        runner, state = train(make_cfg(data, tmp_path / 'run', fine_tuning=LORA, load_from=str(base)))
        trained = runner.trained_parameters()
        assert all('.lora_' in name or name.startswith('decode_head.') for name in trained)
        assert sum('.lora_' in name for name in trained) == 4 * 6 * 2  # 4 blocks of 6 linear layers, A and B
        assert state['training_weights'].keys() == {name for name in trained if '.lora_' in name}
        before = torch.load(base, weights_only=True)
        assert state['state_dict'].keys() == before.keys()
        for name, parameter in runner.bare_model.backbone.named_parameters():
            if '.lora_' not in name:
                assert torch.equal(parameter, before[f'backbone.{name.replace(".base_layer", "")}']), name
        merged = [name for name, value in state['state_dict'].items()
                  if name.startswith('backbone.') and not torch.equal(value, before[name])]
        assert len(merged) == 4 * 6 and all(name.endswith('.weight') for name in merged)

    @pytest.mark.parametrize('hooks', [[], [dict(type='EMAHook', momentum=0.5)]])
    def test_plain_model_with_saved_weights_gives_the_same(self, data: str, base: Path, tmp_path: Path,
                                                           hooks: list[dict]) -> None:
        runner, _ = train(make_cfg(data, tmp_path / 'run', fine_tuning=LORA, load_from=str(base), custom_hooks=hooks))
        tested = Sapiens2Runner.from_cfg(make_cfg(data, tmp_path / 'test', fine_tuning=LORA,
                                                  load_from=str(tmp_path / 'run' / 'iter_4.pth')))
        metrics = tested.test()
        for name, value in metrics.items():
            measured = runner.message_hub.get_scalar(f'val/{name}').current()
            assert value == pytest.approx(measured, rel=1e-4, nan_ok=True), name
        if not hooks:
            model = build_model(tested.cfg.model, tmp_path / 'run' / 'iter_4.pth', device='cpu').eval()
            image = torch.randn(1, 3, 64, 48)
            with torch.no_grad():
                torch.testing.assert_close(model(image), runner.bare_model.eval()(image), rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize('hooks', [[], [dict(type='EMAHook')]])
    @pytest.mark.parametrize('from_base', [True, False])
    def test_resume_is_exact(self, data: str, base: Path, tmp_path: Path, hooks: list[dict], from_base: bool) -> None:
        options = dict(fine_tuning=dict(LORA, dropout=0.3), custom_hooks=hooks)
        _, whole = train(make_cfg(data, tmp_path / 'whole', load_from=str(base) if from_base else None, **options))
        _, resumed = train(make_cfg(data, tmp_path / 'resumed', resume=True, **options,
                                    load_from=str(tmp_path / 'whole' / 'iter_2.pth')))
        for key in ('state_dict', 'training_weights', 'averaged_weights'):
            one, two = whole.get(key, {}), resumed.get(key, {})
            assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one), key

    @pytest.mark.parametrize('hooks', [[], [dict(type='EMAHook')]])
    def test_a_checkpoint_adds_each_adapter_in_once(self, data: str, base: Path, tmp_path: Path, hooks: list[dict],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
        runner, _ = train(make_cfg(data, tmp_path / 'run', fine_tuning=LORA, load_from=str(base), custom_hooks=hooks))
        added: list[str] = []
        layer_type = type(runner.bare_model.backbone.blocks[0].attn.wq)
        delta = layer_type.get_delta_weight
        monkeypatch.setattr(layer_type, 'get_delta_weight', lambda *args: added.append(args[1]) or delta(*args))
        runner.save_checkpoint(runner.work_dir, 'again.pth')
        assert len(added) == 4 * 6

    def test_resume_needs_the_weights_below(self, data: str, base: Path, tmp_path: Path) -> None:
        train(make_cfg(data, tmp_path / 'run', fine_tuning=LORA, load_from=str(base)))
        resumed = dict(fine_tuning=LORA, resume=True, load_from=str(tmp_path / 'run' / 'iter_2.pth'))
        moved = base.rename(tmp_path / 'moved.pth')
        with pytest.raises(CheckpointError, match='which are gone.*--cfg-options load_from=PATH'):
            train(make_cfg(data, tmp_path / 'second', **resumed))
        train(make_cfg(data, tmp_path / 'second', started_from=str(moved), **resumed))
        other = torch.load(moved, weights_only=True)
        other['backbone.blocks.0.attn.wq.weight'] += 0.1
        torch.save(other, base)
        with pytest.raises(CheckpointError, match='on top of other weights'):
            train(make_cfg(data, tmp_path / 'third', **resumed))

    @pytest.mark.parametrize('before, now, message', [
        (LORA, None, r"its run has fine_tuning=dict\(type='LoRA', rank=2, .*this config has no fine_tuning"),
        (None, LORA, r"its run has no fine_tuning .*this config has fine_tuning=dict\(type='LoRA', rank=2"),
        (LORA, dict(LORA, rank=4), 'rank=2, .*rank=4'),
        (LORA, dict(type='FrozenBackbone'), "type='LoRA'.*type='FrozenBackbone'"),
    ])
    def test_resume_with_other_parameters_is_one_message(self, data: str, base: Path, tmp_path: Path, before: Any,
                                                         now: Any, message: str) -> None:
        train(make_cfg(data, tmp_path / 'run', fine_tuning=before, load_from=str(base)))
        with pytest.raises(CheckpointError, match=message) as error:
            train(make_cfg(data, tmp_path / 'second', fine_tuning=now, resume=True,
                           load_from=str(tmp_path / 'run' / 'iter_2.pth')))
        assert 'without --resume' in str(error.value) and len(str(error.value).splitlines()) == 1

    def test_dropout_may_change(self, data: str, base: Path, tmp_path: Path) -> None:
        train(make_cfg(data, tmp_path / 'run', fine_tuning=LORA, load_from=str(base)))
        train(make_cfg(data, tmp_path / 'second', fine_tuning=dict(LORA, dropout=0.5), resume=True,
                       load_from=str(tmp_path / 'run' / 'iter_2.pth')))

    def test_unknown_target_is_named(self, data: str, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="fine_tuning.target_modules: unknown linear layer .*'wqq'.*'wq'"):
            train(make_cfg(data, tmp_path / 'run', fine_tuning=dict(LORA, target_modules=['wqq'])))


def test_lack_of_peft_is_one_message(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'peft', None)
    with pytest.raises(ImportError, match=r'needs peft: pip install "sapiens2\[lora\]"'):
        train(make_cfg(data, tmp_path / 'run', fine_tuning=LORA))


def test_resume_of_another_width_is_short(data: str, tmp_path: Path) -> None:
    train(make_cfg(data, tmp_path / 'run'))
    with pytest.raises(CheckpointError, match='other shapes. Resume with the config of that run') as error:
        train(make_cfg(data, tmp_path / 'second', model__backbone__arch='sapiens2_tiny', resume=True,
                       load_from=str(tmp_path / 'run' / 'iter_2.pth')))
    assert len(str(error.value).splitlines()) <= 7


@pytest.mark.parametrize('fine_tuning, message', [
    (dict(type='Lora'), "Did you mean 'LoRA'"),
    (dict(type='LoRA', rnak=2), "Did you mean 'rank'"),
])
def test_wrong_entry_is_found_in_the_config(data: str, tmp_path: Path, fine_tuning: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_config(make_cfg(data, tmp_path, fine_tuning=fine_tuning))
