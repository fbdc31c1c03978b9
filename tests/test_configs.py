"""Every leaf config loads, names only what exists, and builds its model; the recipes are the released ones."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from sapiens2.registry import MODELS
from sapiens2.utils.config import load_config

CONFIGS = Path(__file__).parents[1] / 'configs'
TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')
SIZES = ('0.1b', '0.4b', '0.8b', '1b', '5b')
LEAVES = sorted(path for task in TASKS for path in (CONFIGS / task).glob('*.py'))
NAME = re.compile(r'sapiens2-(?P<size>[^_]+)_(?P<task>[^_]+)_(?P<dataset>\w+)-(?P<H>\d+)x(?P<W>\d+)\.py')

# Released hyper-parameters: thousands of iterations, clip norm, learning rate. 0.1B was not released: as 0.4B.
LAYER_DECAY = dict(zip(SIZES, (0.8, 0.8, 0.85, 0.9, 0.94)))
RECIPES = {
    'pose': dict(iters=(10, 10, 10, 20, 20), clip=(2, 2, 4, 4, 4), lr=(5e-4, 5e-4, 5e-4, 5e-4, 1e-4)),
    'seg': dict(iters=(20, 20, 30, 20, 50), clip=(2, 2, 4, 4, 4), lr=(5e-4, 5e-4, 5e-4, 5e-4, 5e-4)),
    'normal': dict(iters=(20, 20, 10, 40, 40), clip=(2, 2, 4, 4, 4), lr=(5e-4, 5e-4, 5e-4, 5e-4, 1e-4)),
    'pointmap': dict(iters=(20, 20, 20, 40, 40), clip=(2, 2, 2, 4, 4), lr=(5e-4, 5e-4, 5e-4, 5e-4, 1e-4)),
    'albedo': dict(iters=(20, 20, 20, 40, 40), clip=(2, 2, 4, 4, 4), lr=(5e-4, 5e-4, 5e-4, 5e-4, 5e-4)),
}


def leaf(task: str, size: str) -> Path:
    """The one leaf of a task and size."""
    path, = (CONFIGS / task).glob(f'sapiens2-{size}_{task}_*.py')
    return path


@pytest.mark.parametrize('path', LEAVES, ids=lambda path: path.stem)
def test_leaf_loads_and_builds_its_model(path: Path) -> None:
    cfg = load_config(path)
    with torch.device('meta'):
        model = MODELS.build(cfg.model)
    name = NAME.fullmatch(path.name)
    assert name and name['task'] == path.parent.name
    assert model.backbone.arch_name == f'sapiens2_{name["size"]}'
    assert model.backbone.img_size == (int(name['H']), int(name['W']))
    assert len(model.decode_head.loss_decode) > 0


@pytest.mark.parametrize('task, size', list(itertools.product(TASKS, (*SIZES, 'tiny'))))
def test_every_task_and_size_has_a_leaf(task: str, size: str) -> None:
    assert leaf(task, size).is_file()


@pytest.mark.parametrize('task, number', list(itertools.product(TASKS, range(len(SIZES)))))
def test_recipe_is_the_released_one(task: str, number: int) -> None:
    cfg, recipe = Config.fromfile(leaf(task, SIZES[number])), RECIPES[task]
    assert cfg.train_cfg.max_iters == recipe['iters'][number] * 1000
    assert cfg.optim_wrapper.paramwise_cfg == dict(layer_decay_rate=LAYER_DECAY[SIZES[number]])
    assert cfg.optim_wrapper.clip_grad.max_norm == recipe['clip'][number]
    assert cfg.optim_wrapper.optimizer.lr == recipe['lr'][number]
    warm_up, decay = cfg.param_scheduler
    assert (warm_up.start_factor, warm_up.end, decay.begin, decay.power) == (0.001, 500, 500, 1.0)
    assert 'end' not in decay  # the decay lasts as long as the run


def test_bases_do_not_overlap() -> None:
    seen: dict[str, Path] = {}
    kinds = {path.parent.name for path in (CONFIGS / '_base_').glob('*/*.py')}
    for kind in sorted(kinds):
        keys = {key for path in (CONFIGS / '_base_' / kind).glob('*.py') for key in Config.fromfile(path)}
        for key in keys:
            assert key not in seen, f'{key} stands in {kind} and in {seen[key]}'
            seen[key] = kind


@pytest.mark.parametrize('path', sorted(CONFIGS.rglob('*.py')), ids=lambda path: path.stem)
def test_configs_are_declarations(path: Path) -> None:
    text = path.read_text(encoding='utf-8')
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, (ast.If, ast.For, ast.FunctionDef)), f'line {node.lineno}'
    for derived in ('in_channels', 'num_layers', 'embed_dims'):
        assert derived not in text, f'{derived} follows from the arch'


@pytest.mark.parametrize('task, size', [pair for pair in itertools.product(TASKS, SIZES) if pair[1] != '1b'])
def test_other_sizes_say_only_what_differs(task: str, size: str) -> None:
    path = leaf(task, size)
    assert len(path.read_text(encoding='utf-8').splitlines()) <= 10
    assert '_base_ = ' in path.read_text(encoding='utf-8')
