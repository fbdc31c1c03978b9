"""``sapiens2 infer``: arguments, exit codes, what it writes and says."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sapiens2.cli import infer_shards
from sapiens2.cli.infer_report import Report
from sapiens2.cli.infer_weights import weights_by_task
from sapiens2.cli.main import main
from sapiens2.utils.image_io import write_image
from sapiens2.utils.tasks import TASKS

TINY = ['--model', 'sapiens2_tiny', '--weights', 'random', '--device', 'cpu', '--dtype', 'fp32', '--img-size', '64',
        '48', '--no-flip-test']


@pytest.fixture
def photos(tmp_path):
    rng = np.random.default_rng(0)
    for name in ('a.jpg', 'sub/b.PNG'):
        write_image(tmp_path / 'photos' / name, rng.integers(0, 256, (40, 30, 3), dtype=np.uint8))
    return tmp_path / 'photos'


def _run(*words: object) -> int:
    return main([str(word) for word in words])


def test_folder_to_json_and_pictures(photos, tmp_path, capsys):
    out = tmp_path / 'new' / 'out'
    assert _run('infer', 'pose', photos, '--whole-image', '--out', out, *TINY) == 0
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob('*.*')) == [
        'pose/a.json', 'pose/a.picture.jpg', 'pose/journal.jsonl', 'pose/sub/b.json', 'pose/sub/b.picture.jpg']
    captured = capsys.readouterr()
    shown = captured.err
    assert (captured.out + shown).lower().count('random') == 1, 'said once'
    assert 'RANDOM weights' in shown and '2/2' in shown and 'images done' in shown


def test_what_is_skipped_is_named_counted_and_the_exit_code(photos, tmp_path, capsys):
    (photos / 'empty.jpg').write_bytes(b'')
    boxes = tmp_path / 'boxes.json'
    boxes.write_text(json.dumps({
        'images': [{'id': 1, 'file_name': 'a.jpg'}, {'id': 2, 'file_name': 'b.PNG'}],
        'annotations': [{'image_id': 1, 'bbox': [2, 2, 20, 30]}, {'image_id': 1, 'bbox': [2, 2, 0, 30]},
                        {'image_id': 2, 'bbox': [5, 5, 10, 10]}]}))
    assert _run('infer', 'pose', photos, tmp_path / 'lost.jpg', '--boxes', boxes, '--out', tmp_path / 'out',
                '--no-pictures', *TINY) == 1
    shown = capsys.readouterr().err
    for text in ('lost.jpg: no such file', 'empty.jpg', 'is empty', '3 problems'):
        assert text in shown
    people = {path.stem: len(json.loads(path.read_text())['instances'])
              for path in (tmp_path / 'out').rglob('*.json')}
    assert people == {'a': 1, 'b': 1}
    assert not list((tmp_path / 'out').rglob('*.jpg'))


def test_boxes_below_the_threshold_are_counted_and_said(photos, tmp_path, capsys):
    boxes = tmp_path / 'boxes.json'
    boxes.write_text(json.dumps([{'image_id': 'a', 'bbox': [2, 2, 20, 30], 'score': score} for score in (0.9, 0.2)]
                                + [{'image_id': 'b', 'bbox': [2, 2, 20, 30], 'score': 0.1}]))
    words = ('infer', 'pose', photos, '--boxes', boxes, '--no-pictures', *TINY)
    assert _run(*words, '--out', tmp_path / 'out') == 0
    shown = ' '.join(capsys.readouterr().err.split())
    assert 'boxes left out because their score is below 0.3 (--box-thr): 2' in shown
    assert 'images without people ("message" in the JSON of each says why): 1' in shown
    counts = {path.stem: json.loads(path.read_text())['boxes_below_threshold']
              for path in (tmp_path / 'out').rglob('*.json')}
    assert counts == {'a': 1, 'b': 1}
    assert _run(*words, '--box-thr', '0', '--out', tmp_path / 'all') == 0
    assert '--box-thr' not in capsys.readouterr().err


def test_a_list_of_paths_and_a_glob(photos, tmp_path):
    names = tmp_path / 'names.txt'
    names.write_text('photos/a.jpg\n')
    assert _run('infer', 'pose', names, photos / '**' / '*.PNG', '--whole-image', '--out', tmp_path / 'out', *TINY) == 0
    assert sorted(path.stem for path in (tmp_path / 'out').rglob('*.json')) == ['a', 'b']


@pytest.mark.parametrize('words, message', [
    (['pose', '--detector', 'nowhere'], '--detector nowhere: no such file or folder'),
    (['seg', '--whole-image'], 'are for pose'),
    (['seg', '--flip-test'], 'is for pose'),
    (['all', '--whole-image', '--config', 'c.py'], 'one task'),
])
def test_arguments_that_do_not_go_together(photos, tmp_path, capsys, words, message):
    assert _run('infer', words[0], photos, *words[1:], '--weights', 'random', '--out', tmp_path / 'out') == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_unknown_task_and_model_offer_the_nearest(photos, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        _run('infer', 'posse', photos, '--out', tmp_path / 'out')
    assert stop.value.code == 2 and "Did you mean 'pose'" in capsys.readouterr().err
    assert _run('infer', 'seg', photos, '--model', 'sapiens_1b', '--weights', 'random', '--out', tmp_path / 'out') == 2
    shown = capsys.readouterr().err
    assert "'sapiens2_1b'" in shown and 'RANDOM' not in shown
    with pytest.raises(SystemExit):
        _run('infer', 'matting', photos, '--out', tmp_path / 'out')
    assert 'transformers runs its weights' in capsys.readouterr().err


def test_missing_weights_say_where_to_get_them(photos, tmp_path, capsys):
    assert _run('infer', 'seg', photos, '--out', tmp_path / 'out') == 2
    shown = capsys.readouterr().err
    assert 'sapiens2 zoo' in shown and '--weights random' in shown
    assert _run('infer', 'seg', photos, '--weights', tmp_path / 'none.safetensors', '--out', tmp_path / 'out') == 2
    assert 'none.safetensors' in capsys.readouterr().err


def test_weights_by_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ('a.safetensors', 'a=b.safetensors', 'a', 'b'):
        (tmp_path / name).touch()
    assert weights_by_task(('seg',), ['a.safetensors']) == {'seg': 'a.safetensors'}
    assert weights_by_task(TASKS, ['random']) == dict.fromkeys(TASKS, 'random')
    chosen = weights_by_task(TASKS, ['random', 'seg=a=b.safetensors'])
    assert chosen['seg'] == 'a=b.safetensors' and chosen['pose'] == 'random'
    for given, message in ((['a', 'b'], 'name the task'), (['a'], 'holds one task'), (['seg=a'], 'no checkpoint for '
                           'pose, normal, pointmap, albedo')):
        with pytest.raises(ValueError, match=message):
            weights_by_task(TASKS, given)
    with pytest.raises(ValueError, match='pose=a: that task does not run'):
        weights_by_task(('seg',), ['b', 'pose=a'])


def test_interruption_leaves_whole_files_only(photos, tmp_path, monkeypatch, capsys):
    from sapiens2.utils import atomic
    replaced = []

    def interrupt(partial, path):
        if replaced:
            raise KeyboardInterrupt
        replaced.append(Path(path))
        Path(partial).rename(path)

    monkeypatch.setattr(atomic.os, 'replace', interrupt)
    assert _run('infer', 'pose', photos, '--whole-image', '--out', tmp_path / 'out', *TINY) == 130
    assert [path for path in (tmp_path / 'out').rglob('*') if path.is_file()] == replaced
    assert json.loads(replaced[0].read_text())['schema_version'] == '1.2'
    assert 'interrupted' in capsys.readouterr().err


def test_quickstart_script_is_importable(monkeypatch):
    """The whole of it runs in the README's command; here its imports and arguments are tried."""
    pytest.importorskip('skimage')
    monkeypatch.setattr(sys, 'argv', ['quickstart.py', '--help'])
    source = (Path(__file__).parents[2] / 'tools' / 'quickstart.py').read_text(encoding='utf-8')
    with pytest.raises(SystemExit) as stop:
        exec(compile(source, 'quickstart.py', 'exec'), {'__name__': '__main__', '__doc__': 'doc'})
    assert stop.value.code == 0


def test_names_cannot_write_to_the_terminal(capsys):
    Report().add_problem('bad\x1b[2J\n日本語 [red]\udcff')
    shown = capsys.readouterr().err
    assert 'bad\\x1b[2J\\n日本語 [red]\\udcff' in shown and '\x1b[2J' not in shown


@pytest.mark.dist
def test_several_devices_share_the_images(photos, tmp_path, capsys):
    (photos / 'broken.png').write_bytes(b'no picture')
    out = tmp_path / 'out'
    words = [word for word in TINY if word not in ('--device', 'cpu')]
    assert _run('infer', 'pose', photos, '--whole-image', '--out', out, '--devices', 'cpu,cpu', *words) == 1
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob('*.json')) == [
        'pose/a.json', 'pose/sub/b.json']
    shown = capsys.readouterr().err
    assert 'broken.png' in shown and '3/3' in shown
    assert _run('infer', 'pose', photos, '--whole-image', '--out', out, '--devices', 'cpu,cuda:77', *words) == 2
    assert 'cuda:77: device' in capsys.readouterr().err


def test_a_second_run_makes_nothing_again_unless_asked(photos, tmp_path, capsys):
    from sapiens2.apis import Sapiens2Inferencer
    from safetensors.torch import save_file
    model = Sapiens2Inferencer('seg', 'sapiens2_tiny', 'random', 'cpu').networks['seg'].model
    save_file(dict(model.state_dict()), tmp_path / 'w.safetensors')
    words = ['infer', 'seg', photos, '--model', 'tiny', '--weights', tmp_path / 'w.safetensors', '--device', 'cpu',
             '--img-size', '64', '48', '--out', tmp_path / 'out']
    assert _run(*words) == 0
    assert 'finished before' not in capsys.readouterr().err
    assert _run(*words) == 0
    assert '(--overwrite makes them again): 2' in ' '.join(capsys.readouterr().err.split())
    assert _run(*words, '--overwrite') == 0
    assert 'finished before' not in capsys.readouterr().err


def _killed_while_it_writes(writer):
    writer.send(('result', {'task': 'seg'}))
    os.write(writer.fileno(), b'\0\0\1\0half')  # the head of a message of 256 bytes
    os.kill(os.getpid(), signal.SIGKILL)


def _others(writer):
    time.sleep(0.3)
    writer.send(('problem', 'one picture'))
    writer.send(('end', 'no memory'))


@pytest.mark.dist
@pytest.mark.skipif(sys.platform == 'win32', reason='no fork')
def test_a_killed_process_holds_up_no_other():
    context, workers, failures = multiprocessing.get_context('fork'), {}, []
    for number, function in enumerate((_killed_while_it_writes, _others)):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=function, args=(writer,))
        process.start()
        writer.close()
        workers[reader] = number, process
    report = Report()
    found = list(infer_shards._results(argparse.Namespace(devices=['a', 'b']), workers, report, failures))
    assert found == [{'task': 'seg'}] and report.problems == ['one picture']
    assert sorted(failures) == ['a: the process was killed, as systems do when memory is short', 'b: no memory']
