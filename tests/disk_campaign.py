"""Lets the disk get full, or be read-only, under every command that writes; mounts file systems, so it needs root.

    PYTHONPATH=tests python tests/disk_campaign.py --out work_dirs/disks
    PYTHONPATH=tests python tests/disk_campaign.py --out work_dirs/disks train probe

A command writes to a file system in memory that holds some share of what an undisturbed run writes. It must end with an
error that names a file or folder there, without a traceback. Then the file system grows, and the same command must
finish to what an undisturbed run is. The same with a read-only folder. A line of JSON for each command says what came.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
import torch
import yaml
from comparisons import assert_same, file_hashes
from kill_campaign import JOBS as KILLED
from kill_campaign import Images, Job, exit_code
from tiny_data import write_data

from sapiens2.cli.output_options import MORE_FORMATS

SHARES, WAIT = (0.05, 0.3, 0.6, 0.9), 300
CONFIGS = Path(__file__).parents[1] / 'configs'
SEG = str(CONFIGS / 'seg/sapiens2-tiny_seg_folder-256x192.py')
ALONE = 'test_dataloader.num_workers=0'


class Dump(Job):
    """Metrics, and predictions of all samples."""

    def prepare(self) -> None:
        from sapiens2.weights import embedded_weights
        self.options, self.weights = write_data('seg', self.scratch / 'data'), embedded_weights('seg', 'sapiens2_tiny')

    def command(self, out: Path) -> list[str]:
        return ['test', SEG, str(self.weights), '--work-dir', str(out), '--dump',
                str(out / 'predictions.pkl'), '--cfg-options', *self.options, ALONE]

    def result(self, out: Path) -> Any:
        return file_hashes(out)['predictions.pkl']


class Writers(Images):
    """All formats of all tasks."""

    def command(self, out: Path) -> list[str]:
        return [*super().command(out), '--also',
                ','.join(MORE_FORMATS)]


class Features(Images):
    def command(self, out: Path) -> list[str]:
        return ['features', str(self.scratch / 'images'), '--model', 'tiny', '--size', '64', '48', '--pictures',
                '--out', str(out)]


class Export(Job):
    def prepare(self) -> None:
        pass

    def command(self, out: Path) -> list[str]:
        return ['export', 'seg', str(out / 'seg.ts'), '--model', 'tiny', '--img-size', '64', '48', '--force']

    def result(self, out: Path) -> Any:
        return sorted(file_hashes(out))


class Convert(Job):
    def prepare(self) -> None:
        from sapiens2.weights import embedded_weights
        self.weights = embedded_weights('seg', 'sapiens2_tiny')

    def command(self, out: Path) -> list[str]:
        return ['convert', str(self.weights), str(out / 'a.safetensors'), '--to', 'released', '--force']


class Transformers(Convert):
    def command(self, out: Path) -> list[str]:
        return ['convert', str(self.weights), str(out / 'a'), '--to', 'transformers', '--img-size', '256', '192',
                '--force']


class DataConvert(Job):
    """LIP, with its label maps."""

    def prepare(self) -> None:
        rng = np.random.default_rng(0)
        for split, short in (('train', 'train'), ('val', 'val')):
            names = [f'{number}_{short}' for number in range(6)]
            for kind, ending, shape in (('images', 'jpg', (80, 60, 3)), ('segmentations', 'png', (80, 60))):
                folder = (self.scratch / 'LIP/TrainVal_images' if kind == 'images' else
                          self.scratch / 'LIP/TrainVal_parsing_annotations') / f'{split}_{kind}'
                folder.mkdir(parents=True)
                for name in names:
                    cv2.imwrite(str(folder / f'{name}.{ending}'), rng.integers(0, 20, shape, dtype=np.uint8))
            (self.scratch / f'LIP/{split}_id.txt').write_text('\n'.join(names), encoding='utf-8')

    def command(self, out: Path) -> list[str]:
        return ['data', 'convert', 'lip', str(self.scratch / 'LIP'), str(out), '--workers', '1']


class Browse(Dump):
    def command(self, out: Path) -> list[str]:
        return ['data', 'browse', str(self.scratch / 'data'), '--num', '4', '--out', str(out)]

    def result(self, out: Path) -> Any:
        return file_hashes(out)


class Check(Dump):
    def command(self, out: Path) -> list[str]:
        return ['data', 'check', str(self.scratch / 'data'), '--workers', '0', '--json', str(out / 'faults.json')]

    def result(self, out: Path) -> Any:
        return sorted(file_hashes(out))


class Probe(Job):
    def prepare(self) -> None:
        rng = np.random.default_rng(0)
        for split, count in (('train', 8), ('val', 4)):
            for number in range(count):
                labels = np.zeros((64, 48), np.uint8)
                labels[16:48, 16:32] = 23
                for name, pixels in (('images', rng.integers(0, 256, (64, 48, 3), dtype=np.uint8)), ('labels', labels),
                                     ('masks', (labels > 0).astype(np.uint8) * 255)):
                    path = self.scratch / 'data' / split / name / f'{number}.png'
                    path.parent.mkdir(parents=True, exist_ok=True)
                    cv2.imwrite(str(path), pixels)

    def command(self, out: Path) -> list[str]:
        return ['probe', 'nano=sapiens2_nano@random', '--data', str(self.scratch / 'data'), '--out', str(out), '--size',
                '64', '48', '--draws', '2', '--shots', '1', '--shown', '2', '--dtype', 'fp32']

    def result(self, out: Path) -> Any:
        return json.loads((out / 'metrics.json').read_text(encoding='utf-8'))['figures']


class Benchmark(Dump):
    def prepare(self) -> None:
        super().prepare()
        rows = [{'name': name, 'config': SEG, 'predictions': str(self.scratch / 'data/val/labels')}
                for name in ('one', 'two')]
        (self.scratch / 'spec.yml').write_text(yaml.safe_dump({
            'cfg_options': {'data_root': str(self.scratch / 'data')}, 'rows': rows}), encoding='utf-8')

    def command(self, out: Path) -> list[str]:
        return ['benchmark', str(self.scratch / 'spec.yml'), '--out', str(out)]

    def result(self, out: Path) -> Any:
        return [row['figures'] for row in json.loads((out / 'table.json').read_text(encoding='utf-8'))['rows']]


class Quickstart(Job):
    def prepare(self) -> None:
        pass

    def command(self, out: Path) -> list[str]:
        return ['quickstart', '--quick', '--out', str(out)]

    def result(self, out: Path) -> Any:
        return sorted(name for name in file_hashes(out) if name.startswith(('figures', 'report')))


JOBS = {**KILLED, 'dump': Dump, 'writers': Writers, 'features': Features, 'export': Export, 'convert': Convert,
        'transformers': Transformers, 'data-convert': DataConvert, 'browse': Browse, 'check': Check, 'probe': Probe,
        'benchmark': Benchmark, 'quickstart': Quickstart}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jobs', nargs='*', choices=[*JOBS, []], help='default: all but quickstart')
    parser.add_argument('--out', type=Path, required=True, help='scratch folder')
    args = parser.parse_args()
    torch.set_num_threads(1)
    good = True
    for name in args.jobs or [name for name in JOBS if name != 'quickstart']:
        scratch = args.out.resolve() / name
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        faults = campaign(JOBS[name](scratch))
        good &= not faults
        print(json.dumps({name: faults or 'good'}), flush=True)
    return 0 if good else 1


def campaign(job: Job) -> list[str]:
    """What is wrong with a command when its disk is full, or read-only."""
    job.prepare()
    whole, disk = job.scratch / 'whole', job.scratch / 'disk'
    code, said = run(job, whole)
    if code != 0:
        return [f'the undisturbed run ends with {code}: {said[-300:]}']
    expected = job.result(whole)
    disk.mkdir()
    size = sum(path.stat().st_size for path in whole.rglob('*') if path.is_file())
    faults = []
    for share in SHARES:
        pages = max(int(size * share) // 4096, 4)
        mount('-t', 'tmpfs', '-o', f'size={pages * 4096}', 'tmpfs', str(disk))
        try:
            faults += [f'full at {share:g}: {fault}' for fault in meet(job, disk, pages, expected)]
        finally:
            subprocess.run(['umount', '-l', str(disk)], check=True)
    mount('-t', 'tmpfs', '-o', 'ro', 'tmpfs', str(disk))
    try:
        faults += [f'read-only: {fault}' for fault in refused(*run(job, disk / 'out'), disk)]
    finally:
        subprocess.run(['umount', '-l', str(disk)], check=True)
    return faults


def meet(job: Job, disk: Path, pages: int, expected: Any) -> list[str]:
    """Run on a full disk, and again when there is room."""
    code, said = run(job, disk / 'out')
    if code == 0:  # compressed better, or cleaned up on the way: all must be there
        faults = []
    else:
        faults = refused(code, said, disk)
    mount('-o', f'remount,size={pages * 4096 + (1 << 30)}', str(disk))
    faults += [f'left {path}' for path in disk.rglob('.partial-*')]
    code, said = run(job, disk / 'out')
    if code != 0:
        return [*faults, f'with room again it ends with {code}: {said[-400:]}']
    try:
        assert_same(job.result(disk / 'out'), expected, 'result')
    except (AssertionError, OSError) as error:
        faults.append(f'with room again the result differs: {error}')
    return faults


def refused(code: Optional[int], said: str, disk: Path) -> list[str]:
    """What is wrong with an error: its exit code and its text."""
    lines = [line for line in said.splitlines() if 'error' in line.lower() or str(disk) in line]
    faults = [] if code in (1, 2) else [f'exit code {code}']
    faults += ['a traceback'] if 'Traceback' in said else []
    named = any(str(disk) in line and any(word in line for word in ('space', 'full', 'Read-only')) for line in lines)
    faults += [] if named else ['no file is named']
    return [f'{", ".join(faults)}: {said[-600:]}'] if faults else []


def mount(*words: str) -> None:
    subprocess.run(['mount', *words], check=True)


def run(job: Job, out: Path) -> tuple[Optional[int], str]:
    """Exit code and what was said; None if it hangs."""
    log = job.scratch / 'log'
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        os._exit(exit_code(call, job.command(out)))
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), log.read_text(encoding='utf-8', errors='replace')
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None, 'hangs: ' + log.read_text(encoding='utf-8', errors='replace')


def call(words: list[str]) -> int:
    """A verb of the command, or one of the tools."""
    try:
        return _call(words)
    except Exception:
        traceback.print_exc()
        return 1


def _call(words: list[str]) -> int:
    if words[0] == 'benchmark':
        from sapiens2.evaluation.benchmark.command import main as benchmark
        return benchmark(words[1:])
    if words[0] == 'quickstart':
        tool = Path(__file__).parents[1] / 'tools/quickstart.py'
        return subprocess.run([sys.executable, str(tool), *words[1:]], check=False).returncode
    from sapiens2.cli.main import main as sapiens2
    return sapiens2(words)


if __name__ == '__main__':
    raise SystemExit(main())
