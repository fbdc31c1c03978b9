"""Runs training, inference and the demo page for hours, and looks whether they hold more and more.

    PYTHONPATH=tests python tests/soak.py --out work_dirs/soak --hours 2
    PYTHONPATH=tests python tests/soak.py --out work_dirs/soak --hours 2 train serve
    PYTHONPATH=tests python tests/soak.py --out work_dirs/soak --table      # what there is so far

Each job is a process of its own, with the lowest claim to processors, one thread for arithmetic and a folder for its
temporary files. Every half minute samples.jsonl gets what it holds: memory, open files, threads, temporary files; and
what it has done. In the end there is a table; the exit code is 1 if something grew, was lost, or ended by itself.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Optional

from odd_pictures import write_odd_pictures
from rich.console import Console
from soak_figures import Diary, sample, tables

INTERVAL, CLIENTS, END = 30.0, 3, 120
_NEVER = 10 ** 9


class Job(ABC):
    """Something that runs until it is told to end.

    Args:
        folder: its own.
    """

    helper = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def prepare(self) -> None:
        """Make the input; called once, in the main process."""

    @abstractmethod
    def run(self) -> int:
        """Run until SIGTERM comes; the exit code, of which 0 and 130 are good."""

    def help(self) -> int:
        """What must run beside it, in another process that is not looked at."""
        return 0

    def done(self) -> dict[str, int]:
        """What has been done so far."""
        path = self.folder / 'counts.json'
        return json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}

    def count(self, counts: Counter[str]) -> None:
        """Note ``counts`` for ``done``."""
        partial = self.folder / 'counts.new'
        partial.write_text(json.dumps({name: counts[name] for name in ('done', 'refused', 'lost')}), encoding='utf-8')
        partial.replace(self.folder / 'counts.json')


class Train(Job):
    """One run that never ends, with a checkpoint, a validation and pictures every few seconds."""

    def prepare(self) -> None:
        from mmengine.config import Config
        from small_recipes import small_recipe
        from tiny_data import write_data
        data = write_data('normal', self.folder / 'data', count=7)
        cfg = small_recipe('normal', data, self.folder / 'unused', train_cfg__max_iters=_NEVER,
                           train_cfg__val_interval=50, train_dataloader__num_workers=1, val_dataloader__num_workers=1,
                           val_dataloader__persistent_workers=False, default_hooks__checkpoint__interval=50,
                           default_hooks__logger__interval=10, param_scheduler__1__end=_NEVER, log_level='INFO')
        for hook in cfg.custom_hooks:
            if hook['type'] == 'SamplePicturesHook':
                hook['interval'] = 50
        Config(cfg.to_dict()).dump(str(self.folder / 'config.py'))

    def run(self) -> int:
        from sapiens2.cli.main import main as sapiens2
        return sapiens2(['train', str(self.folder / 'config.py'), '--work-dir', str(self.folder / 'run')])

    def done(self) -> dict[str, int]:
        """Iterations, by the newest checkpoint."""
        newest = self.folder / 'run/last_checkpoint'
        name = Path(newest.read_text(encoding='utf-8').strip()).stem if newest.exists() else ''
        return {'done': int(name.removeprefix('iter_') or 0), 'lost': 0}


class Infer(Job):
    """One inferencer of five tasks that takes the same folder again and again, and a film."""

    def prepare(self) -> None:
        from films import make_film
        write_odd_pictures(self.folder / 'pictures')
        make_film(self.folder / 'film.mp4', 8, (96, 72), sound='aac')

    def run(self) -> int:
        from sapiens2.apis import Sapiens2Inferencer
        from sapiens2.apis.outputs import OutputOptions
        from sapiens2.apis.video.options import VideoOptions
        from sapiens2.apis.video.run import run_video
        from sapiens2.utils.tasks import TASKS
        ended = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
        inferencer = Sapiens2Inferencer(TASKS, 'tiny', device='cpu')
        film = Sapiens2Inferencer(('normal', 'seg'), 'tiny', device='cpu')
        outputs = OutputOptions(pointmap=('png', 'npz', 'glb'))
        expected: dict[tuple[str, str], Optional[str]] = {}
        counts: Counter[str] = Counter()
        while not ended.is_set():
            for result in inferencer.iterate(self.folder / 'pictures', whole_image=True,
                                             out_dir=self.folder / 'results', outputs=outputs, keep_values=False):
                kind = 'refused' if result['error'] else 'done'
                # Every round must come out as the first one.
                if expected.setdefault((result['path'], result['task']), result['error']) != result['error']:
                    kind = 'lost'
                counts[kind] += 1
                self.count(counts)
            summary = run_video(film, self.folder / 'film.mp4', self.folder / 'films', VideoOptions(frame_files=True),
                                resume=False)
            counts['done' if summary.frames == 8 and not summary.problems else 'lost'] += 1
            self.count(counts)
        return 0


class Serve(Job):
    """The demo page, and beside it three visitors who never tire, with good files and bad ones."""

    helper = True

    def prepare(self) -> None:
        from processes import free_port
        write_odd_pictures(self.folder / 'pictures')
        (self.folder / 'port').write_text(str(free_port()), encoding='ascii')

    @property
    def port(self) -> str:
        return (self.folder / 'port').read_text(encoding='ascii')

    def run(self) -> int:
        from sapiens2.cli.main import main as sapiens2
        return sapiens2(['serve', '--model', 'tiny', '--port', self.port, '--keep', '120', '--device', 'cpu'])

    def help(self) -> int:
        ended = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
        counts: Counter[str] = Counter()
        visitors = [threading.Thread(target=self._visit, args=(number, counts, ended)) for number in range(CLIENTS)]
        for visitor in visitors:
            visitor.start()
        while not ended.wait(5):
            self.count(counts)
        for visitor in visitors:
            visitor.join(END / 2)
        self.count(counts)
        return 0

    def _visit(self, number: int, counts: Counter[str], ended: threading.Event) -> None:
        """A new visitor for every file; what comes must be a result for a good one, a refusal for a bad one."""
        from gradio_client import Client, handle_file
        from sapiens2.serve.answer import DETECT, WHOLE
        from sapiens2.utils.tasks import TASKS
        address = f'http://127.0.0.1:{self.port}'
        pictures = sorted((self.folder / 'pictures').iterdir())
        good = {path for path in pictures if path.stem in _GOOD}
        downloads = self.folder / f'downloads{number}'
        turn = number * 5
        while not ended.is_set():
            path, task = pictures[turn % len(pictures)], TASKS[turn // 3 % len(TASKS)]
            turn += 1
            try:
                client = Client(address, verbose=False, download_files=str(downloads))
                status = client.predict(handle_file(path), task, 'sapiens2_tiny', DETECT if turn % 2 else WHOLE, '',
                                        api_name='/run')[0]
                client.close()
            except Exception as error:
                if not counts['done']:
                    ended.wait(5)  # the server has not started yet
                    continue
                print(f'{path.name} {task}: {error!r}', flush=True)
                counts['lost'] += 1
                ended.wait(1)
                continue
            kind = 'done' if 's2-done' in status else 'refused'
            if (kind == 'done') != (path in good):
                print(f'{path.name} {task}: {status}', flush=True)
                kind = 'lost'
            counts[kind] += 1
            shutil.rmtree(downloads, ignore_errors=True)


_GOOD = {'plain', 'turned', 'grey', 'palette', 'cmyk', 'alpha', 'deep', 'web', 'one_pixel', 'narrow', 'wide'}
JOBS: dict[str, type[Job]] = {'train': Train, 'infer': Infer, 'serve': Serve}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jobs', nargs='*', choices=[*JOBS, []], help='default: all')
    parser.add_argument('--out', type=Path, required=True, help='scratch folder')
    parser.add_argument('--hours', type=float, default=2.0)
    parser.add_argument('--table', action='store_true', help='only show what is in samples.jsonl')
    args = parser.parse_args()
    samples = args.out.resolve() / 'samples.jsonl'
    good = True if args.table else soak(args.jobs or list(JOBS), args.out.resolve(), args.hours)
    shown, steady = tables(samples)
    for table in shown:
        Console().print(table)
    return 0 if good and steady else 1


def soak(names: list[str], out: Path, hours: float) -> bool:
    """Run the jobs so long; whether all went on to the end, ended when told to, and lost nothing."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    diary, running, good = Diary(out / 'samples.jsonl'), {}, True
    for name in names:
        job = JOBS[name](out / name)
        job.folder.mkdir()
        job.prepare()
        running[name] = (job, start(name, job.folder, False), start(name, job.folder, True) if job.helper else None)
    until = time.monotonic() + hours * 3600
    while time.monotonic() < until:
        time.sleep(min(INTERVAL, max(until - time.monotonic(), 0)))
        for name, (job, process, _) in running.items():
            if process.is_alive():
                diary.add(name, {**sample(process.pid, temporary(job.folder)), **job.done()})
    for name, (job, process, helper) in running.items():
        alive = process.is_alive()
        codes = [end(one) for one in (helper, process) if one is not None]
        left = [str(path) for path in temporary(job.folder).rglob('*') if path.is_file()]
        left += [str(path) for path in job.folder.rglob('.partial-*')]
        faults = {'ended by itself': not alive, 'exit codes': [code for code in codes if code not in (0, 130)],
                  'left behind': left, 'lost': job.done().get('lost', 0)}
        diary.path.with_name(f'{name}.json').write_text(json.dumps(faults), encoding='utf-8')
        print(json.dumps({name: faults}), flush=True)
        good &= not any(faults.values())
    return good


def temporary(folder: Path) -> Path:
    """Where a job has its temporary files."""
    return folder / 'temporary'


def start(name: str, folder: Path, helper: bool) -> BaseProcess:
    process = multiprocessing.get_context('spawn').Process(target=work, args=(name, folder, helper))
    process.start()
    return process


def end(process: BaseProcess) -> Optional[int]:
    """Tell it to end, and its exit code."""
    process.terminate()
    process.join(END)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


def work(name: str, folder: Path, helper: bool) -> None:
    """What a process does."""
    os.nice(15)
    place = folder / 'temporary_of_helper' if helper else temporary(folder)
    place.mkdir()
    tempfile.tempdir = os.environ['TMPDIR'] = str(place)
    log = os.open(folder / ('helper.log' if helper else 'log'), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    import torch
    torch.set_num_threads(1)
    job = JOBS[name](folder)
    sys.exit(job.help() if helper else job.run())


if __name__ == '__main__':
    raise SystemExit(main())
