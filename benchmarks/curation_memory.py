"""Largest memory of ``sapiens2 curate`` with more and more images, of the process that leads and of those that work.

    python benchmarks/curation_memory.py --out /tmp/memory 1000 10000 50000

The images are 200 small made-up ones under many names (hard links), with ``configs/curation/clean.py``; equal files
are all but 200 left out, so a second run with ``near_duplicates=None`` shows what writing takes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import psutil

CONFIG = Path(__file__).parents[1] / 'configs/curation/clean.py'
_DIFFERENT, _PER_FOLDER = 200, 1000
STEPS = ('score', 'select', 'write', 'report')


def make(folder: Path, count: int) -> None:
    """``count`` names of few pictures."""
    originals = folder / '.originals'
    originals.mkdir(parents=True, exist_ok=True)
    for number in range(_DIFFERENT):
        rng = np.random.default_rng(number)
        picture = cv2.resize(rng.integers(0, 256, (9, 7, 3), dtype=np.uint8), (96, 128), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(originals / f'{number}.jpg'), picture)
    for number in range(count):
        path = folder / f'{number // _PER_FOLDER:04d}' / f'{number:07d}.jpg'
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            os.link(originals / f'{number % _DIFFERENT}.jpg', path)


def watched(command: list[str]) -> tuple[float, float, float]:
    """Largest MB of the process and of the largest of its children, and seconds of all their processors."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    largest = [0, 0]

    def watch() -> None:
        leader = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                largest[0] = max(largest[0], leader.memory_info().rss)
                largest[1] = max([largest[1], *(child.memory_info().rss for child in leader.children(recursive=True))])
            except psutil.Error:  # it has ended meanwhile
                pass
            time.sleep(0.02)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    thread = threading.Thread(target=watch)
    thread.start()
    if process.wait():
        raise SystemExit(f'{" ".join(command)} failed')
    thread.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return largest[0] / 1e6, largest[1] / 1e6, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure each number, each step in processes of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('counts', type=int, nargs='+')
    parser.add_argument('--out', type=Path, required=True, help='an empty folder')
    parser.add_argument('--workers', type=int, default=2)
    args = parser.parse_args()
    print('| images | step | leads, MB | works, MB | core, s |\n|---:|---|---:|---:|---:|', flush=True)
    for count in args.counts:
        make(args.out / f'images-{count}', count)
        for step in STEPS:
            options = ['filters.1.at_least=64', *(['near_duplicates=None'] if step in ('write', 'report') else [])]
            leads, works, seconds = watched([
                sys.executable, '-m', 'sapiens2.cli', 'curate', str(CONFIG), '--data-root',
                str(args.out / f'images-{count}'), '--out', str(args.out / f'curated-{count}'), '--workers',
                str(args.workers), '--steps', step, '--cfg-options', *options])
            print(f'| {count:,} | {step} | {leads:,.0f} | {works:,.0f} | {seconds:,.1f} |', flush=True)


if __name__ == '__main__':
    main()
