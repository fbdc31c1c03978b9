"""The released recipes of all tasks, shrunk until a run takes a second."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from sapiens2.utils.config import load_config

CONFIGS = Path(__file__).parents[1] / 'configs'
# The released sizes, as (H, W), (W, H) and heat maps, and what stands for them here.
SMALL = {(1024, 768): (64, 48), (768, 1024): (48, 64), (192, 256): (12, 16),
         (4096, 3072): (256, 192), (3072, 4096): (192, 256), (384, 512): (24, 32)}
HEADS = {
    'pose': dict(deconv_out_channels=(16, 16), conv_out_channels=(16,), conv_kernel_sizes=(1,)),
    'seg': dict(deconv_out_channels=(16, 16, 8, 8), conv_out_channels=(8,), conv_kernel_sizes=(1,)),
    'pointmap': dict(upsample_channels=(16, 16, 8, 8), conv_out_channels=(8,), conv_kernel_sizes=(3,),
                     scale_conv_out_channels=(16,), scale_conv_kernel_sizes=(1,), scale_final_layer=(64, 16, 1)),
    'dense': dict(upsample_channels=(16, 16, 8, 8), conv_out_channels=(8,), conv_kernel_sizes=(3,)),
}
DOUBLINGS = {'deconv_out_channels', 'upsample_channels'}
_RUNS = itertools.count()
PRETRAINING = dict(
    backbone=dict(arch='sapiens2_nano', img_size=(64, 48), drop_path_rate=0.2),
    mae=dict(channels=32, depth=2, num_heads=2),
    contrastive=dict(head=dict(hidden=32, bottleneck=16, prototypes=24), freeze_prototypes=3))


def shrunk(node: Any, sizes: Mapping[tuple[int, ...], tuple[int, ...]] = SMALL) -> Any:
    """``node`` with the released sizes replaced."""
    if isinstance(node, dict):
        return {key: shrunk(value, sizes) for key, value in node.items()}
    if isinstance(node, (list, tuple)):
        return sizes.get(tuple(node) if all(isinstance(item, int) for item in node) else None,
                         type(node)(shrunk(item, sizes) for item in node))
    return node


def small_recipe(task: str, data: list[str], work_dir: Path, size: str = '0.1b', **changes: Any) -> Config:
    """The released recipe of a task, its augmentations included, on small pictures and a small network.

    Args:
        data: as ``write_data`` returns it.
        size: whose recipe; that of '1b-4k' has decoders with one doubling more.
        changes: entries to replace, 'a.b' written 'a__b'.
    """
    leaf, = (CONFIGS / task).glob(f'sapiens2-{size}_{task}_*.py')
    options = dict(item.split('=', 1) for item in data)
    if task == 'pose':
        options = {f'{split}_dataloader.dataset.{key}': value for split in ('train', 'val')
                   for key, value in (*options.items(), ('data_prefix.img_path', ''))}
    cfg = Config(shrunk(load_config(leaf, options).to_dict()))
    cfg.model.backbone.update(arch='sapiens2_nano', drop_path_rate=0.2, rope_shift=0.1)
    cfg.model.decode_head.update(HEADS.get(task, HEADS['dense']))
    if size.endswith('-4k'):
        for name in DOUBLINGS.intersection(cfg.model.decode_head):
            cfg.model.decode_head[name] = (*cfg.model.decode_head[name], 8)
    cfg.merge_from_dict({
        'train_dataloader.batch_size': 2, 'train_dataloader.num_workers': 0, 'val_dataloader.num_workers': 0,
        'test_dataloader.num_workers': 0, 'optim_wrapper.optimizer.lr': 1e-2, 'param_scheduler.0.end': 3,
        'param_scheduler.1.begin': 2, 'default_hooks.logger.interval': 1, 'log_level': 'WARNING'})
    cfg.merge_from_dict({key.replace('__', '.'): value for key, value in changes.items()})
    cfg.work_dir, cfg.experiment_name = str(work_dir), f'small-{next(_RUNS)}'
    return cfg




def small_pretraining(data: list[str], work_dir: Path, variant: str = '', **changes: Any) -> Config:
    """The recipe of pretraining for laptops, its augmentations included, on small pictures and a small network.

    Args:
        data: as ``write_data`` returns it.
        variant: '', 'mae', 'cl' or 'dino'.
        changes: entries to replace, 'a.b' written 'a__b'.
    """
    name = 'sapiens2-tiny_pretrain_synth-256x192' + (f'_{variant}' if variant else '')
    cfg = load_config(CONFIGS / 'pretrain' / f'{name}.py', dict(item.split('=', 1) for item in data))
    for part, options in PRETRAINING.items():
        if cfg.model[part] is not None:
            cfg.model[part].update(options)
    cfg.train_dataloader.dataset.pipeline_options = dict(MultiCrop=dict(
        global_crops=dict(size=(64, 48)), local_crops=dict(size=(32, 16), number=3)))
    cfg.merge_from_dict({
        'train_dataloader.batch_size': 2, 'train_dataloader.num_workers': 0, 'default_hooks.logger.interval': 1,
        'param_scheduler.0.end': 3, 'param_scheduler.1.begin': 2, 'log_level': 'WARNING'})
    cfg.merge_from_dict({key.replace('__', '.'): value for key, value in changes.items()})
    cfg.work_dir, cfg.experiment_name = str(work_dir), f'small-{next(_RUNS)}'
    return cfg
