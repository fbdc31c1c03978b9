"""Runs programs beside one another, shows how far they are, and goes on where an earlier run was stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from rich.console import Console
from rich.progress import Progress, TaskID

from sapiens2.utils.atomic import atomic_path, is_running
from sapiens2.utils.progress import progress_bar

# Seconds between two looks at the running programs, and those that a stopped one gets to save its work.
_LOOK, _GRACE = 0.3, 60.0
_ITERATION = re.compile(rb'Iter\(train\) \[\s*(\d+)/\d+\]')
# Bytes at the end of a log in which the newest iteration stands; lines of it that are shown when a program fails.
_END, _TAIL = 20_000, 25


class StepFailed(RuntimeError):
    """A program has failed; the message names it, its output and its last lines."""


@dataclass(frozen=True)
class Step:
    """A program and what it leaves.

    Attributes:
        name: unique.
        command: program and arguments.
        result: file that is there at the end.
        total: what ``done`` counts up to; 1 for a step without a count.
        done: given the file of the program's output, how much is done.
    """

    name: str
    command: tuple[str, ...]
    result: Path
    total: int = 1
    done: Callable[[Path], int] = lambda log: 0


class Diary:
    """What was done in a folder, in how many seconds; in ``KIND.json`` there.

    Args:
        folder: made when the first step is noted.
        plan: what is done, plain values by name.
        kind: of the work, for the file and for messages.

    Raises:
        ValueError: if the folder is that of another plan, naming the entry in which they differ, and the remedy.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any], kind: str = 'quickstart') -> None:
        self.folder, self.path = folder, folder / f'{kind}.json'
        self.plan = dict(plan)
        self.steps: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            noted = json.loads(self.path.read_text(encoding='utf-8'))
            for name, value in self.plan.items():
                if noted['plan'].get(name) != value:
                    raise ValueError(f'{folder} holds a {kind} with {name} = {noted["plan"].get(name)!r}, not '
                                     f'{value!r}: give another folder (--out), or delete this one')
            self.steps = noted['steps']

    def is_done(self, step: Step) -> bool:
        """Whether an earlier run has finished ``step`` and what it left is there."""
        return bool(self.steps.get(step.name, {}).get('done')) and step.result.exists()

    def add(self, name: str, seconds: float, done: bool) -> None:
        """Note ``seconds`` of work on a step, and whether it is finished."""
        self.steps[name] = {'seconds': self.seconds(name) + seconds, 'done': done}
        with atomic_path(self.path) as partial:
            partial.write_text(json.dumps({'plan': self.plan, 'steps': self.steps}, indent=2), encoding='utf-8')

    def seconds(self, name: str) -> float:
        """Seconds spent on a step, all runs together."""
        return float(self.steps.get(name, {}).get('seconds', 0.0))

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """Note the seconds that the block takes."""
        start, done = time.perf_counter(), False
        try:
            yield
            done = True
        finally:
            self.add(name, time.perf_counter() - start, done)


@dataclass
class _Running:
    """A step that runs, and those of its lane that come after it."""

    step: Step
    later: deque[Step]
    process: subprocess.Popen
    log: Path
    start: float


def run_lanes(lanes: Sequence[Sequence[Step]], diary: Diary, console: Console, at_once: int = 1,
              threads: Optional[int] = None) -> None:
    """Run the steps of each lane in order, ``at_once`` lanes beside one another; what is done is left out.

    A program's output goes to ``logs/NAME.log`` beside the diary. When this is interrupted, so are the programs, once
    each as from a terminal, and it waits until they have saved their work.

    Args:
        threads: of each program's arithmetic; None leaves that to it.

    Raises:
        StepFailed: if a program fails; the others are stopped.
    """
    waiting = deque(deque(step for step in lane if not diary.is_done(step)) for lane in lanes)
    running: list[_Running] = []
    environment = dict(os.environ, **({} if threads is None else {'OMP_NUM_THREADS': str(threads)}))
    with progress_bar(console) as progress:
        bars = {step.name: progress.add_task(step.name, start=diary.is_done(step), total=step.total,
                                             completed=step.total * diary.is_done(step))
                for lane in lanes for step in lane}
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    lane = waiting.popleft()
                    if lane:
                        running.append(_start(lane, diary, environment))
                        progress.start_task(bars[running[-1].step.name])
                time.sleep(_LOOK)
                for one in list(running):
                    if _look(one, diary, progress, bars[one.step.name]):
                        running.remove(one)
                        waiting.appendleft(one.later)
        finally:
            _stop([one for one in running if one.process.returncode is None], diary)


def _start(lane: deque[Step], diary: Diary, environment: Mapping[str, str]) -> _Running:
    """Start the first step of ``lane``."""
    step = lane.popleft()
    log = log_file(diary.folder, step.name)
    log.parent.mkdir(parents=True, exist_ok=True)
    note = log.with_suffix('.pid')
    if os.name == 'posix' and note.exists() and is_running(int(note.read_text(encoding='utf-8'))):
        raise StepFailed(f'{step.name} still runs as process {note.read_text(encoding="utf-8")}, which an earlier run '
                         'has started and left behind: wait until it has ended, or end it; if that is another program, '
                         f'delete {note}')
    with log.open('wb') as file:
        # In a group of its own: the terminal's Ctrl-C would reach it a second time while it saves its work.
        process = subprocess.Popen(step.command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   env=environment, start_new_session=True)
    with atomic_path(note) as partial:
        partial.write_text(str(process.pid), encoding='utf-8')
    return _Running(step, lane, process, log, time.perf_counter())


def log_file(folder: Path, name: str) -> Path:
    """Output of the step ``name`` of the work in ``folder``."""
    return folder / 'logs' / f'{name.replace(" ", "_")}.log'


def _look(one: _Running, diary: Diary, progress: Progress, bar: TaskID) -> bool:
    """Show how far a step is; whether it has ended."""
    code = one.process.poll()
    if code is None:
        progress.update(bar, completed=min(one.step.done(one.log), one.step.total))
        return False
    one.log.with_suffix('.pid').unlink(missing_ok=True)
    done = code == 0 and one.step.result.exists()
    diary.add(one.step.name, time.perf_counter() - one.start, done)
    if not done:
        lines = one.log.read_text(encoding='utf-8', errors='replace').splitlines()[-_TAIL:]
        reason = f'ended with {code}' if code else f'did not leave {one.step.result}'
        raise StepFailed(f'{one.step.name} {reason}. Its output is in {one.log}; the last lines:\n' + '\n'.join(lines))
    progress.update(bar, completed=one.step.total)
    progress.stop_task(bar)
    return True


def _stop(running: Sequence[_Running], diary: Diary) -> None:
    """Interrupt programs, and wait until they are gone."""
    for one in running:
        _signal(one.process, signal.SIGINT)
    for one in running:
        try:
            one.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            _signal(one.process, signal.SIGKILL)
            one.process.wait()
        one.log.with_suffix('.pid').unlink(missing_ok=True)
        diary.add(one.step.name, time.perf_counter() - one.start, False)


def _signal(process: subprocess.Popen, number: int) -> None:
    with suppress(ProcessLookupError):  # it may have ended meanwhile
        os.killpg(process.pid, number)


def newest_iteration(log: Path) -> int:
    """Iterations that a training run's output says are done."""
    with log.open('rb') as file:
        file.seek(max(0, log.stat().st_size - _END))
        found = _ITERATION.findall(file.read())
    return int(found[-1]) if found else 0


def lines_of(path: Path) -> int:
    """Lines of a file, 0 if there is none."""
    return path.read_bytes().count(b'\n') if path.exists() else 0
