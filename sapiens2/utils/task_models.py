"""From the names of a task and a model to the config that describes them. The configs are the one source of truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Union

from mmengine.config import Config

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.pipeline_options import with_options
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.paths import configs_dir
from sapiens2.utils.suggest import UnknownNameError, unknown_name
from sapiens2.utils.tasks import HEAD_OF_TASK, TASKS, unknown_task


DEFAULT_MODEL = 'sapiens2_1b'


def check_task(task: str) -> str:
    """``task`` itself.

    Raises:
        ValueError: if there is no such task; the nearest are offered.
    """
    if task not in TASKS:
        raise UnknownNameError(unknown_task(task))
    return task


def model_configs(task: str) -> dict[str, Path]:
    """Name of each model ('sapiens2_1b') -> the config file of this project that describes it for ``task``."""
    files: dict[str, Path] = {}
    for file in sorted((configs_dir() / check_task(task)).glob(f'sapiens2-*_{task}_*.py')):
        files.setdefault('sapiens2_' + file.name.removeprefix('sapiens2-').partition('_')[0], file)
    return files


def model_name(task: str, name: str) -> str:
    """The full name of a model of ``task``; 'tiny' stands for 'sapiens2_tiny'.

    Raises:
        ValueError: if there is no such model; the nearest are offered.
    """
    known = model_configs(task)
    for full in (name, f'sapiens2_{name}'):
        if full in known:
            return full
    # What is missing of a short name would hide how near it is.
    names = (*known, *(full.removeprefix('sapiens2_') for full in known))
    raise UnknownNameError(unknown_name(name, names, f'model for {task}')
                           + ' A config file (.py) goes to config (--config).')


def task_config(task: str, model: Union[str, os.PathLike, Config]) -> Config:
    """The config of ``model`` for ``task``, one that the caller may change.

    Args:
        model: name of a model as in ``model_name``, path of a config file, or a config.

    Raises:
        ValueError: for an unknown task or model, a file that is no config, or a config of another task.
    """
    check_task(task)
    if isinstance(model, Config):
        cfg = Config(model.to_dict())
    elif str(model).endswith('.py'):
        cfg = load_config(model)
    else:
        cfg = Config.fromfile(model_configs(task)[model_name(task, str(model))])
    head = cfg.get('model', {}).get('decode_head', {}).get('type')
    if head != HEAD_OF_TASK[task]:
        owner = next((name for name, known_head in HEAD_OF_TASK.items() if known_head == head), 'none of the tasks')
        raise ConfigError(f'the config describes a network for {owner} (model.decode_head.type is {head}), not for '
                          f'{task}, whose decoder is {HEAD_OF_TASK[task]}')
    # Nothing is trained here.
    cfg.model.decode_head.pop('loss_decode', None)
    return cfg


def inference_pipeline(cfg: Config) -> list[dict[str, Any]]:
    """The transforms of the config's test data without those that read ground truth.

    Raises:
        ConfigError: if the config has none.
    """
    dataset = cfg.get('test_dataloader', {}).get('dataset', {})
    pipeline = dataset.get('pipeline')
    if not pipeline:
        raise ConfigError('the config has no test_dataloader.dataset.pipeline, which brings images to the network')
    pipeline = with_options(pipeline, dataset.get('pipeline_options') or {})
    return [dict(step) for step in pipeline if step['type'] != 'LoadFields']


def dataset_meta(task: str, cfg: Config) -> dict[str, Any]:
    """Names and colours of what the network predicts: of key points for pose, of classes for seg, else nothing.

    They are the table of ``load_metainfo`` that the config names. A network with another number of classes than its
    test data has classes that are called by their numbers.
    """
    head = cfg.model.decode_head
    if task == 'pose':
        table = head.get('metainfo') or 'sapiens308'
        return load_metainfo(table) if isinstance(table, str) else dict(table)
    if task != 'seg':
        return {}
    classes = cfg.get('test_dataloader', {}).get('dataset', {}).get('classes', 'seg29')
    table = load_metainfo(classes) if isinstance(classes, str) else {'classes': list(classes)}
    count = head.get('num_classes', len(table['classes']))
    return table if count == len(table['classes']) else {'classes': [f'class {label}' for label in range(count)]}


def set_image_size(cfg: Config, img_size: tuple[int, int]) -> None:
    """Make ``img_size`` (H, W) the size of the network's input, in place: of the backbone and of the pipeline."""
    height, width = img_size
    cfg.model.backbone.img_size = (height, width)
    dataset = cfg.test_dataloader.dataset
    dataset.pipeline = with_options(dataset.pipeline, dataset.pop('pipeline_options', None) or {})
    for step in dataset.pipeline:
        if step['type'] == 'Resize':
            step['size'] = (height, width)
        elif step['type'] == 'TopdownAffine':
            step['input_size'] = (width, height)
        elif step['type'] == 'GetBBoxCenterScale':
            step['aspect'] = width / height
