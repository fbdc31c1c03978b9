"""Large networks on a machine with little memory: time and memory of each way to hold the weights. Linux only.

    python benchmarks/small_machine.py PHOTOGRAPH [--arch sapiens2_5b] [--file FILE] [--ways mapped streamed int8]

Random weights of the segmentation network are written in the released format, one tensor in memory at a time, unless
the file is there; without --file it lies in a temporary folder. Each way runs in its own process, which starts with the
file out of the system's cache if --cold is given: the time to the first result counts from the start of building the
network, imports done. "mapped" keeps all weights, "streamed" reads block by block, "int8" holds int8. Peaks are of the
whole process: resident (with the pages of the mapped file, which the system can take back) and anonymous (which it
cannot).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.utils.task_models import task_config
from sapiens2.models.checkpoints.build import parameters_on_meta
from sapiens2.models.checkpoints.write import write_safetensors
from sapiens2.registry import MODELS, register_all
from sapiens2.utils.devices import dtype_named

WAYS = {'mapped': dict(stream_layers='never'), 'streamed': dict(stream_layers='always'),
        'int8': dict(int8_weights=True)}
NUMBERS = 1 << 22  # random numbers, which are repeated


@dataclass(frozen=True)
class RandomTensor:
    """Stands for a tensor of a file; drawn when it is read. Scales and norms keep sensible sizes."""

    name: str
    shape: torch.Size
    numbers: Tensor

    @property
    def dtype(self) -> torch.dtype:
        return self.numbers.dtype

    def read(self, dtype: torch.dtype, device: torch.device) -> Tensor:
        if len(self.shape) == 1:
            value = float(self.name.endswith('weight')) * (0.1 if 'gamma' in self.name else 1.0)
            return torch.full(self.shape, value, dtype=dtype)
        count = self.shape.numel()
        return self.numbers.repeat(-(-count // NUMBERS))[:count].view(self.shape).to(dtype)

    def release(self) -> None:
        """There is no file behind it."""


def write_random(path: Path, arch: str, dtype: torch.dtype) -> None:
    """Write weights of the segmentation network, in the released format."""
    register_all()
    with parameters_on_meta():
        model = MODELS.build(task_config('seg', arch).model)
    numbers = (torch.randn(NUMBERS) * 0.02).to(dtype)
    state = {name: RandomTensor(name, parameter.shape, numbers) for name, parameter in model.named_parameters()}
    write_safetensors(path, state)


def memory(field: str) -> float:
    """A field of the process's status in GB."""
    lines = Path('/proc/self/status').read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e9


def measure(args: argparse.Namespace, way: str) -> dict[str, float]:
    """Seconds on the clock and of the processor, and peaks of memory in GB, of one way in this process."""
    if args.cold:
        with open(args.file, 'rb') as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            peak[0] = max(peak[0], memory('RssAnon'))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        start = time.perf_counter()
        inferencer = Sapiens2Inferencer('seg', args.arch, args.file, 'cpu', args.dtype, **WAYS[way])
        figures = {'ready': time.perf_counter() - start}
        for name in ('first', 'next')[:args.images]:
            begin, processor = time.perf_counter(), time.process_time()
            results = inferencer([args.photo] * args.batch, batch_size=args.batch)
            if any(result['error'] for result in results):
                raise RuntimeError(results[0]['error'])
            figures[name] = (time.perf_counter() - begin) / args.batch
            figures[f'{name}, processor'] = (time.process_time() - processor) / args.batch
    finally:
        done.set()
        watcher.join()
    return {**figures, 'resident': memory('VmHWM'), 'anonymous': peak[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('photo', metavar='PHOTOGRAPH')
    parser.add_argument('--arch', default='sapiens2_5b')
    parser.add_argument('--file', help='weights; written if missing')
    parser.add_argument('--file-dtype', default='bf16', help='of a file that is written (default: %(default)s)')
    parser.add_argument('--dtype', default='bf16', help='to compute in (default: %(default)s)')
    parser.add_argument('--ways', nargs='+', choices=WAYS, default=list(WAYS))
    parser.add_argument('--images', type=int, choices=(0, 1, 2), default=2,
                        help='batches; 0 only builds the network (default: %(default)s)')
    parser.add_argument('--batch', type=int, default=1, help='images in a batch (default: %(default)s)')
    parser.add_argument('--cold', action='store_true', help="take the file out of the system's cache first")
    parser.add_argument('--measure', choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args, args.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        args.file = args.file or str(Path(folder) / 'random.safetensors')
        if not Path(args.file).exists():
            write_random(Path(args.file), args.arch, dtype_named(args.file_dtype))
        print(f'{args.arch}, file of {Path(args.file).stat().st_size / 1e9:.1f} GB, {args.dtype}, batch {args.batch}, '
              f'{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.0f}')
        for way in args.ways:
            command = [sys.executable, __file__, args.photo, '--measure', way]
            for name in ('arch', 'file', 'dtype', 'images', 'batch'):
                command += [f'--{name}', str(getattr(args, name))]
            run = subprocess.run([*command, *(['--cold'] if args.cold else [])], check=True, stdout=subprocess.PIPE,
                                 text=True)
            figures = json.loads(run.stdout.splitlines()[-1])
            print(f'{way:9}', ', '.join(f'{name} {value:.2f}' for name, value in figures.items()), flush=True)


if __name__ == '__main__':
    main()
