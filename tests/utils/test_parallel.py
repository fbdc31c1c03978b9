"""One function on many items."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest
from filelock import FileLock

from sapiens2.utils.parallel import WorkerLostError, results_of


def square(number: int) -> tuple[int, int]:
    return number**2, os.getpid()


def refuse(number: int) -> int:
    raise ValueError(f'no {number}')


def killed_by_7(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class SlowToLoad:
    """A function that takes minutes to load, and holds a lock meanwhile."""

    def __init__(self, place):
        self.place = place

    def __setstate__(self, state):
        self.lock = FileLock(f'{state["place"]}/lock')
        self.lock.acquire()
        open(f'{state["place"]}/loads', 'w').close()
        time.sleep(300)

    def __call__(self, number):
        return number


@pytest.mark.parametrize('workers', [1, 2])
def test_every_item_gets_its_result(workers):
    results = dict(results_of(square, range(20), workers))
    assert {number: value for number, (value, _) in results.items()} == {number: number**2 for number in range(20)}
    elsewhere = {process for _, process in results.values()} - {os.getpid()}
    assert bool(elsewhere) == (workers > 1)


@pytest.mark.parametrize('workers', [1, 2])
def test_items_are_taken_as_they_are_needed(workers):
    taken = []
    endless = map(lambda number: taken.append(number) or number, itertools.count())
    results = results_of(square, endless, workers)
    next(results)
    results.close()
    assert len(taken) <= 20


@pytest.mark.parametrize('workers', [1, 2])
def test_an_error_reaches_the_caller(workers):
    with pytest.raises(ValueError, match='no 5'):
        list(results_of(refuse, [5], workers))


def test_killed_worker_is_named_with_what_it_worked_on():
    done = []
    with pytest.raises(WorkerLostError, match=r'worked on (7 or \d+|\d+ or 7)\. .*lack of memory: use fewer workers'):
        for number, _ in results_of(killed_by_7, range(100), workers=2):
            done.append(number)
    assert 7 not in done


def test_workers_that_still_load_end_with_the_process_that_started_them(tmp_path):
    program = ('from sapiens2.utils.parallel import results_of\nfrom test_parallel import SlowToLoad\n'
               f'if __name__ == "__main__":\n    list(results_of(SlowToLoad({str(tmp_path)!r}), range(9), 2))\n')
    (tmp_path / 'program.py').write_text(program)
    parent = subprocess.Popen([sys.executable, str(tmp_path / 'program.py')],
                              env=dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), *sys.path])))
    while not (tmp_path / 'loads').exists():
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    FileLock(tmp_path / 'lock').acquire(timeout=60)  # the system frees it when the worker is gone
