"""Training runs of several processes on one machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / 'configs/pose/sapiens2-tiny_pose_coco_wholebody-256x192.py'
SMALL = ('train_cfg.max_iters=2', 'model.backbone.arch=sapiens2_nano', 'train_dataloader.num_workers=0',
         'default_hooks.logger.interval=1', 'default_hooks.checkpoint.interval=1')


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def start(config: Path, work_dir: Path, options: Sequence[str], processes: int = 2,
          arguments: Sequence[str] = ()) -> list[subprocess.Popen]:
    """Start ``processes`` processes that train a small network for two iterations, unless ``options`` say otherwise."""
    command = [sys.executable, str(ROOT / 'tools/train.py'), str(config), '--work-dir', str(work_dir), '--launcher',
               'pytorch' if processes else 'none', *arguments, '--cfg-options', *SMALL, *options]
    count = max(processes, 1)
    shared = dict(os.environ, PYTHONPATH=f'{ROOT}:{ROOT / "tests"}', OMP_NUM_THREADS='1', WORLD_SIZE=str(count),
                  MASTER_ADDR='127.0.0.1', MASTER_PORT=str(free_port()), LOCAL_WORLD_SIZE=str(count))
    return [subprocess.Popen(command, env=dict(shared, RANK=str(rank), LOCAL_RANK=str(rank)), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(count)]


def finish(running: Sequence[subprocess.Popen], seconds: float = 300) -> list[tuple[int, str]]:
    """Exit status and output of each process."""
    outputs = [process.communicate(timeout=seconds)[0] for process in running]
    return [(process.returncode, output) for process, output in zip(running, outputs)]


def launch(config: Path, work_dir: Path, options: Sequence[str], processes: int = 2,
           arguments: Sequence[str] = ()) -> list[str]:
    """Train to the end with ``processes`` processes, 0 for one without a launcher; their output."""
    results = finish(start(config, work_dir, options, processes, arguments))
    for status, output in results:
        assert status == 0, output
    return [output for _, output in results]
