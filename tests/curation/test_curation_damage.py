"""Files of a folder of results that are damaged: named, with a remedy that works."""

from __future__ import annotations

import cv2
import pytest
from curation.runs import contents, curate, photograph, reasons

from sapiens2.curation.stages.decode import Decode

parquet = pytest.importorskip('pyarrow.parquet')
pytest.importorskip('scipy')


@pytest.mark.parametrize('content', ['', '{}', '[]', '{"images": "x"}', '{'])
def test_damaged_notes(config, tmp_path, capsys, content):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    (out / 'curation.json').write_text(content)
    assert curate(config, out) == 2
    text = capsys.readouterr().err
    assert 'curation.json: is damaged' in text and 'Remove it' in text
    (out / 'curation.json').unlink()
    assert curate(config, out) == 0 and (out / 'curation.json').exists()


def test_notes_of_a_run_that_made_nothing_bind_nobody(config, tmp_path):
    (tmp_path / 'out').mkdir()
    (tmp_path / 'out/curation.json').write_text('{"part_size": 0}')
    assert curate(config, tmp_path / 'out') == 0


@pytest.mark.parametrize('damage', ['is damaged, 0 bytes', 'is damaged, 300 bytes', 'lacks the columns phash',
                                    'has 3 rows, and should have 5'])
def test_damaged_scores(config, tmp_path, capsys, damage):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    before, path = contents(out), out / 'scores/part-0000001.parquet'
    table = parquet.read_table(path)
    if 'bytes' in damage:
        path.write_bytes(b'x' * int(damage.split()[2]))
    else:
        parquet.write_table(table.drop_columns(['phash']) if 'phash' in damage else table.slice(0, 3), path)
    for steps in (['select'], ['score', 'select', 'write', 'report']):
        assert curate(config, out, '--steps', *steps) == 2
        text = capsys.readouterr().err
        assert f'part-0000001.parquet: {damage}' in text and 'Remove it' in text
    path.unlink()
    assert curate(config, out) == 0 and contents(out) == before


def test_parts_know_their_size(config, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    (out / 'curation.json').unlink()
    assert curate(config, out, '--cfg-options', 'part_size=6') == 2
    assert 'part-0000000.parquet: was made with part_size=5, not 6' in capsys.readouterr().err
    assert curate(config, out) == 0


@pytest.mark.parametrize('ending', ['tar', 'parquet'])
def test_damaged_shards_are_written_again(config, tmp_path, ending):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    before = contents(out)
    (out / f'shards/images-000001.{ending}').write_bytes(b'')
    assert curate(config, out, '--steps', 'write') == 0
    assert contents(out) == before


@pytest.mark.parametrize('content', ['', '{}', None])
def test_shards_that_do_not_say_of_which_selection_they_are(config, tmp_path, capsys, content):
    out = tmp_path / 'out'
    assert curate(config, out) == 0
    before, path = contents(out), out / 'shards/selection.json'
    path.unlink() if content is None else path.write_text(content)
    assert curate(config, out) == 2
    assert 'Add --overwrite' in capsys.readouterr().err
    assert curate(config, out, '--overwrite') == 0 and contents(out) == before
    assert len(reasons(out)) == 17


def test_a_source_that_is_away_for_a_while_puts_no_image_in_quarantine(config, folder, tmp_path, monkeypatch, capsys):
    away, run = tmp_path / 'away', Decode.run

    def unplugged(self, records):
        if folder.exists():
            folder.rename(away)
        run(self, records)

    monkeypatch.setattr(Decode, 'run', unplugged)
    assert curate(config, tmp_path / 'out') == 2
    assert 'photographs: is gone, or empty, since the run began' in capsys.readouterr().err
    monkeypatch.setattr(Decode, 'run', run)
    away.rename(folder)
    assert curate(config, tmp_path / 'out') == 0 and curate(config, tmp_path / 'whole') == 0
    assert contents(tmp_path / 'out') == contents(tmp_path / 'whole')


def test_shards_of_which_all_images_have_changed(config, folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert curate(config, out, '--steps', 'score') == 0
    for number in range(12):
        cv2.imwrite(str(folder / f'{number:02d}.jpg'), photograph(number + 100))
    assert curate(config, out, '--steps', 'write') == 1
    assert '0 of 17 images are kept' in capsys.readouterr().err and len(contents(out)) == 7


def test_partial_files_of_killed_runs_go_however_fresh(config, tmp_path):
    out = tmp_path / 'out'
    for name in ('shards', 'scores'):
        (out / name).mkdir(parents=True)
        (out / name / '.partial-elsewhere-1-2.tar').write_bytes(b'')
    assert curate(config, out) == 0 and not list(out.rglob('.partial-*'))
