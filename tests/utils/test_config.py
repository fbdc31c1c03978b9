"""Every misspelling in a config is found before anything is built, and the nearest name is offered."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from mmengine.hooks import CheckpointHook
from torch import nn
from torch.optim import AdamW

from sapiens2.utils.config import ConfigError, apply_options, check_config, load_config
from sapiens2.utils.config_names import argument_names

GOOD: dict[str, Any] = dict(
    data_root='data/a',
    train_pipeline=[dict(type='LoadImageFromFile')],
    model=dict(type='mmengine.model.BaseModel',
               data_preprocessor=dict(type='ImgDataPreprocessor', mean=[0.0], std=[1.0]),
               init_cfg=[dict(type='TruncNormal', layer='Linear', std=0.02)]),
    train_dataloader=dict(batch_size=1, sampler=dict(type='InfiniteSampler'), collate_fn=dict(type='pseudo_collate'),
                          dataset=dict(type='ConcatDataset', datasets=[
                              dict(type='mmengine.dataset.BaseDataset', data_root='data/a', ann_file='train.json'),
                              dict(type='mmengine.dataset.BaseDataset', data_root='data/b',
                                   pipeline=[dict(type='mmcv.transforms.Resize', scale=4)])])),
    optim_wrapper=dict(optimizer=dict(type='AdamW', lr=1.0, weight_decay=0.1, fused=True), accumulative_counts=2,
                       constructor='LayerDecayOptimWrapperConstructor', paramwise_cfg=dict(layer_decay_rate=0.9),
                       clip_grad=dict(max_norm=4.0)),
    param_scheduler=[dict(type='LinearLR', start_factor=0.001, end=5, by_epoch=False, convert_to_iter_based=False)],
    train_cfg=dict(type='UpdateTrainLoop', max_iters=3),
    val_cfg=dict(), val_evaluator=[dict(type='DumpResults', out_file_path='a.pkl')],
    default_hooks=dict(checkpoint=dict(type='CheckpointHook', interval=5, by_epoch=False), timer=None),
    custom_hooks=[dict(type='FiniteLossHook', priority=10)], env_cfg=dict(dist_cfg=dict(backend='nccl')),
    visualizer=dict(vis_backends=[dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')]),
    log_processor=dict(by_epoch=False, window_size=50), randomness=dict(seed=0), find_unused_parameters=True)


def config(**options: Any) -> Config:
    """The good config with options, which are set without any check."""
    cfg = Config(copy.deepcopy(GOOD))
    cfg.merge_from_dict({key.replace('__', '.'): value for key, value in options.items()})
    return cfg


def test_good_config_passes() -> None:
    check_config(config())
    check_config(config(train_cfg=dict(by_epoch=False, max_iters=3, _delete_=True)))


@pytest.mark.parametrize('option, value, message', [
    ('model__typ', 'X', "model.typ: unknown argument of BaseModel: 'typ'"),
    ('model__type', 'Sapien2', "model.type: unknown .*'Sapien2'. Did you mean 'Sapiens2'"),
    ('model__data_preprocessor__maen', 1, "model.data_preprocessor.maen: .*Did you mean 'mean'"),
    ('model__init_cfg__0__st', 1, r"model.init_cfg.0.st: .*Did you mean 'std'"),
    ('train_dataloader__batchsize', 1, "train_dataloader.batchsize: .*Did you mean 'batch_size'"),
    ('train_dataloader__sampler__shufle', True, "train_dataloader.sampler.shufle: .*Did you mean 'shuffle'"),
    ('train_dataloader__sampler__type', 'BaseDataset', "train_dataloader.sampler.type: unknown"),
    ('train_dataloader__dataset__datasets__0__anno_file', 1, r"dataset.datasets.0.anno_file: .*'ann_file'"),
    ('train_dataloader__dataset__datasets__1__pipeline__0__scal', 1, r"datasets.1.pipeline.0.scal: .*'scale'"),
    ('optim_wrapper__optimizer__weight_deca', 1, "optim_wrapper.optimizer.weight_deca: .*'weight_decay'"),
    ('optim_wrapper__accumulate', 1, "optim_wrapper.accumulate: .*'accumulative_counts'"),
    ('optim_wrapper__clip_grad__max_nor', 1, "optim_wrapper.clip_grad.max_nor: .*'max_norm'"),
    ('optim_wrapper__paramwise_cfg__layer_decay', 1, "optim_wrapper.paramwise_cfg.layer_decay: .*'layer_decay_rate'"),
    ('optim_wrapper__constructor', 'LayerDecay',
     "optim_wrapper.constructor: .*Known: .*LayerDecayOptimWrapperConstructor"),
    ('param_scheduler__0__start_factr', 1, "param_scheduler.0.start_factr: .*'start_factor'"),
    ('train_cfg__max_iter', 1, "train_cfg.max_iter: .*'max_iters'"),
    ('val_cfg__fp61', True, "val_cfg.fp61: .*'fp16'"),
    ('val_evaluator__0__out_file', 1, "val_evaluator.0.out_file: .*'out_file_path'"),
    ('default_hooks__chekpoint', dict(interval=1), "default_hooks.chekpoint has no type.*'checkpoint'"),
    ('default_hooks__checkpoint__max_keep_ckpt', 1, "default_hooks.checkpoint.max_keep_ckpt: .*'max_keep_ckpts'"),
    ('custom_hooks__0__type', 'FiniteLosHook', "custom_hooks.0.type: .*'FiniteLossHook'"),
    ('env_cfg__dist', 1, "env_cfg.dist: .*'dist_cfg'"),
    ('randomness__sed', 1, "randomness.sed: .*'seed'"),
    ('visualizer__vis_backends__0__type', 'TensorBoard', "vis_backends.0.type: .*'TensorboardVisBackend'"),
    ('log_processor__window', 1, "log_processor.window: .*'window_size'"),
    ('train_dataloder', dict(), "train_dataloder: unknown config entry.*'train_dataloader'"),
])
def test_misspelling_is_found(option: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_config(config(**{option: value}))


def test_all_faults_are_listed() -> None:
    with pytest.raises(ConfigError) as caught:
        check_config(config(model__typ=1, randomness__sed=1, train_cfg__max_iter=1))
    assert len(str(caught.value).splitlines()) == 3


def test_variables_may_be_called_anything() -> None:
    check_config(config(my_own_variable=1, image_size=(1, 2), test_pipeline=[dict(type='NoSuchTransform')]))


def test_option_replaces_an_entry() -> None:
    cfg = config()
    apply_options(cfg, {'model.init_cfg.0.std': 0.5, 'load_from': 'a.pth'})
    assert cfg.model.init_cfg[0].std == 0.5 and cfg.load_from == 'a.pth'


def test_option_that_names_a_variable_reaches_its_copies() -> None:
    cfg = config()
    apply_options(cfg, {'data_root': 'elsewhere'})
    first, second = cfg.train_dataloader.dataset.datasets
    assert (cfg.data_root, first.data_root, second.data_root) == ('elsewhere', 'elsewhere', 'data/b')


@pytest.mark.parametrize('option, message', [
    ('modle.init_cfg', "unknown config entry: 'modle'. Did you mean 'model'"),
    ('train_pipeline.0.type', "'train_pipeline' is a variable of the config file"),
    ('model.init_cfg.3.std', "does not fit the config"),
])
def test_option_without_effect_is_refused(option: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        apply_options(config(), {option: 1})


def test_missing_file_offers_near_names(tmp_path: Path) -> None:
    (tmp_path / 'seg.py').touch()
    with pytest.raises(ConfigError, match=r"does not exist. Did you mean '.*seg\.py'"):
        load_config(tmp_path / 'sge.py')


def test_faulty_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / 'faulty.py'
    file.write_text('model = dict(')
    with pytest.raises(ConfigError, match=r"faulty.py' cannot be read: SyntaxError"):
        load_config(file)


def test_bases_must_not_overlap(tmp_path: Path) -> None:
    (tmp_path / 'a.py').write_text('x = 1')
    (tmp_path / 'b.py').write_text('x = 2')
    (tmp_path / 'leaf.py').write_text("_base_ = ['a.py', 'b.py']")
    with pytest.raises(ConfigError, match='Duplicate key is not allowed among bases'):
        load_config(tmp_path / 'leaf.py')


def test_argument_names_follow_the_bases() -> None:
    class Base(nn.Module):
        def __init__(self, a: int = 0) -> None:
            super().__init__()

    class Child(Base):
        def __init__(self, b: int = 0, **kwargs: Any) -> None:
            super().__init__(**kwargs)

    assert argument_names(Child) == ({'a', 'b'}, False)
    assert argument_names(CheckpointHook)[1]
    names, is_open = argument_names(AdamW)
    assert {'lr', 'betas', 'fused'} <= names and not is_open
    assert argument_names(lambda x, *, y=0, **rest: 0) == ({'x', 'y'}, True)
