"""Rows made ready: what makes a row another one, and rows that cannot be compared."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
from pathlib import Path

import pytest
import torch
from tiny_data import write_data

from sapiens2.cli.main import build_parser
from sapiens2.evaluation.benchmark import Row, Spec
from sapiens2.evaluation.benchmark.jobs import Job, command, prepare_jobs
from sapiens2.utils.config import ConfigError


def job_of(row: Row, out: Path) -> Job:
    job, = prepare_jobs(Spec(Path('spec.yml'), (row,)), out)
    return job


def finish(job: Job) -> None:
    job.folder.mkdir(parents=True)
    (job.folder / 'job.json').write_text(json.dumps({'depends_on': dict(job.depends_on)}), encoding='utf-8')
    job.result_path.write_text('{}', encoding='utf-8')


def test_what_makes_a_row_another_one(tmp_path: Path, make_row) -> None:
    weights = tmp_path / 'weights.pth'
    torch.save({'a': torch.zeros(5)}, weights)
    row = make_row(checkpoint=str(weights))
    first = job_of(row, tmp_path / 'out')
    assert job_of(row, tmp_path / 'out').folder == first.folder and first.result() is None and not first.changed()
    finish(first)
    assert job_of(row, tmp_path / 'out').result() == {}

    torch.save({'a': torch.ones(5)}, weights)
    assert job_of(row, tmp_path / 'out').result() is None
    assert job_of(row, tmp_path / 'out').changed() == ['checkpoint']
    torch.save({'a': torch.zeros(5)}, weights)
    assert job_of(row, tmp_path / 'out').folder == first.folder

    assert job_of(dataclasses.replace(row, seed=1), tmp_path / 'out').changed() == ['row']
    other = dataclasses.replace(row, cfg_options={**row.cfg_options, 'model.decode_head.num_classes': 28})
    assert job_of(other, tmp_path / 'out').changed() == ['row', 'config']
    label = tmp_path / 'data/val/labels/0.png'
    os.utime(label, ns=(0, 0))
    assert job_of(row, tmp_path / 'out').changed() == ['data']


def test_changed_predictions(tmp_path: Path, make_row) -> None:
    (tmp_path / 'predicted').mkdir()
    (tmp_path / 'predicted/0.png').write_bytes(b'1')
    row = make_row(predictions=str(tmp_path / 'predicted'))
    finish(job_of(row, tmp_path / 'out'))
    (tmp_path / 'predicted/0.png').write_bytes(b'12')
    assert job_of(row, tmp_path / 'out').changed() == ['predictions']


def test_versions_and_hardware_count(tmp_path: Path, make_row, monkeypatch: pytest.MonkeyPatch) -> None:
    row = make_row()
    finish(job_of(row, tmp_path / 'out'))
    for name in ('versions', 'hardware'):
        monkeypatch.setattr(f'sapiens2.evaluation.benchmark.dependencies.{name}', lambda: {'other': 'x'})
        assert job_of(row, tmp_path / 'out').changed()[-1] == name


def test_rows_of_one_task_have_the_same_data_and_metrics(tmp_path: Path, make_row) -> None:
    write_data('seg', tmp_path / 'other')
    first, second = make_row('first'), make_row('second')

    def prepare(**options: object) -> None:
        changed = dataclasses.replace(second, cfg_options={**second.cfg_options, **options})
        prepare_jobs(Spec(Path('spec.yml'), (first, changed)), tmp_path / 'out')

    prepare()
    prepare(**{'test_dataloader.batch_size': 3, 'test_dataloader.dataset.pipeline_options': {
        'Resize': {'size': (64, 48)}}})  # what a network is given of the same picture is its own affair
    with pytest.raises(ConfigError, match="spec.yml: second: test_dataloader.dataset.data_root is not that of 'first'"):
        prepare(data_root=str(tmp_path / 'other'))
    with pytest.raises(ConfigError, match='second: test_evaluator.nan_to_num is not that'):
        prepare(**{'test_evaluator.nan_to_num': 0})


def test_a_config_that_cannot_work_is_named_with_its_row(tmp_path: Path, make_row) -> None:
    for options, said in (({'modle.x': 1}, 'a: .*modle'), ({'data_root': 'nowhere'}, "a: .*'nowhere' does not exist")):
        row = make_row()
        row = dataclasses.replace(row, cfg_options={**row.cfg_options, **options})
        with pytest.raises(ConfigError, match=said):
            job_of(row, tmp_path)
    with pytest.raises(ConfigError, match='a: align: is for pointmaps and depth, its task is seg'):
        job_of(make_row(align='scale'), tmp_path)


def test_commands_say_the_same(tmp_path: Path) -> None:
    spec = Spec(Path('my spec.yml'), (), {'data_root': 'x y'})
    row = Row('a', 'c.py', predictions='folder of', align='scale', convention='moge', true_camera=True, depth_unit=0.01,
              seed=3, cfg_options={'data_root': '1', 'test_dataloader.batch_size': 1, 'a.b': [1, 'x'], 'c': 'x y'})
    words = shlex.split(command(row, spec, tmp_path))
    assert words[0] == 'sapiens2'
    args = build_parser().parse_args(words[1:])
    assert (args.config, args.predictions, args.align, args.convention) == ('c.py', 'folder of', 'scale', 'moge')
    assert args.true_camera and args.depth_unit == 0.01
    assert dict(args.cfg_options) == {**row.cfg_options, 'randomness.seed': 3}
    args = build_parser().parse_args(shlex.split(command(Row('a', 'c.py', checkpoint='w.pth'), spec, tmp_path))[1:])
    assert args.checkpoint == 'w.pth' and args.cfg_options == []
    words = shlex.split(command(Row('a b', 'c.py', checkpoint='random'), spec, tmp_path))
    assert words == ['python', 'tools/benchmark.py', 'my spec.yml', '--out', str(tmp_path), '--rows', 'a b',
                     '--cfg-options', 'data_root=x y']
