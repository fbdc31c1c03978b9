"""The whole pipeline on a folder, through the command."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile

import cv2
import pytest
from curation.runs import contents, curate, photograph, reasons

from sapiens2.curation.stages.decode import Decode

pytest.importorskip('pyarrow')
pytest.importorskip('scipy')


def test_a_folder_is_curated_and_says_what_became_of_each_image(config, folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    found = reasons(out)
    assert {name: found[name] for name in ('equal.jpg', 'smaller.png', 'flat.png', 'tiny.png', 'broken.jpg')} == {
        'equal.jpg': 'equal file', 'smaller.png': 'near duplicate', 'flat.png': 'contrast >= 4',
        'tiny.png': 'shorter_side >= 64', 'broken.jpg': 'quarantine'}
    assert [found[f'{number:02d}.jpg'] for number in range(12)] == ['kept'] * 12
    assert '12 of 17 images are kept' in capsys.readouterr().err
    assert 'cut off' in (out / 'report.html').read_text(encoding='utf-8')
    members = {}
    for path in sorted((out / 'shards').glob('*.tar')):
        with tarfile.open(path) as tar:
            members.update({member.name: tar.extractfile(member).read() for member in tar})
    assert len(members) == 12 and members['0000000003.jpg'] == (folder / '03.jpg').read_bytes()


def test_shards_train_the_pretraining_data_set(config, tmp_path):
    from sapiens2.datasets.pretrain import PretrainShardsDataset
    assert curate(config, tmp_path / 'out') == 0
    assert len(PretrainShardsDataset(data_root=str(tmp_path / 'out/shards'))) == 12


def test_a_run_that_was_stopped_goes_on_and_gives_the_same(config, tmp_path, monkeypatch):
    assert curate(config, tmp_path / 'whole') == 0
    calls = []
    run = Decode.run

    def stops(self, records):
        calls.append(len(records))
        if len(calls) == 3:
            raise KeyboardInterrupt
        run(self, records)

    monkeypatch.setattr(Decode, 'run', stops)
    assert curate(config, tmp_path / 'halves') == 130
    assert len(list((tmp_path / 'halves/scores').iterdir())) == 2
    assert curate(config, tmp_path / 'halves') == 0
    assert len(calls) == 3 + 2  # two parts of four were there
    assert contents(tmp_path / 'whole') == contents(tmp_path / 'halves')


def test_limits_move_without_scoring_again(config, tmp_path, monkeypatch, capsys):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    monkeypatch.setattr(Decode, 'run', None)
    assert curate(config, out, '--steps', 'select', 'report', '--cfg-options', 'filters.0.at_least=180') == 0
    assert set(reasons(out).values()) == {'quarantine', 'shorter_side >= 180'}
    assert curate(config, out, '--steps', 'select', '--cfg-options', 'filters.0.at_least=10') == 0
    assert '1 images pass the limits as they are now, but were dropped while they were' in capsys.readouterr().err
    assert reasons(out)['tiny.png'] == 'not scored'


@pytest.mark.parametrize('options', [['--cfg-options', 'shard_size=3'], ['--at-least', 'shorter_side=180'],
                                     ['--at-least', 'shorter_side=1000']])
def test_shards_of_another_selection_are_replaced_when_told_and_nothing_is_changed_before(config, tmp_path, capsys,
                                                                                         options):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    before, selected = contents(out), (out / 'selection.parquet').read_bytes()
    assert curate(config, out, *options) == 2
    assert 'holds shards of another selection' in capsys.readouterr().err
    assert contents(out) == before and (out / 'selection.parquet').read_bytes() == selected
    assert curate(config, out, *options, '--overwrite') == 0
    fresh = tmp_path / 'fresh'
    assert curate(config, fresh, *options) == 0
    assert contents(out) == contents(fresh)


def test_writing_says_what_was_selected(config, tmp_path):
    out = tmp_path / 'out'
    assert curate(config, out, '--steps', 'score', 'write') == 0
    assert set(reasons(out).values()) > {'kept'}
    assert curate(config, out, '--steps', 'write', '--at-most', 'contrast=60', '--overwrite') == 0
    assert 'contrast >= 4 and <= 60' in reasons(out).values()


def test_a_selection_of_nothing_does_not_stand_in_the_way(config, tmp_path):
    assert curate(config, tmp_path / 'out', '--at-least', 'shorter_side=1000', '--cfg-options', 'drop_early=False') == 0
    assert curate(config, tmp_path / 'out', '--cfg-options', 'drop_early=False') == 0
    assert len(list((tmp_path / 'out/shards').glob('*.tar'))) == 3


def test_other_images_or_stages_in_the_same_folder_are_refused(config, folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    assert curate(config, out, '--cfg-options', 'stages.0.longest=64') == 2
    assert 'other part_size or stages: stages.0.longest: not set there, 64 now' in capsys.readouterr().err
    cv2.imwrite(str(folder / 'new.png'), photograph(99))
    assert curate(config, out) == 2
    assert 'made of other images (17 then, 18 now)' in capsys.readouterr().err


def test_images_that_changed_or_went_after_they_were_scored_are_left_out_and_named(config, folder, tmp_path, capsys):
    import pyarrow.parquet
    out = tmp_path / 'out'
    assert curate(config, out, '--steps', 'score') == 0
    cv2.imwrite(str(folder / '05.jpg'), photograph(77))
    (folder / '02.jpg').unlink()
    assert curate(config, out) == 2
    assert 'made of other images (17 then, 16 now)' in capsys.readouterr().err
    assert curate(config, out, '--steps', 'write', 'report') == 1
    text = capsys.readouterr().err
    assert '2 images that were selected are not in the shards' in text and '10 of 17 images are kept' in text
    assert '05.jpg: has changed since it was scored' in text and '02.jpg: is not there any more' in text
    found = reasons(out)
    assert {name for name, reason in found.items() if reason == 'changed since scored'} == {'02.jpg', '05.jpg'}
    for path in (out / 'shards').glob('*.tar'):
        with tarfile.open(path) as tar:
            rows = pyarrow.parquet.read_table(path.with_suffix('.parquet')).to_pylist()
            assert [int(name[:10]) for name in tar.getnames()] == [row['index'] for row in rows]
            assert [hashlib.sha256(tar.extractfile(one).read()).digest() for one in tar] == [
                row['sha256'] for row in rows]
    # Later steps know of it, too.
    assert curate(config, out, '--steps', 'select') == 1 and reasons(out) == found


def test_selection_and_report_need_no_image(config, folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out, '--steps', 'score') == 0
    shutil.rmtree(folder)
    assert curate(config, out, '--steps', 'select', 'report') == 0
    assert list(reasons(out).values()).count('kept') == 12
    assert 'is no folder' in (out / 'report.html').read_text(encoding='utf-8')
    assert curate(config, out, '--steps', 'write') == 2
    assert 'set data_root to the folder of your images' in capsys.readouterr().err


def test_selecting_before_scoring_is_refused(config, tmp_path, capsys):
    assert curate(config, tmp_path / 'out', '--steps', 'select') == 2
    assert '4 of 4 parts are not scored' in capsys.readouterr().err


@pytest.mark.parametrize(('option', 'text'), [
    ('stages.0.longes=3', "Did you mean 'longest'"),
    ('filters.0.column=shorterside', "Did you mean 'shorter_side'"),
    ('near_duplicates.distance=500', 'near_duplicates.distance'),
    ('near_duplicates.mirored=False', "Did you mean 'mirrored'"),
    ('near_duplicates=False', 'near_duplicates must be a dictionary or None, got False'),
    ('shard_size=-5', 'shard_size must be a whole number of at least 1, got -5'),
    ('part_size=0', 'part_size must be a whole number of at least 1, got 0'),
    ('shuffle_seed=abc', 'shuffle_seed must be a whole number of at least 0 or None'),
    ('stages.0.longest=0', 'stages.0.longest must be a whole number of at least 1, got 0'),
    ('filters=5', 'filters must be a list'),
    ('filters.0.at_least=nan', 'filters.0.at_least must be a finite number or None'),
    ('filters.0.column=format', "filters.0: at_least is a number, and 'format' holds text"),
    ('filters.0.one_of=JPEG', 'filters.0.one_of must be a list'),
    ("filters.0.one_of=['1']", "filters.0: one_of has '1', and 'shorter_side' holds a number"),
    ('filters.0.column=picture', "filters.0: 'picture' holds bytes"),
    ('balance=True', 'balance must be a dictionary or None'),
    ('balance.attributes.width=5', 'balance.attributes.width must be a list'),
    ('balance.attributes.width=[5]', 'balance.embedding=None'),
    ("balance={'embedding': None, 'attributes': {'format': [1]}}", 'balance.attributes.format must be None'),
    ("balance={'embedding': None, 'attributes': {'sha256': None}}", 'balance.attributes.sha256: the column holds'),
    ("balance={'embedding': None, 'attributes': {'width': None}}", 'must be edges of bins'),
    ('quality=format', "quality: 'format' holds text"),
    ('qualty=width', "Did you mean 'quality'"),
    ('quality=wdth', "Did you mean 'width'"),
])
def test_options_that_cannot_work_are_named(config, tmp_path, capsys, option, text):
    assert curate(config, tmp_path / 'out', '--cfg-options', option) == 2
    assert text in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_the_notes_say_what_the_scores_are_made_of(config, tmp_path):
    assert curate(config, tmp_path / 'out', '--steps', 'score') == 0
    notes = json.loads((tmp_path / 'out/curation.json').read_text(encoding='utf-8'))
    assert notes['images'] == 17 and notes['stages'][0] == {'type': 'Decode'}


def test_a_plan_for_more_images_grows_with_their_number(config, tmp_path, capsys):
    assert curate(config, tmp_path / 'out', '--steps', 'score', 'select', '--plan', '1e6', '4e9') == 0
    text = capsys.readouterr().out
    assert '1,000,000' in text and '4,000,000,000' in text
    kept = next(line for line in text.splitlines() if line.startswith('images kept')).split()
    assert int(kept[2].replace(',', '')) == round(12 / 17 * 1e6)
    assert int(kept[3].replace(',', '')) == round(12 / 17 * 4e9)
