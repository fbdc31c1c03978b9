"""What the tests of benchmarks share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_data import write_data

from sapiens2.evaluation.benchmark import Row

CONFIGS = Path(__file__).parents[3] / 'configs'
# A network that takes no time, and a name of its own for each run, since MMEngine keeps state by name.
SMALL = {'model.backbone.arch': 'sapiens2_nano', 'test_dataloader.num_workers': 0}
_RUNS = itertools.count()

RowMaker = Callable[..., Row]


@pytest.fixture
def make_row(tmp_path: Path) -> RowMaker:
    """Makes rows of the task seg, on four samples below ``data``."""
    write_data('seg', tmp_path / 'data')

    def make(name: str = 'a', **entries: Any) -> Row:
        options = {'data_root': str(tmp_path / 'data'), 'experiment_name': f'benchmark{next(_RUNS)}',
                   **entries.pop('cfg_options', SMALL)}
        entries = {'config': str(CONFIGS / 'seg/sapiens2-tiny_seg_folder-256x192.py'), **entries}
        if 'predictions' not in entries:
            entries.setdefault('checkpoint', 'random')
        return Row(name, cfg_options=options, **entries)

    return make
