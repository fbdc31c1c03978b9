"""A configuration inside a file of somebody else names components, and nothing that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapiens2.registry import register_all
from sapiens2.utils.config import load_config
from sapiens2.utils.foreign_config import check_foreign_config

CONFIGS = Path(__file__).parents[2] / 'configs'


@pytest.mark.parametrize('leaf', ['seg/sapiens2-0.1b_seg_folder-1024x768.py',
                                  'pose/sapiens2-1b_pose_coco_wholebody-1024x768.py'])
def test_configs_of_the_project_pass(leaf: str) -> None:
    register_all()
    cfg = load_config(CONFIGS / leaf)
    check_foreign_config(dict(model=cfg.model, pipeline=cfg.test_dataloader.dataset.pipeline), 'x.onnx')


@pytest.mark.parametrize(('config', 'entry'), [
    (dict(model=dict(type='subprocess.Popen', args=['id'])), 'config.model.type'),
    (dict(model=dict(type='DenseEstimator', backbone=dict(type='os.system', command='id'))), 'config.model.backbone'),
    (dict(pipeline=[dict(type='LoadImage'), dict(type='builtins.exec')]), 'config.pipeline.1.type'),
    (dict(model=dict(type='mmengine.fileio.load', file='x.pkl')), 'config.model.type'),
    (dict(model=dict(type=['os', 'system'])), 'config.model.type'),
    (dict(model=dict(type='antigravity')), 'config.model.type'),
    (dict(custom_imports=dict(imports=['x'])), 'config.custom_imports'),
    (dict(model=dict(type='DenseEstimator', _scope_='evil')), 'config.model._scope_')])
def test_what_could_run_code_is_refused(config: dict[str, Any], entry: str) -> None:
    with pytest.raises(ValueError, match=f'x.onnx: its {entry}.*could run code'):
        check_foreign_config(config, 'x.onnx')
