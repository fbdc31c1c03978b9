from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from sapiens2.models.checkpoints import CheckpointError, build_model
from sapiens2.models.checkpoints.convert import convert
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.models.checkpoints.write import write_safetensors
from sapiens2.registry import MODELS

BACKBONE = dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48))
HEADS: dict[str, dict[str, Any]] = {
    'pose': dict(type='PoseHeatmapHead', out_channels=308, deconv_out_channels=[8, 8], deconv_kernel_sizes=[4, 4],
                 conv_out_channels=[8, 8], conv_kernel_sizes=[1, 1]),
    'seg': dict(type='SegHead', num_classes=29, deconv_out_channels=[8] * 4, deconv_kernel_sizes=[4] * 4,
                conv_out_channels=[8, 8], conv_kernel_sizes=[1, 1]),
    'albedo': dict(type='AlbedoHead', upsample_channels=[8] * 4, conv_out_channels=[4], conv_kernel_sizes=[3]),
}


def checkpoint(path: Path, task: Optional[str] = None, **backbone: Any) -> dict[str, Tensor]:
    """Write an MMEngine checkpoint of a tiny random model; return its state dict."""
    config = {**BACKBONE, **backbone}
    if task:
        estimator = 'TopdownPoseEstimator' if task == 'pose' else 'DenseEstimator'
        config = dict(type=estimator, backbone=config, decode_head=HEADS[task])
    state = build_model(config, device='cpu').state_dict()
    torch.save({'state_dict': state, 'meta': {'epoch': 1}}, path)
    return state


@pytest.mark.parametrize('task', [None, 'pose', 'seg', 'albedo'])
def test_to_released_keeps_every_tensor(tmp_path: Path, task: Optional[str]) -> None:
    state = checkpoint(tmp_path / 'epoch_1.pth', task)
    result = convert(tmp_path / 'epoch_1.pth', tmp_path / 'new' / 'out.v1.safetensors', 'released')
    assert result.files == (tmp_path / 'new' / 'out.v1.safetensors',)
    assert result.tensors == len(state) and result.description.task == task
    written = load_file(result.files[0])
    assert written.keys() == state.keys()
    for name, tensor in state.items():
        assert written[name].dtype == tensor.dtype and torch.equal(written[name], tensor), name
    with safe_open(result.files[0], 'pt') as file:
        assert file.metadata() == {'format': 'pt', 'arch': 'sapiens2_nano', 'task': task or 'pretrain'}
    convert(tmp_path / 'epoch_1.pth', result.files[0], 'released', img_size=(64, 48), force=True)
    with safe_open(result.files[0], 'pt') as file:
        assert file.metadata()['img_size'] == '64 48'
    assert sorted(entry.name for entry in (tmp_path / 'new').iterdir()) == ['out.v1.safetensors']


def test_the_periods_stay_bf16_whatever_the_dtype(tmp_path: Path) -> None:
    checkpoint(tmp_path / 'epoch_1.pth')
    for dtype in (torch.float16, torch.float32):
        convert(tmp_path / 'epoch_1.pth', tmp_path / 'out.safetensors', 'released', dtype=dtype, force=True)
        written = load_file(tmp_path / 'out.safetensors')
        assert written.pop('rope_embed.periods').dtype == torch.bfloat16
        assert {tensor.dtype for tensor in written.values()} == {dtype}


def test_periods_that_are_missing_are_added(tmp_path: Path) -> None:
    state = build_model(BACKBONE, device='cpu').state_dict()
    periods = state.pop('rope_embed.periods')
    save_file(state, tmp_path / 'in.safetensors')
    convert(tmp_path / 'in.safetensors', tmp_path / 'out.safetensors', 'released')
    assert torch.equal(load_file(tmp_path / 'out.safetensors')['rope_embed.periods'], periods)


@pytest.mark.parametrize(('task', 'architecture', 'labels'), [
    (None, 'Sapiens2Model', None), ('pose', 'Sapiens2ForPoseEstimation', 'nose'),
    ('seg', 'Sapiens2ForSemanticSegmentation', 'Background')])
def test_config_of_transformers(tmp_path: Path, task: Optional[str], architecture: str, labels: Optional[str]) -> None:
    checkpoint(tmp_path / 'epoch_1.pth', task)
    convert(tmp_path / 'epoch_1.pth', tmp_path / 'out', 'transformers', torch.bfloat16, (64, 48))
    assert sorted(entry.name for entry in (tmp_path / 'out').iterdir()) == ['config.json', 'model.safetensors']
    config = json.loads((tmp_path / 'out' / 'config.json').read_text())
    assert config['architectures'] == [architecture]
    assert (config['hidden_size'], config['intermediate_size'], config['patch_size']) == (64, 128, 16)
    assert (config['num_key_value_heads_per_layer'], config['num_register_tokens']) == ([4] * 4, 8)
    assert (config['dtype'], config['image_size']) == ('bfloat16', [64, 48])
    assert config.get('id2label', {}).get('0') == labels


def test_the_image_size_comes_from_the_training_config(tmp_path: Path) -> None:
    state = checkpoint(tmp_path / 'epoch_1.pth')
    for text in ("model = dict(\n    backbone=dict(\n        img_size=(\n            256,\n            192,\n    )))",
                 "model = {'backbone': {'img_size': [256, 192]}}\n"):
        torch.save({'state_dict': state, 'meta': {'cfg': text}}, tmp_path / 'iter_2.pth')
        convert(tmp_path / 'iter_2.pth', tmp_path / 'm.safetensors', 'released', force=True)
        # And on from there, by way of the metadata.
        convert(tmp_path / 'm.safetensors', tmp_path / 'there', 'transformers', force=True)
        assert json.loads((tmp_path / 'there' / 'config.json').read_text())['image_size'] == [256, 192]


@pytest.mark.parametrize('meta', [
    None, 'text', {}, {'cfg': 5}, {'cfg': 'img_size = ('}, {'cfg': 'a = dict(img_size=1 / 0)'},
    {'cfg': 'a = dict(img_size=(-1, 5))'}, {'cfg': 'a = dict(img_size=64); b = dict(img_size=32)'}])
def test_an_image_size_that_nothing_tells_is_asked_for(tmp_path: Path, meta: Any) -> None:
    torch.save({'state_dict': checkpoint(tmp_path / 'epoch_1.pth'), 'meta': meta}, tmp_path / 'iter_2.pth')
    with pytest.raises(ValueError, match=r'iter_2\.pth does not say which image size.*--img-size H W'):
        convert(tmp_path / 'iter_2.pth', tmp_path / 'out', 'transformers')
    assert not (tmp_path / 'out').exists()


def test_image_size_of_the_source_config_is_kept(tmp_path: Path) -> None:
    checkpoint(tmp_path / 'epoch_1.pth')
    convert(tmp_path / 'epoch_1.pth', tmp_path / 'a', 'transformers', img_size=(512, 384))
    convert(tmp_path / 'a', tmp_path / 'b', 'transformers')
    assert json.loads((tmp_path / 'b' / 'config.json').read_text())['image_size'] == [512, 384]


def test_existing_files_are_kept_unless_forced(tmp_path: Path) -> None:
    checkpoint(tmp_path / 'epoch_1.pth')
    target = tmp_path / 'out.safetensors'
    target.write_text('mine')
    with pytest.raises(FileExistsError, match='out.safetensors exists; --force overwrites it'):
        convert(tmp_path / 'epoch_1.pth', target, 'released')
    assert target.read_text() == 'mine'
    convert(tmp_path / 'epoch_1.pth', target, 'released', force=True)
    # Onto itself: the old file stays mapped while the new one is written.
    before = load_file(target)
    convert(target, target, 'released', force=True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in load_file(target).items())


def test_nothing_is_left_of_a_conversion_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint(tmp_path / 'epoch_1.pth')
    read, calls = StoredTensor.read, []

    def fail(self: StoredTensor, *args: Any) -> Tensor:
        calls.append(self)
        if len(calls) == 5:
            raise OSError('disk full')
        return read(self, *args)

    monkeypatch.setattr(StoredTensor, 'read', fail)
    with pytest.raises(OSError, match='disk full'):
        convert(tmp_path / 'epoch_1.pth', tmp_path / 'new' / 'out.safetensors', 'released')
    assert not list((tmp_path / 'new').iterdir())


@pytest.mark.parametrize(('target', 'to', 'message'), [
    ('out', 'released', 'must end in .safetensors'),
    ('out.safetensors', 'transformers', 'must be a folder'),
    ('out', 'onnx', "unknown format: 'onnx'. Known: released, transformers"),
])
def test_targets_that_do_not_fit_the_format(tmp_path: Path, target: str, to: str, message: str) -> None:
    checkpoint(tmp_path / 'epoch_1.pth')
    with pytest.raises(ValueError, match=message):
        convert(tmp_path / 'epoch_1.pth', tmp_path / target, to)


def test_what_transformers_does_not_have(tmp_path: Path) -> None:
    checkpoint(tmp_path / 'albedo.pth', 'albedo')
    checkpoint(tmp_path / '4k.pth', img_size=(64, 64), use_tokenizer=True)
    for name, what in (('albedo', 'a decoder for albedo'), ('4k', 'with the 4K tokenizer')):
        with pytest.raises(CheckpointError, match=f'transformers has no model for .*{what}'):
            convert(tmp_path / f'{name}.pth', tmp_path / 'out', 'transformers', img_size=(64, 48))
        convert(tmp_path / f'{name}.pth', tmp_path / f'{name}.safetensors', 'released')


def test_what_is_no_sapiens2_model(tmp_path: Path) -> None:
    torch.save(MODELS.build(dict(type='Sapiens', arch='sapiens_nano')).state_dict(), tmp_path / 'v1.pth')
    with pytest.raises(CheckpointError, match='v1.pth holds a Sapiens backbone, sapiens_nano; only Sapiens2'):
        convert(tmp_path / 'v1.pth', tmp_path / 'out.safetensors', 'released')
    state = checkpoint(tmp_path / 'seg.pth', 'seg')
    torch.save({**state, 'teacher_head.weight': torch.ones(1)}, tmp_path / 'more.pth')
    with pytest.raises(CheckpointError, match='holds teacher_head besides'):
        convert(tmp_path / 'more.pth', tmp_path / 'out.safetensors', 'released')


def test_progress_reaches_the_total(tmp_path: Path) -> None:
    checkpoint(tmp_path / 'epoch_1.pth')
    steps: list[tuple[int, int]] = []
    result = convert(tmp_path / 'epoch_1.pth', tmp_path / 'out.safetensors', 'released',
                     progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (result.bytes, result.bytes) and steps == sorted(steps)


def test_written_files_are_read_by_the_safetensors_library(tmp_path: Path) -> None:
    state = {'odd': torch.arange(3, dtype=torch.uint8), 'scalar': torch.tensor(2.5), 'empty': torch.empty(0, 3),
             'turned': torch.arange(6.0).view(2, 3).t(), 'half': torch.ones(5, dtype=torch.bfloat16),
             'wide': torch.arange(3), 'flags': torch.tensor([True, False])}
    write_safetensors(tmp_path / 'all.safetensors', {name: StoredTensor((tensor,)) for name, tensor in state.items()})
    written = load_file(tmp_path / 'all.safetensors')
    assert written.keys() == state.keys()
    assert all(torch.equal(written[name], tensor) and written[name].dtype == tensor.dtype
               for name, tensor in state.items())
