"""How long a model takes from start to ready, and how much memory: ratios to reading the file and to the weights.

    python benchmarks/load_weights.py [--arch sapiens2_0.4b] [--repeats 3]

A float32 safetensors file of random weights is written to a temporary folder; it then lies in the system's cache. Each
way of loading it runs in its own process, imports done. Its time is divided by two times of reading the file: into
memory, all of it, and in pieces of 16 MiB into one buffer, the fastest way to have seen all bytes, which needs no new
memory. Its peak memory (Linux only) is divided by the size of the weights in the target dtype. "used" has also summed
every parameter: mapped weights are read no earlier than that. Where transformers is installed, its own loading of the
same file is timed for comparison.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from sapiens2.models.checkpoints import build_model
from sapiens2.models.checkpoints.convert import convert
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.models.checkpoints.write import write_safetensors

PIECE = 16 << 20
STATUS = Path('/proc/self/status')


def read_pieces(path: Path) -> None:
    """Read all bytes of a file into one small buffer."""
    buffer = bytearray(PIECE)
    with path.open('rb', buffering=0) as file:
        while file.readinto(buffer):
            pass


def use(model: nn.Module) -> nn.Module:
    """Touch every parameter."""
    for parameter in model.parameters():
        parameter.detach().sum()
    return model


def load_transformers(path: Path, dtype: torch.dtype) -> nn.Module:
    """Transformers' own way from the same weights."""
    from transformers import AutoModel
    return AutoModel.from_pretrained(path.parent, dtype=dtype)


def ways(path: Path, config: dict) -> dict[str, tuple[Callable[[], object], int]]:
    """Name of each way -> the way and bytes of one weight in its target dtype; 0 for the yardsticks."""
    def build(dtype: torch.dtype) -> nn.Module:
        return build_model(config, path, device='cpu', dtype=dtype)

    table: dict[str, tuple[Callable[[], object], int]] = {
        'read into memory': (path.read_bytes, 0), 'read in pieces': (lambda: read_pieces(path), 0)}
    for dtype in (torch.bfloat16, torch.float32):
        name = str(dtype).removeprefix('torch.')
        table[f'build_model, {name}'] = (lambda dtype=dtype: build(dtype), dtype.itemsize)
        table[f'build_model, {name}, used'] = (lambda dtype=dtype: use(build(dtype)), dtype.itemsize)
        if importlib.util.find_spec('transformers'):
            table[f'transformers, {name}, used'] = (
                lambda dtype=dtype: use(load_transformers(path, dtype)), dtype.itemsize)
    return table


def memory(field: str) -> int:
    """A field of the process's status in bytes; 0 where there is none."""
    if not STATUS.is_file():
        return 0
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(field)) * 1024


def measure(path: Path, config: dict, name: str) -> None:
    """Run one way once and print its time in seconds and the peak of added memory in bytes, as JSON."""
    build_model({**config, 'arch': 'sapiens2_nano'}, device='cpu')  # imports and registries are not what is measured
    way = ways(path, config)[name][0]
    before = memory('VmRSS')
    if STATUS.is_file():
        Path('/proc/self/clear_refs').write_text('5')  # the peak starts anew
    start = time.perf_counter()
    result = way()
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, memory('VmHWM') - before]))
    del result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--arch', default='sapiens2_0.4b')
    parser.add_argument('--repeats', type=int, default=5, help='processes per way, of which the fastest counts')
    parser.add_argument('--measure', nargs=2, metavar=('FILE', 'WAY'), help=argparse.SUPPRESS)
    args = parser.parse_args()
    config = dict(type='Sapiens2', arch=args.arch)
    if args.measure:
        measure(Path(args.measure[0]), config, args.measure[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        model = build_model(config, device='cpu')
        weights = sum(parameter.numel() for parameter in model.parameters())
        random = Path(folder) / 'random.safetensors'
        write_safetensors(random, {name: StoredTensor((tensor,)) for name, tensor in model.state_dict().items()})
        del model
        # A folder in transformers' format, whose file both programs read.
        path = convert(random, Path(folder) / 'model', 'transformers', img_size=(1024, 768)).files[0]
        print(f'{args.arch}: {weights:,} parameters, file of {path.stat().st_size / 1e6:,.0f} MB, '
              f'torch {torch.__version__}, {torch.get_num_threads()} threads')
        print(f'{"":31} {"time / memory":>14} {"time / pieces":>14} {"peak / weights":>15} {"seconds":>8}')
        results: dict[str, tuple[float, str]] = {}
        for name, (_, itemsize) in ways(path, config).items():
            command = [sys.executable, __file__, '--arch', args.arch, '--measure', str(path), name]
            outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout
                       for _ in range(args.repeats)]
            runs = [json.loads(output.splitlines()[-1]) for output in outputs]
            seconds, peak = min(run[0] for run in runs), min(run[1] for run in runs)
            results[name] = seconds, f'{peak / weights / itemsize:.2f}' if itemsize and peak else '-'
        memory_time, pieces_time = results['read into memory'][0], results['read in pieces'][0]
        for name, (seconds, ratio) in results.items():
            print(f'{name:31} {seconds / memory_time:>14.2f} {seconds / pieces_time:>14.2f} {ratio:>15} '
                  f'{seconds:>8.3f}')


if __name__ == '__main__':
    main()
