"""What an output folder already holds."""

from __future__ import annotations

import json
import os

from sapiens2.apis.journal import JOURNAL, Journal, content_id


def _finished(tmp_path, name='a'):
    source, result = tmp_path / f'{name}.jpg', tmp_path / 'seg' / f'{name}.png'
    result.parent.mkdir(exist_ok=True)
    source.write_bytes(b'source')
    result.write_bytes(b'result')
    return source, result


def test_what_is_finished_is_known_to_the_next_run(tmp_path):
    source, result = _finished(tmp_path)
    Journal(tmp_path / 'seg', {'model': 1}).add('a', source, [str(result)])
    assert Journal(tmp_path / 'seg', {'model': 1}).finished('a', source) == [str(result)]
    assert Journal(tmp_path / 'seg', {'model': 1}).finished('b', source) is None
    assert Journal(tmp_path / 'seg', {'model': 2}).finished('a', source) is None, 'other settings'
    assert Journal(tmp_path / 'seg', {'model': 1}, resume=False).finished('a', source) is None
    assert str(tmp_path) not in (tmp_path / 'seg' / JOURNAL).read_text()


def test_a_changed_source_or_result_is_not_finished(tmp_path):
    source, result = _finished(tmp_path)
    Journal(tmp_path / 'seg', {}).add('a', source, [str(result)])
    result.write_bytes(b'cut')
    assert Journal(tmp_path / 'seg', {}).finished('a', source) is None
    result.write_bytes(b'result')
    assert Journal(tmp_path / 'seg', {}).finished('a', source)
    os.utime(source, (1, 1))
    assert Journal(tmp_path / 'seg', {}).finished('a', source), 'its content is the same'
    status = source.stat()
    source.write_bytes(b'Source')
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Journal(tmp_path / 'seg', {}).finished('a', source) is None, 'though size and time are the same'
    source.write_bytes(b'source')
    assert Journal(tmp_path / 'seg', {}).finished('a', source)
    result.unlink()
    source.unlink()
    assert Journal(tmp_path / 'seg', {}).finished('a', source) is None


def test_the_last_settings_that_wrote_a_file_count(tmp_path):
    source, result = _finished(tmp_path)
    for settings in ({'dtype': 'fp32'}, {'dtype': 'bf16'}):
        Journal(tmp_path / 'seg', settings).add('a', source, [str(result)])
    assert Journal(tmp_path / 'seg', {'dtype': 'fp32'}).finished('a', source) is None
    assert Journal(tmp_path / 'seg', {'dtype': 'bf16'}).finished('a', source)


def test_a_line_that_was_cut_off_hides_no_other(tmp_path):
    first, second = _finished(tmp_path), _finished(tmp_path, 'b')
    Journal(tmp_path / 'seg', {}).add('a', first[0], [str(first[1])])
    path = tmp_path / 'seg' / JOURNAL
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[-1][:20])
    journal = Journal(tmp_path / 'seg', {})
    assert journal.finished('a', first[0])
    journal.add('b', second[0], [str(second[1])])
    again = Journal(tmp_path / 'seg', {})
    assert again.finished('a', first[0]) and again.finished('b', second[0])
    path.write_bytes(b'[]\n3\n"x"\n{"done": "a"}\n\xff\n')
    assert Journal(tmp_path / 'seg', {}).finished('a', first[0]) is None


def test_weights_are_known_by_their_content(tmp_path):
    big = bytes(range(256)) * 4000
    (tmp_path / 'a').write_bytes(big)
    (tmp_path / 'b').write_bytes(big[:-1] + b'x')
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'folder' / 'a').write_bytes(big)
    first = content_id(tmp_path / 'a')
    assert first == content_id(tmp_path / 'folder') != content_id(tmp_path / 'b')
    os.utime(tmp_path / 'a', (1, 1))
    assert content_id(tmp_path / 'a') == first


def test_results_of_another_picture_are_known_and_a_moved_one_is_the_same(tmp_path, monkeypatch):
    for folder, content in (('one', b'first'), ('two', b'other')):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / 'a.bmp').write_bytes(content)
        os.utime(tmp_path / folder / 'a.bmp', (0, 0))
    one, two = (tmp_path / folder / 'a.bmp' for folder in ('one', 'two'))
    result = _finished(tmp_path)[1]
    for settings in ({}, None):
        Journal(tmp_path / 'seg', settings).add('a', one, [str(result)])
        journal = Journal(tmp_path / 'seg', settings)
        assert journal.finished('a', two) is None and journal.is_of_another('a', two)
        assert not journal.is_of_another('a', one) and not journal.is_of_another('b', two)
        assert not Journal(tmp_path / 'seg', settings, resume=False).is_of_another('a', two)
        assert Journal(tmp_path / 'seg', settings).is_of_another('a', 'http://host/a.bmp')
    assert Journal(tmp_path / 'seg', None).finished('a', one) is None, 'random weights are never the same'
    Journal(tmp_path / 'seg', {}).add('a', one, [str(result)])
    monkeypatch.chdir(tmp_path)
    assert Journal(tmp_path / 'seg', {}).finished('a', one.relative_to(tmp_path))
    (tmp_path / 'one').rename(tmp_path / 'moved')
    journal = Journal(tmp_path / 'seg', {})
    assert journal.finished('a', tmp_path / 'moved' / 'a.bmp')
    assert not journal.is_of_another('a', tmp_path / 'moved' / 'a.bmp')
    result.unlink()
    assert not journal.is_of_another('a', two), 'nothing is left to overwrite'


def test_what_a_later_run_is_to_tell(tmp_path):
    source, result = _finished(tmp_path)
    Journal(tmp_path / 'seg', {}).add('a', source, [str(result)], {'people': 2})
    assert Journal(tmp_path / 'seg', {}).summary('a') == {'people': 2}
    assert Journal(tmp_path / 'seg', {}).summary('b') == {}


def test_a_journal_of_an_older_version_lists_nothing(tmp_path):
    source, result = _finished(tmp_path)
    journal = Journal(tmp_path / 'seg', {})
    (tmp_path / 'seg' / JOURNAL).write_text(json.dumps(
        {'done': 'a', 'id': journal.settings_id, 'source': [6, 1], 'files': {'a.png': 6}}) + '\n')
    again = Journal(tmp_path / 'seg', {})
    assert again.finished('a', source) is None and not again.is_of_another('a', source)
