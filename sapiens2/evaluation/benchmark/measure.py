"""Measures one row, in a process of its own: ``python -m sapiens2.evaluation.benchmark.measure FOLDER``.

FOLDER has job.json (``row``: the entries of ``Row``); ``result.json`` is written to it, or ``error.txt``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Optional

import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.engine import launch
from sapiens2.evaluation.benchmark.spec import Row
from sapiens2.evaluation.predictions import measure_predictions
from sapiens2.evaluation.predictions.run import add_alignment
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.registry import MODELS
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.flops import count_flops

# Seconds between two lines about how far it is.
_SAY_EVERY = 1.0


class Progress:
    """Says now and then how much is done, in lines that ``share_done`` reads."""

    def __init__(self) -> None:
        self._said = 0.0

    def say(self, done: int, total: int) -> None:
        """``done`` of ``total`` parts are done."""
        if time.monotonic() - self._said > _SAY_EVERY or done == total:
            self._said = time.monotonic()
            print(f'measured {done}/{total}', flush=True)

    def follow(self, indices: Iterable[int], count: int) -> Iterator[int]:
        """``indices``, of which there are ``count``."""
        for done, index in enumerate(indices, 1):
            yield index
            self.say(done, count)


class TestWatch(Hook):
    """Measures how fast a test runs.

    Its first batch, in which libraries are set up and the loader's workers start, is not counted.

    Attributes:
        images: that were counted; of people, each is an image.
        seconds: from the end of the first batch to the end of the last one: reading, network and metrics.
    """

    def __init__(self) -> None:
        self.images, self.seconds, self.progress = 0, 0.0, Progress()
        self._began: Optional[float] = None

    def after_test_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        """See MMEngine."""
        now = time.perf_counter()
        if self._began is None:
            self._began = now
        else:
            self.images += len(outputs)
            self.seconds = now - self._began
        self.progress.say(batch_idx + 1, len(runner.test_dataloader))


def measure(row: Row, work_dir: Path) -> dict[str, Any]:
    """Measure ``row`` as ``sapiens2 test`` does.

    Returns:
        ``figures`` by name; ``images``, how many were measured; ``parameters``, ``multiply_adds`` of one image, and
        ``images_per_second``, None where they are not known; ``seconds`` that it took.

    Raises:
        ConfigError, DataError, CheckpointError, ImageReadError, ValueError: naming what is wrong.
    """
    start = time.perf_counter()
    cfg = launch.prepare(row.config, work_dir=str(work_dir), options=row.cfg_options, seed=row.seed)
    launch.check_data(cfg, 'test_dataloader')
    if row.predictions is not None:
        figures = measure_predictions(cfg, row.predictions, row.prediction_options, Progress().follow)
        found = {'images': int(figures['predictions/images']), 'parameters': row.parameters,
                 'multiply_adds': row.multiply_adds, 'images_per_second': None, 'device': None}
    else:
        figures, found = _measure_network(cfg, row)
    return {'figures': {name: float(value) for name, value in figures.items()}, **found,
            'seconds': time.perf_counter() - start}


def _measure_network(cfg: Config, row: Row) -> tuple[dict[str, float], dict[str, Any]]:
    if row.align is not None:
        add_alignment(cfg, row.align)
    if row.checkpoint != RANDOM:
        launch.check_file(row.checkpoint, 'checkpoint')
    cfg.load_from, cfg.resume = None if row.checkpoint == RANDOM else row.checkpoint, False
    with launch.missing_packages():
        runner = launch.build_runner(cfg)
        network = runner.bare_model
        if row.checkpoint == RANDOM:
            network.init_weights()
        watch = TestWatch()
        runner.register_hook(watch)
        figures = runner.test()
    parameter = next(network.parameters())
    return figures, {
        'images': len(runner.test_dataloader.dataset), 'parameters': sum(p.numel() for p in network.parameters()),
        **_multiply_adds(cfg), 'device': str(parameter.device),
        'images_per_second': watch.images / watch.seconds if watch.images else None}


def _multiply_adds(cfg: Config) -> dict[str, Any]:
    """Of one pass of one image; None, with the reason, where they cannot be counted."""
    try:
        with torch.device('meta'):
            network = MODELS.build(cfg.model)
        return {'multiply_adds': count_flops(network, tuple(network.backbone.img_size)).total}
    except Exception as error:  # of any network: it is measured all the same
        return {'multiply_adds': None, 'multiply_adds_unknown': f'{type(error).__name__}: {error}'}


def share_done(log: Path, parts: int = 100) -> int:
    """How many of ``parts`` the output of this program says are done."""
    lines = [line for line in log.read_text(encoding='utf-8', errors='replace').splitlines()
             if line.startswith('measured ')] if log.exists() else []
    if not lines:
        return 0
    done, total = map(int, lines[-1].removeprefix('measured ').split('/'))
    return parts * done // max(total, 1)


def main() -> int:
    """Measure the row of the folder that is named; 0 if all went well."""
    folder = Path(sys.argv[1])
    row = Row(**json.loads((folder / 'job.json').read_text(encoding='utf-8'))['row'])
    try:
        result = measure(row, folder / 'work')
    except Exception as error:  # whatever a network or a file raises, the table names it; the log has where it arose
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        (folder / 'error.txt').write_text(f'{type(error).__name__}: {text}', encoding='utf-8')
        raise
    with atomic_path(folder / 'result.json') as partial:
        partial.write_text(json.dumps(result, indent=2), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
