"""Kills commands again and again at random moments; each finished run must be what an undisturbed one is.

    PYTHONPATH=tests python tests/kill_campaign.py --out work_dirs/kills --kills 100
    PYTHONPATH=tests python tests/kill_campaign.py --out work_dirs/kills --kills 100 train video

A command runs in a process that is forked from this one, so that it starts at once, and is killed with all processes it
has started. A run that gets finished in between is compared, thrown away and begun anew.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from comparisons import assert_same, file_hashes
from curation.runs import results as curation_results
from curation.runs import write_killed
from films import make_film
from mmengine.config import Config
from rich.console import Console
from small_recipes import small_recipe
from tiny_data import write_data

from sapiens2.apis.video import VideoInput
from sapiens2.apis.video.reader import open_video
from sapiens2.cli.main import main as sapiens2
from sapiens2.utils.progress import progress_bar

_NEVER, _WAIT = 1e9, 300


class Job(ABC):
    """A command and what it leaves.

    Args:
        scratch: where its input is made.
    """

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    @abstractmethod
    def prepare(self) -> None:
        """Make the input."""

    @abstractmethod
    def command(self, out: Path) -> list[str]:
        """Words after ``sapiens2`` that make ``out``, or go on with it."""

    def result(self, out: Path) -> Any:
        """What must be equal: the bytes of all files but hidden ones."""
        return file_hashes(out)

    def check(self, out: Path) -> None:
        """What must hold after a kill, too."""


class Synth(Job):
    def prepare(self) -> None:
        pass

    def command(self, out: Path) -> list[str]:
        return ['synth', '--num', '6', '--size', '64', '48', '--seed', '5', '--val-every', '3', '--workers', '1',
                '--out', str(out)]


class Train(Job):
    """Twelve updates, a checkpoint after every one of them, so that most kills meet one that is being written."""

    steps = 12

    def prepare(self) -> None:
        data = write_data('normal', self.scratch / 'data', count=7)
        cfg = small_recipe('normal', data, self.scratch / 'unused', train_cfg__max_iters=self.steps,
                           train_cfg__val_interval=self.steps, train_dataloader__num_workers=1,
                           default_hooks__checkpoint__interval=1)
        Config(cfg.to_dict()).dump(str(self.scratch / 'config.py'))

    def command(self, out: Path) -> list[str]:
        return ['train', str(self.scratch / 'config.py'), '--work-dir', str(out), '--resume']

    def check(self, out: Path) -> None:
        newest = out / 'last_checkpoint'
        if newest.exists():
            torch.load(out / Path(newest.read_text(encoding='utf-8').strip()).name, weights_only=True)

    def result(self, out: Path) -> Any:
        state = torch.load(out / f'iter_{self.steps}.pth', weights_only=True)
        return {key: state[key] for key in ('state_dict', 'optimizer', 'param_schedulers')}


class Curate(Job):
    def prepare(self) -> None:
        write_killed(self.scratch, 120)

    def command(self, out: Path) -> list[str]:
        return ['curate', str(self.scratch / 'config.py'), '--out', str(out), '--workers', '1']

    def result(self, out: Path) -> Any:
        return curation_results(out)


class Images(Job):
    def prepare(self) -> None:
        folder = self.scratch / 'images'
        folder.mkdir()
        for number in range(8):
            picture = np.random.default_rng(number).integers(0, 256, (60, 45, 3), dtype=np.uint8)
            cv2.imwrite(str(folder / f'{number}.png'), picture)

    def command(self, out: Path) -> list[str]:
        return ['infer', 'all', str(self.scratch / 'images'), '--whole-image', '--model', 'tiny', '--device', 'cpu',
                '--out', str(out)]

    def result(self, out: Path) -> Any:
        """The journal aside: its lines come as images get finished, by threads."""
        return {name: value for name, value in super().result(out).items() if Path(name).name != 'journal.jsonl'}


class Video(Job):
    def prepare(self) -> None:
        make_film(self.scratch / 'film.mp4', 24, (96, 72), sound='aac')

    def command(self, out: Path) -> list[str]:
        return ['infer', 'normal', str(self.scratch / 'film.mp4'), '--model', 'tiny', '--device', 'cpu',
                '--frame-files', '--out', str(out)]

    def result(self, out: Path) -> Any:
        """Bytes of the frames, and times of the film's frames: its parts begin where a run went on."""
        films = {path.name: [frame.time for frame in open_video(VideoInput(str(path), 'film')).frames()]
                 for path in sorted(out.rglob('*.mp4'))}
        return films, {name: value for name, value in super().result(out).items()
                       if not name.endswith('.mp4') and Path(name).name != 'journal.jsonl'}


JOBS = {'train': Train, 'synth': Synth, 'curate': Curate, 'images': Images, 'video': Video}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jobs', nargs='*', choices=[*JOBS, []], help='default: all')
    parser.add_argument('--out', type=Path, required=True, help='scratch folder')
    parser.add_argument('--kills', type=int, default=100, help='of each')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    figures = {}
    for name in args.jobs or JOBS:
        scratch = args.out.resolve() / name
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        figures[name] = campaign(JOBS[name](scratch), args.kills, random.Random(args.seed))
        print(json.dumps({name: figures[name]}), flush=True)
    return 0


def campaign(job: Job, kills: int, rng: random.Random) -> dict[str, Any]:
    """Kill ``job`` so often; numbers of kills, of finished runs, and seconds of an undisturbed one."""
    job.prepare()
    whole, out = job.scratch / 'whole', job.scratch / 'killed'
    seconds = run(job, whole, _NEVER)
    if seconds is None:
        raise SystemExit(f'{job.scratch.name}: the undisturbed run fails, see {job.scratch}/log')
    expected = job.result(whole)
    done = finished = 0
    with progress_bar(Console(stderr=True)) as progress:
        bar = progress.add_task(job.scratch.name, total=kills)
        while True:
            if run(job, out, rng.uniform(0, seconds) if done < kills else _NEVER) is None:
                done += 1
                progress.advance(bar)
                job.check(out)
                continue
            assert_same(job.result(out), expected, job.scratch.name)
            finished += 1
            if done >= kills:
                return {'kills': done, 'finished and equal': finished, 'seconds undisturbed': round(seconds, 1)}
            shutil.rmtree(out)


def run(job: Job, out: Path, limit: float) -> float | None:
    """Seconds that the command took; None if it was killed after ``limit`` seconds.

    Raises:
        SystemExit: if it ends by itself with an error.
    """
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        log = os.open(job.scratch / 'log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os._exit(exit_code(sapiens2, job.command(out)))
    with contextlib.suppress(PermissionError):  # both do it, for neither knows who comes first
        os.setpgid(child, child)
    while (elapsed := time.monotonic() - start) < min(limit, _WAIT):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status:
                raise SystemExit(f'{job.scratch.name}: ended with status {status}, see {job.scratch}/log')
            return elapsed
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if limit == _NEVER:
        raise SystemExit(f'{job.scratch.name}: hangs, see {job.scratch}/log')
    return None


def exit_code(call: Callable[[list[str]], int], words: list[str]) -> int:
    """What ``call`` gives, or ends the program with."""
    try:
        return call(words)
    except SystemExit as error:
        return int(error.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == '__main__':
    raise SystemExit(main())
