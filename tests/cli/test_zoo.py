from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import yaml

from sapiens2.cli.main import main
from sapiens2.registry import MODELS
from sapiens2.utils.model_index import INDEX, find_release, load_model_index

ROOT = Path(__file__).parents[2]


def test_the_list_says_what_was_released(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['zoo']) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows['sapiens2_1b_pose'][1:7] == [
        'pose', '1b', '1,519,780,148', '6,079', 'yes', 'facebook/sapiens2-pose-1b']
    assert rows['sapiens2_1b_albedo'][4:6] == rows['sapiens2_1b_4k_pose'][4:6] == ['-', 'no']
    assert '27 of these 41 were released' in lines[-3] and 'estimated' in lines[-3]
    assert 'no albedo weights' in lines[-3] and lines[-2].startswith('Matting')


def test_json_of_all_and_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['zoo', '--json']) == 0
    entries = json.loads(capsys.readouterr().out)
    assert len(entries) == len(load_model_index())
    assert main(['zoo', 'sapiens2_5b_seg', '--json']) == 0
    entry = json.loads(capsys.readouterr().out)
    assert entry in entries
    assert entry['url'] == 'https://huggingface.co/facebook/sapiens2-seg-5b/resolve/main/sapiens2_5b_seg.safetensors'
    assert entry['weights_license'] == 'Sapiens2 License'


def test_one_entry_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['zoo', 'sapiens2_1b_matting']) == 0
    assert 'no matting decoder' in capsys.readouterr().out
    assert main(['zoo', 'sapiens2_1b_seg']) == 0
    shown = capsys.readouterr().out
    assert '1,470,819,805' in shown and 'about 5,883 MB, estimated' in shown


def test_an_unknown_name_offers_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['zoo', 'sapiens2_1b_poses']) == 2
    assert "Did you mean 'sapiens2_1b_pose'" in capsys.readouterr().err


def test_the_index_is_consistent() -> None:
    releases = load_model_index()
    assert len({release.name for release in releases}) == len(releases)
    for release in releases:
        assert release.released == bool(release.repository) == bool(release.url) == bool(release.weights_license)
        if release.released:
            assert release.url == f'https://huggingface.co/{release.repository}/resolve/main/{release.file}'
        assert release.released or release.task == 'albedo' or '4k' in release.size or release.size == '0.1b'
        assert release.task != 'albedo' or not release.released
        assert release.config is None or (ROOT / release.config).is_file()
    sizes = {release.size for release in releases if release.family == 'Sapiens2' and release.task == 'pretrain'}
    assert sizes == {'0.1b', '0.4b', '0.8b', '1b', '1b_4k', '5b'}


@pytest.mark.parametrize('release', [r for r in load_model_index() if r.task == 'pretrain'], ids=lambda r: r.name)
def test_parameters_of_the_backbones(release) -> None:  # noqa: ANN001
    options = dict(use_tokenizer=True, img_size=(4096, 3072)) if release.size == '1b_4k' else {}
    if release.family == 'Sapiens':
        options = dict(img_size=(1024, 1024), with_cls_token=True)
    arch = release.name.removesuffix('_pretrain').removesuffix('_4k')
    with torch.device('meta'):
        model = MODELS.build(dict(type=release.family, arch=arch, **options))
    assert sum(parameter.numel() for parameter in model.parameters()) == release.parameters


def test_the_index_at_the_root_begins_with_the_packaged_one() -> None:
    listed = [(ROOT / path).resolve() for path in yaml.safe_load((ROOT / 'model-index.yml').read_text())['Import']]
    assert listed[0] == INDEX and all(path.is_file() for path in listed)


def test_find_release() -> None:
    assert find_release('sapiens_2b_pretrain').weights_license == 'CC-BY-NC-4.0'
