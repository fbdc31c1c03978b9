"""Peak memory of a training step on the CPU, measured and as `sapiens2 plan` predicts it.

    python benchmarks/plan_memory.py
    python benchmarks/plan_memory.py --only tiny

Each row is a process of its own: it reads the resident memory after a step of a tiny model, which has loaded all
libraries, then builds the model of the row, takes two updates, and reads the largest resident memory. Large pieces of
memory go back to the system when they are freed, so that what is kept for later does not count.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from sapiens2.planning.recording import record
from sapiens2.planning.training import Settings, Training, build_model
from sapiens2.registry import register_all
from sapiens2.utils.config import load_config

CONFIGS = Path(__file__).parents[1] / 'configs'
GIB = 2**30
TINY = 'seg/sapiens2-tiny_seg_folder-256x192.py'
LARGE = 'seg/sapiens2-{}_seg_folder-1024x768.py'
NORMAL = 'normal/sapiens2-0.1b_normal_folder-1024x768.py'
POINTMAP = 'pointmap/sapiens2-tiny_pointmap_synth-256x192.py'
PRETRAIN = 'pretrain/sapiens2-0.1b_pretrain_humans-512x384.py'
POSE = 'pose/sapiens2-tiny_pose_synth-256x192.py'
MEDIUM, SMALL = ({'model.backbone.img_size': size} for size in ((512, 384), (256, 192)))
# Name, config, options, settings.
ROWS = (
    ('tiny, segmentation', TINY, {}, Settings(1)),
    ('tiny, segmentation', TINY, {}, Settings(4)),
    ('tiny, segmentation', TINY, {}, Settings(4, recompute=1)),
    ('tiny, segmentation', TINY, {}, Settings(4, half=True)),
    ('tiny, pose', POSE, {}, Settings(4)),
    ('tiny, point maps', POINTMAP, {}, Settings(4)),
    ('0.1B, segmentation', LARGE.format('0.1b'), MEDIUM, Settings(1)),
    ('0.1B, segmentation', LARGE.format('0.1b'), MEDIUM, Settings(2, half=True)),
    ('0.1B, segmentation', LARGE.format('0.1b'), MEDIUM, Settings(2, recompute=1)),
    ('0.1B, segmentation', LARGE.format('0.1b'), MEDIUM, Settings(2, optimizer='TorchAdafactor')),
    ('0.1B, segmentation', LARGE.format('0.1b'), MEDIUM, Settings(2, fine_tuning='LoRA')),
    ('0.1B, normals', NORMAL, MEDIUM, Settings(2, half=True)),
    ('0.1B, pretraining 512x384', PRETRAIN, {}, Settings(2, recompute=1, half=True)),
    ('0.4B, segmentation', LARGE.format('0.4b'), MEDIUM, Settings(1, recompute=1)),
    ('0.4B, segmentation', LARGE.format('0.4b'), SMALL, Settings(2, half=True)),
    ('0.4B, segmentation', LARGE.format('0.4b'), MEDIUM, Settings(1, fine_tuning='FrozenBackbone')),
)


def status(field: str) -> int:
    """A figure of /proc/self/status, bytes."""
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith(field + ':'):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def steps(path: str, options: dict, settings: Settings, count: int) -> None:
    """Build a model and take some updates."""
    cfg = load_config(CONFIGS / path, options)
    model = build_model(cfg, settings)
    model.init_weights()
    training = Training(cfg, settings, model)
    for _ in range(count):
        training.step()


def measure(path: str, options: dict, settings: Settings) -> int:
    """Bytes that a run has at most, above what it has without a model."""
    steps(TINY, {}, Settings(1, half=settings.half, fine_tuning=settings.fine_tuning), 1)
    gc.collect()
    ctypes.CDLL('libc.so.6').malloc_trim(0)
    before = status('VmRSS')
    Path('/proc/self/clear_refs').write_text('5')  # from here on, VmHWM is the largest memory
    steps(path, options, settings, 2)
    return status('VmHWM') - before


def predict(path: str, options: dict, settings: Settings) -> int:
    """The same by recording a step without content."""
    recording = record(load_config(CONFIGS / path, options), settings)
    return int(recording.weights + recording.teacher + recording.optimizer + recording.timeline.peak().total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='', metavar='NAME', help='rows whose name has this in it')
    parser.add_argument('--row', type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.row is not None:
        register_all()
        torch.set_num_threads(1)
        _, *row = ROWS[args.row]
        print(json.dumps([measure(*row), predict(*row)]))
        return
    # One arena, and no piece above 64 KiB that stays with the process.
    environment = {**os.environ, 'MALLOC_ARENA_MAX': '1', 'MALLOC_MMAP_THRESHOLD_': '65536', 'OMP_NUM_THREADS': '1'}
    print('| model | batch | settings | measured, GiB | predicted, GiB | predicted / measured |')
    print('|---|---:|---|---:|---:|---:|')
    for number, (name, _, options, settings) in enumerate(ROWS):
        if args.only not in name:
            continue
        size = options.get('model.backbone.img_size')
        told = asdict(settings)
        texts = [f'{size[0]}x{size[1]}' if size else '', 'bf16' if settings.half else 'fp32',
                 'recomputed' if settings.recompute else '', told['optimizer'] or '', told['fine_tuning'] or '']
        done = subprocess.run([sys.executable, __file__, '--row', str(number)], env=environment, check=True,
                              stdout=subprocess.PIPE, text=True)
        measured, predicted = json.loads(done.stdout.splitlines()[-1])
        print(f'| {name} | {settings.batch} | {", ".join(filter(None, texts))} | {measured / GIB:.3f} | '
              f'{predicted / GIB:.3f} | {predicted / measured:.2f} |', flush=True)


if __name__ == '__main__':
    main()
