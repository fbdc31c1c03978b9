"""The whole pipeline on a folder, through the command."""

from __future__ import annotations

import hashlib
import json
import tarfile

import cv2
import numpy as np
import pytest

from sapiens2.cli.main import main
from sapiens2.curation.stages.decode import Decode

pytest.importorskip('pyarrow')
pytest.importorskip('scipy')


def photograph(seed, size=(200, 160)):
    rng = np.random.default_rng(seed)
    return cv2.resize(rng.integers(0, 256, (7, 6, 3), dtype=np.uint8), size[::-1], interpolation=cv2.INTER_CUBIC)


@pytest.fixture
def folder(tmp_path):
    """Twelve pictures, an equal file, a smaller copy, a flat one, a tiny one and a broken one."""
    root = tmp_path / 'photographs'
    root.mkdir()
    for number in range(12):
        cv2.imwrite(str(root / f'{number:02d}.jpg'), photograph(number))
    (root / 'equal.jpg').write_bytes((root / '03.jpg').read_bytes())
    smaller = cv2.resize(photograph(4), None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(root / 'smaller.png'), smaller)
    cv2.imwrite(str(root / 'flat.png'), np.full((200, 160, 3), 90, dtype=np.uint8))
    cv2.imwrite(str(root / 'tiny.png'), photograph(50, (20, 30)))
    (root / 'broken.jpg').write_bytes((root / '01.jpg').read_bytes()[:500])
    return root


@pytest.fixture
def config(tmp_path, folder):
    path = tmp_path / 'curation.py'
    path.write_text(f'''
source = dict(type='PretrainFolderDataset', data_root={str(folder)!r})
stages = [dict(type='Decode'), dict(type='Hashes')]
filters = [dict(type='Limit', column='shorter_side', at_least=64), dict(type='Limit', column='contrast', at_least=4)]
part_size = 5
shard_size = 4
''', encoding='utf-8')
    return path


def curate(config, out, *more):
    return main(['curate', str(config), '--out', str(out), '--workers', '1', *more])


def reasons(out):
    import pyarrow.parquet
    scores = [pyarrow.parquet.read_table(path) for path in sorted((out / 'scores').iterdir())]
    names = [name for table in scores for name in table['name'].to_pylist()]
    return dict(zip(names, pyarrow.parquet.read_table(out / 'selection.parquet')['reason'].to_pylist()))


def contents(out):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (out / 'shards').iterdir()}


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
    assert '1 images would be kept now, but were dropped while they were scored' in capsys.readouterr().err
    assert reasons(out)['tiny.png'] == 'not scored'


def test_shards_of_another_selection_are_not_mixed(config, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    before = contents(out)
    assert curate(config, out, '--cfg-options', 'shard_size=3') == 2
    assert 'holds shards of another selection' in capsys.readouterr().err
    assert contents(out) == before


def test_other_images_or_stages_in_the_same_folder_are_refused(config, folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    assert curate(config, out, '--cfg-options', 'stages.0.longest=64') == 2
    assert 'holds scores that were made with other stages' in capsys.readouterr().err
    cv2.imwrite(str(folder / 'new.png'), photograph(99))
    assert curate(config, out) == 2
    assert 'made with other images' in capsys.readouterr().err


def test_an_image_that_changed_after_it_was_scored_is_named(config, folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out, '--steps', 'score') == 0
    cv2.imwrite(str(folder / '05.jpg'), photograph(77))
    assert curate(config, out) == 2
    assert '05.jpg: has changed since it was scored' in capsys.readouterr().err


def test_selecting_before_scoring_is_refused(config, tmp_path, capsys):
    assert curate(config, tmp_path / 'out', '--steps', 'select') == 2
    assert '4 of 4 parts are not scored' in capsys.readouterr().err


@pytest.mark.parametrize(('option', 'text'), [
    ('stages.0.longes=3', "Did you mean 'longest'"),
    ('filters.0.column=shorterside', "Did you mean 'shorter_side'"),
    ('near_duplicates.distance=500', 'near duplicates: distance'),
    ('qualty=width', "Did you mean 'quality'"),
    ('quality=wdth', "Did you mean 'width'"),
])
def test_options_that_cannot_work_are_named(config, tmp_path, capsys, option, text):
    assert curate(config, tmp_path / 'out', '--cfg-options', option) == 2
    assert text in capsys.readouterr().err


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
