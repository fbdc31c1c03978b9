"""What users are told of a selection, and limits that they move by name."""

from __future__ import annotations

import re

import pytest
from curation.runs import curate, reasons

from sapiens2.curation import processes
from sapiens2.curation.filters import moved
from sapiens2.utils.config import ConfigError

pytest.importorskip('pyarrow')
pytest.importorskip('scipy')
SIDE = {'type': 'Limit', 'column': 'side', 'at_least': 64}
LIGHT = {'type': 'Limit', 'column': 'light', 'at_most': 0.9, 'missing': 'keep'}


def test_limits_are_moved_by_the_name_of_their_column():
    assert moved([SIDE, LIGHT], 'side', 'at_least', 32) == [{**SIDE, 'at_least': 32}, LIGHT]
    assert moved([SIDE, LIGHT], 'light', 'at_least', 0.1) == [SIDE, {**LIGHT, 'at_least': 0.1}]
    assert moved([SIDE], 'width', 'at_most', 9) == [SIDE, {'type': 'Limit', 'column': 'width', 'at_most': 9}]
    below = {'type': 'Limit', 'column': 'side', 'at_most': 999}
    assert moved([SIDE, below], 'side', 'at_most', 500) == [SIDE, {**below, 'at_most': 500}]
    with pytest.raises(ConfigError, match='filters.0.at_least=5 or filters.1.at_least=5'):
        moved([SIDE, SIDE], 'side', 'at_least', 5)


def test_the_limit_that_leaves_out_most_is_named_with_the_option_that_moves_it(config, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out, '--at-least', 'shorter_side=1000') == 0
    text = capsys.readouterr().err
    assert '"shorter_side >= 1000" leaves out 16 of 17 images. Half of these have 160 or more' in text
    # Dropped before Hashes saw them, so moving the limit here is of no use.
    assert '--at-least shorter_side=160 and another --out' in text
    assert curate(config, tmp_path / 'other', '--at-least', 'shorter_side=1000', '--cfg-options',
                  'drop_early=False') == 0
    assert '--at-least shorter_side=160 with --steps select report' in capsys.readouterr().err
    assert curate(config, tmp_path / 'other', '--at-least', 'shorter_side=160', '--steps', 'select') == 0
    assert list(reasons(tmp_path / 'other').values()).count('kept') == 12


@pytest.mark.parametrize(('bound', 'limit'), [('at-least', 1000), ('at-most', 0)])
def test_the_limit_that_is_named_lets_half_of_the_images_pass(config, tmp_path, capsys, bound, limit):
    out = tmp_path / 'out'
    options = ['--at-most', 'aspect=9', '--cfg-options', 'drop_early=False', 'near_duplicates=None', 'filters=[]']
    assert curate(config, out, f'--{bound}', f'contrast={limit}', *options) == 0
    named = re.search(rf'--{bound} contrast=(\S+) with', capsys.readouterr().err)[1]
    assert curate(config, out, f'--{bound}', f'contrast={named}', *options, '--steps', 'select') == 0
    assert list(reasons(out).values()).count('kept') >= 8


def test_a_limit_that_does_not_fit_is_named(config, tmp_path, capsys):
    assert curate(config, tmp_path / 'out', '--at-least', 'shorterside=5') == 2
    assert "Did you mean 'shorter_side'" in capsys.readouterr().err
    assert curate(config, tmp_path / 'out', '--at-most', 'contrast=much') == 2
    assert "filters.1.at_most must be a finite number or None, got 'much'" in capsys.readouterr().err


def test_a_stage_that_fails_on_all_images_is_named_and_ends_with_1(config, folder, tmp_path, capsys):
    for path in folder.iterdir():
        path.write_bytes(b'no picture')
    assert curate(config, tmp_path / 'out') == 1
    assert 'Decode failed on all 17 images that it was shown; one of the reasons:' in capsys.readouterr().err


def test_fields_that_no_image_has_are_named(config, tmp_path, capsys):
    stages = "stages=[{'type':'Metadata','fields':{'Rating':'int32'}},{'type':'Decode'},{'type':'Hashes'}]"
    assert curate(config, tmp_path / 'out', '--cfg-options', stages) == 0
    text = capsys.readouterr().err
    assert 'meta_rating is not known of any image: field Rating of the source' in text and 'meta_url' not in text


@pytest.mark.parametrize('selected', [{'JPEG': 1}, {'JPG': 1}])
def test_shares_of_bins_that_nobody_is_in_are_named(config, tmp_path, capsys, selected):
    balance = {'embedding': None, 'target': 0.9, 'attributes': {'format': None}, 'shares': {'format': selected}}
    assert curate(config, tmp_path / 'out', '--cfg-options', f'balance={balance}') == 0
    assert ("no image is in this bin: unknown bin: 'JPG'. Did you mean 'JPEG'" in capsys.readouterr().err) == (
        'JPG' in selected)


def test_reports_name_their_pictures(config, tmp_path):
    import pyarrow.parquet
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    report = (out / 'report.html').read_text(encoding='utf-8')
    assert '<td>smaller.png | 04.jpg</td>' in report and '<td>00.jpg</td>' in report
    table = pyarrow.parquet.read_table(out / 'selection.parquet')
    assert table.column_names[:3] == ['index', 'name', 'reason'] and table['name'][0].as_py() == '00.jpg'


@pytest.mark.parametrize(('enough', 'said'), [(False, False), (True, True)])
def test_processes_are_started_where_there_is_work_for_them(config, tmp_path, capsys, monkeypatch, enough,
                                                            said):
    if enough:
        monkeypatch.setattr(processes, 'ALONE_SECONDS', 0)
        monkeypatch.setattr(processes, 'WORTH_SECONDS', 0)
    assert curate(config, tmp_path / 'out', '--workers', '2') == 0
    assert ('starting 2 workers' in capsys.readouterr().err) == said
    assert list(reasons(tmp_path / 'out').values()).count('kept') == 12
