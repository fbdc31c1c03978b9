"""Specifications of benchmarks: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sapiens2.evaluation.benchmark import read_spec
from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import UnknownNameError

CONFIG = str(Path(__file__).parents[3] / 'configs/seg/sapiens2-tiny_seg_folder-256x192.py')


def write(folder: Path, *rows: dict[str, Any], **more: Any) -> Path:
    path = folder / 'spec.yml'
    path.write_text(yaml.safe_dump({'rows': list(rows), **more}), encoding='utf-8')
    return path


def row(**entries: Any) -> dict[str, Any]:
    given = {'name': 'a', 'config': CONFIG, 'checkpoint': 'random', **entries}
    return {name: value for name, value in given.items() if value is not None}


def test_options_of_all_rows_of_one_and_of_the_command(tmp_path: Path) -> None:
    path = write(tmp_path, row(), row(name='b', cfg_options={'data_root': 'own'}), cfg_options={'data_root': 'shared'})
    assert [one.cfg_options for one in read_spec(path).rows] == [{'data_root': 'shared'}, {'data_root': 'own'}]
    assert {one.cfg_options['data_root'] for one in read_spec(path, {'data_root': 'given'}).rows} == {'given'}


@pytest.mark.parametrize('entries, said', [
    (dict(chekpoint='x'), r"row 1 \(a\): unknown entry: 'chekpoint'. Did you mean 'checkpoint'"),
    (dict(config='nowhere.py'), r"row 1 \(a\): config: 'nowhere.py' does not exist"),
    (dict(checkpoint='nowhere.pth'), "checkpoint: 'nowhere.pth' does not exist"),
    (dict(checkpoint=None, predictions='nowhere'), "predictions: 'nowhere' does not exist"),
    (dict(checkpoint=None), r'give either checkpoint \(random for none\), which is run, or predictions'),
    (dict(predictions='.'), 'give either checkpoint'),
    (dict(name=None), 'row 1: name: missing'),
    (dict(seed='five'), "seed: must be a whole number, this is 'five'"),
    (dict(seed=True), 'seed: must be a whole number, this is True'),
    (dict(cfg_options=[1]), 'cfg_options: must be entries of the config and their values'),
    (dict(convention='moge'), 'convention: of predictions, which are not given'),
    (dict(parameters=5), 'parameters: of predictions, which are not given'),
    (dict(checkpoint=None, predictions='.', convention='mogge'), "convention: unknown convention: 'mogge'. Did you"),
    (dict(align='skale'), "align: unknown alignment: 'skale'. Did you mean 'scale'"),
])
def test_a_row_that_is_wrong(entries: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        read_spec(write(tmp_path, row(**entries)))


def test_all_faults_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_spec(write(tmp_path, row(config='nowhere.py'), row(chekpoint='x'), 'text', titel='x'))
    lines = str(caught.value).splitlines()
    assert len(lines) == 5 and all(line.startswith(f'{tmp_path / "spec.yml"}: ') for line in lines)
    assert "unknown entry: 'titel'" in lines[0] and 'another row has it' in lines[3] and 'row 3' in lines[4]


@pytest.mark.parametrize('text, said', [
    (': :', 'is no YAML file'), ('', 'must hold `rows`'), ('rows: []', 'must hold `rows`'), ('rows: 5', 'must hold')])
def test_a_file_that_is_none(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / 'spec.yml').write_text(text, encoding='utf-8')
    with pytest.raises(ConfigError, match=said):
        read_spec(tmp_path / 'spec.yml')
    with pytest.raises(ConfigError, match='nowhere.yml: does not exist'):
        read_spec(tmp_path / 'nowhere.yml')


def test_rows_are_chosen_by_name(tmp_path: Path) -> None:
    spec = read_spec(write(tmp_path, row(), row(name='second')))
    assert [one.name for one in spec.chosen([])] == ['a', 'second']
    assert [one.name for one in spec.chosen(['second'])] == ['second']
    with pytest.raises(UnknownNameError, match="unknown row: 'secnd'. Did you mean 'second'"):
        spec.chosen(['secnd'])
