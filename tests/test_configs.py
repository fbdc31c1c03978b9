"""Every leaf config loads, names only what exists, and builds its model; the recipes are the released ones."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from mmengine.config import Config
from torch.optim.lr_scheduler import LinearLR, PolynomialLR, SequentialLR

from sapiens2.utils.task_models import inference_pipeline
from sapiens2.models.checkpoints.describe import describe
from sapiens2.models.data_preprocessors.sapiens_data_preprocessor import MEAN, STD
from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.registry import DATASETS, MODELS, PARAM_SCHEDULERS
from sapiens2.utils.config import load_config

CONFIGS = Path(__file__).parents[1] / 'configs'
TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')
SIZES = ('0.1b', '0.4b', '0.8b', '1b', '5b')
LEAVES = sorted(path for task in TASKS for path in (CONFIGS / task).glob('*.py'))
PRETRAINING = sorted((CONFIGS / 'pretrain').glob('*.py'))
NAME = re.compile(r'sapiens2-(?P<size>[^_]+)_(?P<task>[^_]+)_(?P<dataset>\w+)-(?P<H>\d+)x(?P<W>\d+)'
                  r'(_(?P<variant>\w+))?\.py')

# Facts read off the released program: task -> size -> hyper-parameters, in its own names.
RELEASED = json.loads((Path(__file__).parent / 'released_recipes.json').read_text(encoding='utf-8'))
RENAMED = {'AlbedoGradL1Loss': 'GradientMSELoss', 'NormalGradL1Loss': 'GradientMSELoss'}
# Recipes for small GPUs beside that of the size.
VARIANTS = ('lora',)
# Recipes with one of the two branches of pretraining, and the entry that switches the other off.
ABLATIONS = {'mae': 'contrastive', 'cl': 'mae'}
# The recipe that takes one line from another file of _base_: the strong augmentation.
PRETRAINING_VARIANTS = (*ABLATIONS, 'dino')


def leaf(task: str, size: str) -> Path:
    """The leaf of a task and size with the released recipe, on the task's own layout."""
    data = 'coco_wholebody' if task == 'pose' else 'folder'
    path, = (CONFIGS / task).glob(f'sapiens2-{size}_{task}_{data}-*x[0-9]*[0-9].py')
    return path


@pytest.mark.parametrize('path', LEAVES, ids=lambda path: path.stem)
def test_leaf_loads_and_builds_its_model(path: Path) -> None:
    cfg = load_config(path)
    with torch.device('meta'):
        model = MODELS.build(cfg.model)
    name = NAME.fullmatch(path.name)
    assert name and name['task'] == path.parent.name and name['variant'] in (None, *VARIANTS)
    assert model.backbone.arch_name == f'sapiens2_{name["size"].removesuffix("-4k")}'
    assert (model.backbone.tokenizer is not None) == name['size'].endswith('-4k')
    assert model.backbone.img_size == (int(name['H']), int(name['W']))
    assert len(model.decode_head.loss_decode) > 0


@pytest.mark.parametrize('path', PRETRAINING, ids=lambda path: path.stem)
def test_leaf_of_pretraining_loads_and_builds_its_model(path: Path) -> None:
    cfg = load_config(path)
    with torch.device('meta'):
        model = MODELS.build(cfg.model)
    name = NAME.fullmatch(path.name)
    assert name and name['task'] == 'pretrain' and name['variant'] in (None, *PRETRAINING_VARIANTS)
    backbone, size = model.backbone, (int(name['H']), int(name['W']))
    assert backbone.arch_name == f'sapiens2_{name["size"].removesuffix("-4k")}' and backbone.img_size == size
    assert (backbone.tokenizer is not None) == name['size'].endswith('-4k')
    # What the pipeline makes fits the model.
    dataset = DATASETS.build(dict(cfg.train_dataloader.dataset, lazy_init=True))
    steps = {type(step).__name__: step for step in dataset.pipeline.transforms}
    crops = steps['MultiCrop'].kinds
    assert crops['global_crops'].size == size and crops['global_crops'].number == 2
    assert all(side % backbone.size_multiple == 0 for side in crops['local_crops'].size)
    assert steps['RandomTokenMask'].token_size == backbone.size_multiple and steps['RandomTokenMask'].ratio == 0.75
    optim = cfg.optim_wrapper
    assert optim.type == 'BFloat16OptimWrapper' and optim.paramwise_cfg.layer_decay_rate <= 1
    assert [hook.type for hook in cfg.custom_hooks[:3]] == ['FiniteLossHook', 'UnreadableImagesHook', 'PretrainingHook']


@pytest.mark.parametrize('size', [*SIZES, 'tiny', '1b-4k'])
def test_every_size_has_a_leaf_of_pretraining(size: str) -> None:
    names = {path.stem.partition('_')[2] for path in PRETRAINING if path.stem.startswith(f'sapiens2-{size}_')}
    tiny = 'pretrain_synth-256x192'
    assert names == {'tiny': {tiny, *(f'{tiny}_{name}' for name in PRETRAINING_VARIANTS)},
                     '1b-4k': {'pretrain_humans-4096x3072'}}.get(
                         size, {'pretrain_humans-512x384', 'pretrain_humans-1024x768'})


@pytest.mark.parametrize('size', SIZES)
def test_second_stage_starts_where_the_first_ends(size: str) -> None:
    first, second = (load_config(CONFIGS / 'pretrain' / f'sapiens2-{size}_pretrain_humans-{side}.py')
                     for side in ('512x384', '1024x768'))
    name = Path(first.filename).stem
    assert second.load_from == f'work_dirs/{name}/iter_{first.train_cfg.max_iters}.pth'
    assert second.optim_wrapper.optimizer.weight_decay == first.custom_hooks[3].schedule.end
    states = []
    for cfg in (first, second):
        with torch.device('meta'):
            states.append({key: value.shape for key, value in MODELS.build(cfg.model).state_dict().items()})
    assert states[0] == states[1]


@pytest.mark.parametrize('variant, other', ABLATIONS.items())
def test_ablations_differ_in_one_line(variant: str, other: str) -> None:
    path = CONFIGS / 'pretrain' / f'sapiens2-tiny_pretrain_synth-256x192_{variant}.py'
    base, change = path.read_text(encoding='utf-8').splitlines()
    assert base.startswith('_base_ = ') and change == f'model = dict({other}=None)'


@pytest.mark.parametrize('task, size', list(itertools.product(TASKS, (*SIZES, 'tiny'))))
def test_every_task_and_size_has_a_leaf(task: str, size: str) -> None:
    assert leaf(task, size).is_file()


@pytest.mark.parametrize('task, size', list(itertools.product(TASKS, SIZES)))
def test_recipe_is_the_released_one(task: str, size: str) -> None:
    cfg = Config.fromfile(leaf(task, size))
    facts = RELEASED[task]['0.4b' if size == '0.1b' else size]  # no task model of 0.1B was released
    assert cfg.train_cfg.max_iters == facts['iterations']
    assert cfg.optim_wrapper.paramwise_cfg == dict(layer_decay_rate=facts['layer_decay_rate'])
    assert cfg.optim_wrapper.clip_grad == dict(max_norm=facts['clip_max_norm'])
    optimizer = dict(cfg.optim_wrapper.optimizer, betas=list(cfg.optim_wrapper.optimizer.betas))
    assert optimizer == dict(type=facts['optimizer'], lr=facts['lr'], betas=facts['betas'],
                             weight_decay=facts['weight_decay'], fused=True)
    assert cfg.train_dataloader.batch_size == facts['batch_per_gpu'] and 'accumulative_counts' not in cfg.optim_wrapper
    assert list(cfg.model.backbone.img_size) == facts['image_size'] and cfg.custom_hooks[0].type == 'FiniteLossHook'


@pytest.mark.parametrize('task, size', list(itertools.product(TASKS, SIZES)))
def test_model_is_the_released_one(task: str, size: str) -> None:
    cfg, facts = Config.fromfile(leaf(task, size)), RELEASED[task]['0.4b' if size == '0.1b' else size]
    with torch.device('meta'):
        model = MODELS.build(cfg.model)
    head, written = model.decode_head, cfg.model.decode_head
    assert type(head).__name__ == facts['head'] and model.backbone.patch_size == facts['patch_size']
    parameters = inspect.signature(type(head)).parameters
    for name, value in facts['head_options'].items():
        used = written.get(name, parameters[name].default if name in parameters else None)
        # The trunk of three heads has the remaining defaults.
        used = inspect.signature(UpsampleHead).parameters[name].default if used is None else used
        assert (list(used) if isinstance(used, tuple) else used) == value, name
    assert [[type(loss).__name__, loss.loss_weight] for loss in head.loss_decode] == [
        [RENAMED.get(name, name), weight] for name, weight in facts['losses']]
    if task == 'seg':
        assert list(written.loss_decode[0].class_weight) == facts['class_weight']
    assert list(MEAN) == facts['mean'] and list(STD) == facts['std']


@pytest.mark.parametrize('task, size', [('pose', '1b'), ('normal', '0.8b')])
def test_learning_rate_of_each_iteration_is_the_released_one(task: str, size: str) -> None:
    cfg, facts = Config.fromfile(leaf(task, size)), RELEASED[task][size]
    ours, theirs = (torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=facts['lr']) for _ in range(2))
    total, warm_up = facts['iterations'], facts['warm_up_iterations']
    # A schedule without end ends one iteration after the last, see Sapiens2Runner.
    schedules = [PARAM_SCHEDULERS.build({'end': total + 1, **item}, default_args=dict(optimizer=ours))
                 for item in cfg.param_scheduler]
    reference = SequentialLR(theirs, [
        LinearLR(theirs, start_factor=facts['warm_up_start'], total_iters=warm_up),
        PolynomialLR(theirs, total_iters=total - warm_up, power=facts['power'])], milestones=[warm_up])
    rates: list[list[float]] = [[], []]
    for _ in range(total):
        for optimizer, seen in zip((ours, theirs), rates):
            seen.append(optimizer.param_groups[0]['lr'])
            optimizer.step()
        reference.step()
        for schedule in schedules:
            schedule.step()
    np.testing.assert_allclose(*rates, rtol=1e-9, atol=0)
    assert rates[0][0] == pytest.approx(facts['lr'] / 1000) and rates[0][warm_up] == pytest.approx(facts['lr'])
    assert rates[0][-1] == pytest.approx(facts['lr'] / (total - warm_up))


@pytest.mark.parametrize('path', [path for path in LEAVES if path.stem.endswith(VARIANTS)], ids=lambda path: path.stem)
def test_small_gpu_recipe_changes_the_strategy_alone(path: Path) -> None:
    cfg, whole = load_config(path), Config.fromfile(path.with_name(re.sub('_[a-z]+$', '', path.stem) + '.py'))
    assert cfg.fine_tuning == dict(type='LoRA', rank=16) and cfg.model.backbone.pop('with_cp') is True
    for key in ('model', 'train_dataloader', 'val_dataloader', 'train_cfg', 'param_scheduler'):
        assert cfg[key] == whole[key], key
    assert len(path.read_text(encoding='utf-8').splitlines()) <= 5


@pytest.mark.parametrize('task', TASKS)
def test_4k_recipe_has_targets_of_the_size_of_its_output(task: str) -> None:
    path, = (CONFIGS / task).glob('sapiens2-1b-4k_*.py')
    assert len(path.read_text(encoding='utf-8').splitlines()) <= 12
    cfg, small = load_config(path), load_config(leaf(task, '1b'))
    assert [step.type for step in cfg.train_dataloader.dataset.pipeline] == [
        step.type for step in small.train_dataloader.dataset.pipeline]
    for key in ('optim_wrapper', 'param_scheduler', 'train_cfg'):
        assert cfg[key] == small[key]
    with torch.device('meta'):
        model = MODELS.build(cfg.model)
    size, head = model.backbone.img_size, model.decode_head
    assert describe({name: value.shape for name, value in model.state_dict().items()}).leaves() == [str(path)]
    doublings = len(head.deconv_layers) // 3 if task in ('pose', 'seg') else len(head.upsample_blocks)
    output = tuple(side // model.backbone.size_multiple * 2**doublings for side in size)
    steps = {type(step).__name__: step for step in DATASETS.build(
        dict(cfg.train_dataloader.dataset, lazy_init=True)).pipeline.transforms}
    test_steps = {step['type']: step for step in inference_pipeline(cfg)}
    if task == 'pose':
        assert output == (512, 384) == steps['GenerateHeatmaps'].codec.heatmap_size[::-1]
        assert steps['GenerateHeatmaps'].codec.input_size == steps['TopdownAffine'].input_size == size[::-1]
        assert tuple(test_steps['TopdownAffine']['input_size']) == size[::-1]
    else:
        resize = steps['Resize']
        assert output == (2048, 1536) == tuple(side // resize.target_stride for side in resize.size)
        assert resize.size == tuple(test_steps['Resize']['size']) == size
        assert all(steps[name].size == size for name in ('RandomResize', 'RandomCrop') if name in steps)
    if task == 'pointmap':
        head._check_size(*(side // model.backbone.size_multiple for side in size))
        assert steps['GeneratePointmap'].canonical_focal_length == head.canonical_focal_length == output[1]
        assert test_steps['GeneratePointmap']['canonical_focal_length'] == output[1]


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


def test_model_index_lists_every_leaf_once() -> None:
    root = CONFIGS.parent
    files = yaml.safe_load((root / 'model-index.yml').read_text(encoding='utf-8'))['Import']
    indexes = {file: yaml.safe_load((root / file).read_text(encoding='utf-8')) for file in files}
    collections = {item['Name'] for index in indexes.values() for item in index.get('Collections', ())}
    models = [model for index in indexes.values() for model in index['Models']]
    assert len({model['Name'] for model in models}) == len(models)
    assert all(model['In Collection'] in collections for model in models)
    assert all((root / model['Config']).is_file() for model in models if 'Config' in model)
    for task in (*TASKS, 'pretrain'):
        listed = [model for model in indexes[f'configs/{task}/metafile.yml']['Models']]
        assert sorted(model['Config'] for model in listed) == sorted(
            path.relative_to(root).as_posix() for path in (*LEAVES, *PRETRAINING) if path.parent.name == task)
        for model in listed:
            assert model['Name'] == Path(model['Config']).stem
            assert model['Metadata']['Architecture'] == Config.fromfile(root / model['Config']).model.backbone.arch
            assert not {'Results', 'Weights'} & model.keys()  # none have been trained
