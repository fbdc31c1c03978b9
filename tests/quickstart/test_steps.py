"""Programs beside one another: order, what is left out, failures, Ctrl-C."""

from __future__ import annotations

import io
import json
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from sapiens2.quickstart.steps import Diary, Step, StepFailed, lines_of, newest_iteration, run_lanes


def step(folder: Path, name: str, code: str, leaves: bool = True, **options) -> Step:
    """A step whose program runs ``code`` and then writes its name to ``order.txt`` and to its result."""
    result = folder / f'{name}.txt'
    end = f"open({str(folder / 'order.txt')!r}, 'a').write({name!r} + ' ')\n"
    end += f"open({str(result)!r}, 'w').write('done')\n" if leaves else ''
    return Step(name, (sys.executable, '-c', f'{code}\n{end}'), result, **options)


def quiet() -> Console:
    return Console(file=io.StringIO())


def test_a_lane_runs_in_order_and_only_once(tmp_path):
    diary = Diary(tmp_path, {'seed': 0})
    lanes = [[step(tmp_path, 'a', 'pass'), step(tmp_path, 'b', 'pass')]]
    run_lanes(lanes, diary, quiet(), at_once=2)
    assert (tmp_path / 'order.txt').read_text().split() == ['a', 'b']
    assert diary.seconds('a') > 0
    run_lanes(lanes, Diary(tmp_path, {'seed': 0}), quiet())
    assert (tmp_path / 'order.txt').read_text().split() == ['a', 'b']
    (tmp_path / 'b.txt').unlink()
    run_lanes(lanes, Diary(tmp_path, {'seed': 0}), quiet())
    assert (tmp_path / 'order.txt').read_text().split() == ['a', 'b', 'b']


def test_lanes_run_beside_one_another(tmp_path):
    wait = ('import pathlib, time\nend = time.time() + 20\n'
            'while not pathlib.Path({!r}).exists() and time.time() < end:\n    time.sleep(0.05)\n'
            'assert pathlib.Path({!r}).exists()')
    other = str(tmp_path / 'second.txt')
    run_lanes([[step(tmp_path, 'first', wait.format(other, other))], [step(tmp_path, 'second', 'pass')]],
              Diary(tmp_path, {}), quiet(), at_once=2, threads=1)
    assert (tmp_path / 'order.txt').read_text().split() == ['second', 'first']


def test_a_failure_shows_what_the_program_said_and_stops_the_others(tmp_path):
    diary = Diary(tmp_path, {})
    lanes = [[step(tmp_path, 'long', 'import time; time.sleep(60)')],
             [step(tmp_path, 'bad', "raise SystemExit('no space for that')"), step(tmp_path, 'never', 'pass')]]
    with pytest.raises(StepFailed, match='bad ended with 1.*bad.log[^$]*no space for that'):
        run_lanes(lanes, diary, quiet(), at_once=2)
    assert not (tmp_path / 'order.txt').exists()
    assert not any(entry['done'] for entry in Diary(tmp_path, {}).steps.values())


def test_a_program_that_leaves_nothing_has_failed(tmp_path):
    with pytest.raises(StepFailed, match='empty did not leave .*empty.txt'):
        run_lanes([[step(tmp_path, 'empty', 'pass', leaves=False)]], Diary(tmp_path, {}), quiet())


def test_an_interrupt_reaches_programs_once_and_waits_for_them(tmp_path):
    code = f"""import signal, time, pathlib
count = 0
def handle(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, handle)
pathlib.Path({str(tmp_path / 'ready')!r}).touch()
while not count:
    time.sleep(0.05)
time.sleep(0.3)
pathlib.Path({str(tmp_path / 'count')!r}).write_text(str(count))
raise SystemExit(130)"""

    def interrupt() -> None:
        end = time.monotonic() + 30
        while not (tmp_path / 'ready').exists() and time.monotonic() < end:
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_lanes([[step(tmp_path, 'saves', code)]], Diary(tmp_path, {}), quiet())
    thread.join()
    assert (tmp_path / 'count').read_text() == '1'
    assert Diary(tmp_path, {}).steps['saves']['done'] is False


def test_a_folder_of_another_plan_is_refused(tmp_path):
    Diary(tmp_path, {'seed': 0}).add('a', 1.0, True)
    with pytest.raises(ValueError, match=r'seed = 0, not 1: give another folder \(--out\)'):
        Diary(tmp_path, {'seed': 1})
    assert json.loads((tmp_path / 'quickstart.json').read_text())['steps']['a'] == {'seconds': 1.0, 'done': True}


def test_counts_of_what_is_done(tmp_path):
    log = tmp_path / 'log'
    log.write_text('Iter(train) [  1/300]  lr\nIter(train) [ 25/300]  lr\nIter(val) [30/47]\n')
    assert newest_iteration(log) == 25
    assert (lines_of(log), lines_of(tmp_path / 'none')) == (3, 0)
