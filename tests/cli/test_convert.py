from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from sapiens2.cli.main import main
from sapiens2.registry import MODELS


@pytest.fixture()
def weights(tmp_path: Path) -> Path:
    model = MODELS.build(dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48)))
    torch.save({'state_dict': model.state_dict()}, tmp_path / 'epoch_1.pth')
    return tmp_path / 'epoch_1.pth'


def test_convert_there_and_back(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, back = tmp_path / 'my model', tmp_path / 'back.safetensors'
    assert main(['convert', str(weights), str(folder), '--to', 'transformers', '--img-size', '512', '384']) == 0
    assert 'a Sapiens2 backbone, sapiens2_nano' in capsys.readouterr().out
    assert main(['convert', str(folder), str(back), '--to', 'released', '--dtype', 'bf16']) == 0
    assert f'{folder} (transformers format)' in capsys.readouterr().out
    other = tmp_path / 'other.safetensors'
    assert main(['convert', str(folder), str(other), '--to', 'released', '--dtype', 'bfloat16']) == 0
    assert other.read_bytes() == back.read_bytes()
    state = torch.load(weights)['state_dict']
    written = load_file(back)
    assert all(torch.equal(tensor.bfloat16(), written[name]) for name, tensor in state.items())


def test_an_unknown_dtype_and_a_missing_image_size(weights: Path, tmp_path: Path,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    words = ['convert', str(weights), str(tmp_path / 'out'), '--to', 'transformers']
    assert main([*words, '--dtype', 'bfloat']) == 2
    assert "Did you mean 'bfloat16'" in capsys.readouterr().err
    assert main(words) == 2
    assert 'give --img-size H W' in capsys.readouterr().err


def test_errors_are_one_line_and_exit_code_2(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / 'out.safetensors'
    target.touch()
    assert main(['convert', str(weights), str(target), '--to', 'released']) == 2
    assert 'exists; --force overwrites it' in capsys.readouterr().err
    assert main(['convert', str(weights), str(target), '--to', 'released', '--force']) == 0
    target.write_bytes(b'<html></html>')
    assert main(['convert', str(target), str(tmp_path / 'other.safetensors'), '--to', 'released']) == 2
    assert 'an HTML page' in capsys.readouterr().err
