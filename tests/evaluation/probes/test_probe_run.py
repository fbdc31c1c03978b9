"""The whole command on a small folder: resumed, cached, and compared side by side."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch

from sapiens2.cli.main import main
from sapiens2.evaluation.probes import FeatureModel, build_backbone, parse_backbone
from sapiens2.evaluation.probes.backbones import PixelBackbone
from sapiens2.models.checkpoints import BadCheckpointFile
from sapiens2.registry import MODELS
from sapiens2.utils.suggest import UnknownNameError

NANO = 'nano=sapiens2_nano@random'
OPTIONS = ('--size', '64', '48', '--draws', '2', '--shots', '1', '--shown', '2', '--dtype', 'fp32')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Bright and dark pictures with ground truth, their brightness in a table."""
    rng = np.random.default_rng(0)
    rows = ['image,brightness']
    for split, count in (('train', 20), ('val', 6)):
        for number in range(count):
            bright = number % 2
            image = rng.integers(100 * bright, 100 * bright + 90, (64, 48, 3), dtype=np.uint8)
            labels = np.zeros((64, 48), np.uint8)
            labels[16:48, 16:32] = 23
            files = {'images': image, 'labels': labels, 'masks': (labels > 0).astype(np.uint8) * 255,
                     'normals': np.broadcast_to(np.float32([0, 0, -1]), (64, 48, 3)),
                     'depths': np.full((64, 48), 2 + bright, np.float32), 'albedos': image}
            for name, pixels in files.items():
                path = tmp_path / 'data' / split / name / f'{number}'
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, pixels) if pixels.dtype == np.float32 else cv2.imwrite(f'{path}.png', pixels)
            rows.append(f'{split}/images/{number}.png,{"bright" if bright else "dark"}')
    (tmp_path / 'data' / 'labels.csv').write_text('\n'.join(rows))
    return tmp_path


def run(folder: Path, *backbones: str, more: tuple[str, ...] = OPTIONS) -> dict:
    assert main(['--traceback', 'probe', *backbones, '--data', str(folder / 'data'), '--out', str(folder / 'out'),
                 *more]) == 0
    return json.loads((folder / 'out' / 'metrics.json').read_text())['figures']


def test_all_probes_side_by_side_resumed_and_cached(folder, capsys, monkeypatch):
    first = run(folder, NANO)
    assert list(first) == ['trivial', 'nano', 'pixels']
    assert first['trivial']['knn/brightness/balanced_percent'] == 50
    assert first['pixels']['linear/brightness/accuracy_percent'] == 100
    assert first['pixels']['retrieval/brightness/recall_at_1_percent'] == 100
    assert first['pixels']['depth/rmse_m'] < first['trivial']['depth/rmse_m']
    assert first['nano']['fewshot/1/seg/mIoU_percent_spread'] >= 0
    assert 'nano' in capsys.readouterr().err
    report = (folder / 'out' / 'report.html').read_text()
    for text in ('Nearest training pictures', 'Principal components', 'Few training pictures', 'pixels', 'brightness'):
        assert text in report

    calls = []
    call = FeatureModel.__call__
    monkeypatch.setattr(FeatureModel, '__call__', lambda self, images: calls.append(len(images)) or call(self, images))
    assert run(folder, NANO) == first and not calls
    # As if it had been stopped: one of two files of features is missing, and the figures are.
    place, = (folder / 'out' / 'features').glob('nano-*')
    files = sorted(place.glob('patches/*.safetensors'))
    files[1].unlink()
    for file in (folder / 'out' / 'figures').iterdir():
        file.unlink()
    assert run(folder, NANO) == first and sum(calls) == 10  # 26 pictures, 16 to a file
    # Other weights, other features.
    calls.clear()
    run(folder, NANO, more=(*OPTIONS, '--seed', '1', '--no-baselines'))
    assert sum(calls) == 26
    # A picture that is written anew.
    calls.clear()
    image = cv2.imread(str(folder / 'data/train/images/0.png'))
    cv2.imwrite(str(folder / 'data/train/images/0.png'), 255 - image)
    run(folder, NANO, more=(*OPTIONS, '--no-baselines'))
    assert sum(calls) == 26


def test_a_damaged_file_of_features_is_named(folder, capsys):
    more = (*OPTIONS, '--no-baselines', '--probes', 'knn')
    run(folder, NANO, more=more)
    file = next((folder / 'out' / 'features').glob('nano-*/image/*.safetensors'))
    file.write_bytes(b'nothing')
    for figures in (folder / 'out' / 'figures').iterdir():
        figures.unlink()
    assert main(['probe', NANO, '--data', str(folder / 'data'), '--out', str(folder / 'out'), *more]) == 2
    assert f'{file}: damaged' in capsys.readouterr().err


def test_a_checkpoint_tells_its_architecture(folder):
    spec = parse_backbone('sapiens2_nano@random')
    model = build_backbone(spec, (64, 48), 'cpu', 'fp32')
    path = folder / 'nano.pth'
    torch.save({'state_dict': {f'backbone.{name}': value for name, value in model.module.state_dict().items()}}, path)
    loaded = build_backbone(parse_backbone(str(path)), (64, 48), 'cpu', 'fp32')
    assert loaded.fingerprint() == model.fingerprint()
    image = torch.randint(0, 256, (1, 3, 64, 48), dtype=torch.uint8)
    torch.testing.assert_close(loaded(image).patches, model(image).patches)
    assert loaded(image).patches.shape == (1, 4, 3, 64)


@pytest.mark.parametrize('text, grid, token', [
    ('sapiens_nano@random', (4, 3), True), ('pixels', (4, 3), True), ('sapiens2_nano@random', (4, 3), True)])
def test_tokens_of_each_kind(text, grid, token):
    model = build_backbone(parse_backbone(text), (60, 50), 'cpu', 'fp32')
    assert model.size == (64, 48) and model.grid == grid and model.has_class_token == token
    tokens = model(torch.randint(0, 256, (2, 3, 64, 48), dtype=torch.uint8))
    assert tokens.patches.shape[:3] == (2, *grid) and len(tokens.cls) == 2
    torch.testing.assert_close(tokens.mean, tokens.patches.mean((1, 2)))


def test_timm_keeps_its_weights():
    pytest.importorskip('timm', exc_type=ImportError)
    model = build_backbone(parse_backbone('timm/test_vit@random'), (64, 48), 'cpu', 'fp32')
    tokens = model(torch.randint(0, 256, (1, 3, 64, 48), dtype=torch.uint8))
    assert tokens.patches.shape[1:3] == model.grid and model.has_class_token


@pytest.mark.parametrize('text, error, message', [
    ('sapiens2_nani@random', UnknownNameError, 'sapiens2_nano'),
    ('sapiens2_nano', ValueError, 'no weights. Write sapiens2_nano@FILE'),
    ('sapiens2_nano@nowhere.pth', FileNotFoundError, 'no checkpoint nowhere.pth')])
def test_faults_of_names(text, error, message):
    with pytest.raises(error, match=message):
        parse_backbone(text)


def test_two_backbones_of_one_name_and_a_probe_without_truth(folder, capsys):
    out = ('--data', str(folder / 'data'), '--out', str(folder / 'out'))
    assert main(['probe', 'sapiens2_nano@random', 'sapiens2_nano@random', *out]) == 2
    assert 'name the backbones: NAME=' in capsys.readouterr().err
    assert main(['probe', NANO, *out, '--probes', 'knn', 'fewshot']) == 2
    assert 'also name one of linear, seg' in capsys.readouterr().err
    for place in ('train', 'val'):
        (folder / 'data' / place / 'normals').rename(folder / f'{place}_normals')
    assert main(['probe', NANO, *out, '--probes', 'normal']) == 2
    assert 'probe normal: the data have no normal beside the pictures' in capsys.readouterr().err


def test_attributes_that_are_too_rare_are_named(folder, capsys):
    table = folder / 'data' / 'labels.csv'
    table.write_text('image,brightness\ntrain/images/0.png,dark\nval/images/1.png,bright')
    common = [NANO, '--data', str(folder / 'data'), '--out', str(folder / 'out'), *OPTIONS, '--no-baselines']
    assert main(['probe', *common, '--probes', 'knn']) == 2
    said = capsys.readouterr().err
    assert 'probe knn: the data have no attribute with two values' in said
    assert 'brightness: dark 1 + 0, bright 0 + 1' in said
    assert main(['probe', *common, '--probes', 'pictures']) == 0
    assert 'left out: knn' not in capsys.readouterr().err
    assert main(['probe', *common]) == 0
    assert 'left out: knn, linear, retrieval. The data have no attribute' in capsys.readouterr().err


def test_a_file_for_timm_is_read_without_running_code(tmp_path, monkeypatch):
    given = {}

    def build(config):
        given.update(config)
        module = PixelBackbone()
        module.model = SimpleNamespace(pretrained_cfg=dict(mean=(0.5,) * 3, std=(0.5,) * 3))
        return module

    monkeypatch.setattr(MODELS, 'build', build)
    torch.save({'blocks.0.weight': torch.ones(2)}, tmp_path / 'good.pth')
    build_backbone(parse_backbone(f'timm/test_vit@{tmp_path / "good.pth"}'), (64, 48), 'cpu', 'fp32')
    assert given['pretrained'] and torch.equal(
        given['pretrained_cfg_overlay']['state_dict']['blocks.0.weight'], torch.ones(2))
    torch.save({'blocks.0.weight': Path('x')}, tmp_path / 'bad.pth')
    with pytest.raises(BadCheckpointFile, match='could run code'):
        build_backbone(parse_backbone(f'timm/test_vit@{tmp_path / "bad.pth"}'), (64, 48), 'cpu', 'fp32')
