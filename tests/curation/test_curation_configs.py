"""The configs of curation can be read, and their stages, filters and selection fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapiens2.curation.run import CurationRun
from sapiens2.curation.settings import ENTRIES
from sapiens2.utils.config import load_config

CONFIGS = sorted((Path(__file__).parents[2] / 'configs/curation').glob('*.py'))


@pytest.mark.parametrize('path', CONFIGS, ids=lambda path: path.stem)
def test_config_builds_a_run(path, tmp_path):
    run = CurationRun(load_config(path, keys=ENTRIES), tmp_path / 'out')
    assert {limit.column for limit in run.chain.filters} <= set(run.chain.columns)
    assert not (tmp_path / 'out').exists()
