"""The rules of projects/, and the example's real task."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from tiny_data import write_data

ROOT = Path(__file__).parents[1]
PROJECTS = sorted(path.parent for path in (ROOT / 'projects').glob('*/__init__.py'))
EXAMPLE = ROOT / 'projects/example_project/configs/sapiens2-micro_depth_synth-128x96.py'


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize('project', PROJECTS, ids=lambda path: path.name)
def test_a_project_keeps_the_rules(project: Path) -> None:
    assert (project / 'README.md').is_file() and list((project / 'configs').rglob('*.py'))
    assert f']({project.name}/README.md)' in (ROOT / 'projects/README.md').read_text(encoding='utf-8')
    others = '|'.join(other.name for other in PROJECTS if other != project) or '-'
    for file in project.rglob('*.py'):
        assert not re.search(rf'projects\.({others})\b', file.read_text(encoding='utf-8')), file


def test_nothing_depends_on_projects() -> None:
    files = [file for folder in ('sapiens2', 'configs', 'tools') for file in (ROOT / folder).rglob('*.py')]
    assert files
    for file in files:
        assert not re.search(r'(from|import) projects\b|[\'"]projects\.', file.read_text(encoding='utf-8')), file


def test_a_scale_and_shift_are_free_and_a_flat_map_explains_nothing() -> None:
    from projects.example_project import AffineInvariantDepthLoss
    from projects.example_project.affine import fitted
    torch.manual_seed(0)
    depth, mask = 1 + torch.rand(2, 1, 8, 6), torch.ones(2, 1, 8, 6, dtype=torch.bool)
    torch.testing.assert_close(fitted(depth * 3 - 5, depth, mask), depth.double(), atol=1e-5, rtol=1e-5)
    flat = fitted(torch.full_like(depth, 7.0), depth, mask)
    torch.testing.assert_close(flat, depth.double().mean((2, 3), keepdim=True).expand_as(flat))
    loss = AffineInvariantDepthLoss()
    assert loss(pred=depth * 3 - 5, target=depth, mask=mask) < 1e-4 < loss(pred=-depth, target=depth, mask=mask)


@pytest.mark.parametrize('path', sorted((ROOT / 'projects').glob('*/configs/*.py')), ids=lambda path: path.stem)
def test_configs_build(path: Path) -> None:
    from sapiens2.registry import MODELS, register_all
    register_all()
    cfg = Config.fromfile(path)
    with torch.device('meta'):
        MODELS.build(cfg.model)


def test_the_example_trains_and_is_measured(tmp_path: Path) -> None:
    write_data('pointmap', tmp_path / 'data')
    done = subprocess.run(
        [sys.executable, ROOT / 'tools/train.py', EXAMPLE, '--work-dir', tmp_path / 'work', '--cfg-options',
         f'data_root={tmp_path / "data"}', 'train_cfg.max_iters=2', 'train_cfg.val_interval=2',
         'train_dataloader.num_workers=0', 'train_dataloader.persistent_workers=False',
         'val_dataloader.num_workers=0', 'val_dataloader.persistent_workers=False'],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 0, done.stderr[-2000:]
    assert 'depth/unexplained_percent' in done.stdout + done.stderr
