"""Peak memory of inference on a large photograph, beyond that of the model, a fresh process for each row.

Weights are random: they change no size. Linux only, whose kernel counts the peak of a process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2

from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.utils.task_models import task_config
from sapiens2.utils.tasks import TASKS


def memory(field: str) -> float:
    """``VmRSS`` (now) or ``VmHWM`` (at most, since the last reset) of this process, GB."""
    line = next(line for line in Path('/proc/self/status').read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e9


def measure(args: argparse.Namespace) -> None:
    """Print one row of the table."""
    cfg = task_config(args.task, args.model)
    if args.arch:
        cfg.model.backbone.arch = args.arch
    inferencer = Sapiens2Inferencer(args.task, cfg, 'random', device='cpu', dtype=args.dtype)
    before = memory('VmRSS')
    Path('/proc/self/clear_refs').write_text('5')  # the peak counts from here
    began = time.monotonic()
    options = dict(whole_image=True) if args.task == 'pose' else {}
    with tempfile.TemporaryDirectory() as folder:
        result, = inferencer([args.image], out_dir=folder if args.write else None, **options)
    if result['error']:
        raise SystemExit(result['error'])
    height, width = cfg.model.backbone.img_size
    print(f'| {args.task} | {cfg.model.backbone.arch} | {height}x{width} | {args.dtype} '
          f'| {"yes" if args.write else "no"} | {before:.2f} | {memory("VmHWM") - before:.2f} '
          f'| {time.monotonic() - began:.0f} |', flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('image', help='photograph')
    parser.add_argument('--size', type=int, nargs=2, default=(6144, 8192), metavar=('H', 'W'),
                        help='it is enlarged to so many pixels')
    parser.add_argument('--tasks', nargs='+', choices=TASKS, default=list(TASKS))
    parser.add_argument('--model', default='0.1b', help='name of a model')
    parser.add_argument('--arch', help='another backbone in place of its own')
    parser.add_argument('--dtype', choices=('bf16', 'fp32'), default='bf16')
    parser.add_argument('--write', action='store_true', help='also write the results as files')
    parser.add_argument('--task', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        measure(args)
        return
    print('| task | backbone | network input | dtype | files written | process before, GB | beyond it, GB | s |\n'
          '|---|---|---|---|---|---:|---:|---:|', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, 'large.jpg')
        picture = cv2.imread(args.image)
        if picture is None:
            parser.error(f'{args.image} cannot be read as a picture')
        cv2.imwrite(str(large), cv2.resize(picture, tuple(args.size)[::-1], interpolation=cv2.INTER_CUBIC))
        for task in args.tasks:
            options = ['--model', args.model, '--dtype', args.dtype, *(['--arch', args.arch] if args.arch else []),
                       *(['--write'] if args.write else [])]
            subprocess.run([sys.executable, __file__, str(large), '--task', task, *options], check=True)


if __name__ == '__main__':
    main()
