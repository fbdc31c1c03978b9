"""What ``sapiens2 data`` is pointed at, as configurations of data sets: a training config, a folder or a COCO JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from mmengine.config import Config, ConfigDict

from sapiens2.apis.data_check.layouts import Source, of_folder, of_json
from sapiens2.engine.launch import check_data
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.suggest import nearest
from sapiens2.utils.tasks import SPLITS


def sources_of(path: str, *, splits: Sequence[str] = SPLITS, task: Optional[str] = None, images: Optional[str] = None,
               options: Optional[Mapping[str, Any]] = None) -> list[Source]:
    """The data sets that ``path`` names, none twice.

    Args:
        path: a training config (``.py``), a folder in the documented layout, or a COCO JSON. Of a folder, annotation
            files with key points are data sets of their own.
        splits: which of train, val and test.
        task: of a folder or JSON; None takes all fields that are there, and key points before outlines.
        images: folder of the images of a JSON; None looks for it.
        options: replacements, of entries of the config, or of arguments of the data set of a folder or JSON.

    Raises:
        ConfigError: if the path is none of these, or lacks what was asked for.
    """
    place = Path(path)
    if place.suffix == '.py':
        if task is not None or images is not None:
            raise ConfigError('task and images are for folders and JSON files; a config says both itself')
        return _without_twins(_of_config(place, splits, options or {}))
    if not place.exists():
        near = nearest(place.name, os.listdir(place.parent)) if place.parent.is_dir() else []
        raise ConfigError(f'{path} does not exist' + (f'. Did you mean {" or ".join(near)}?' if near else ''))
    if place.is_dir():
        found = list(of_folder(place, splits, task, images, bool(options)))
    elif place.suffix.lower() == '.json':
        found = [of_json(place, task, images)]
    else:
        raise ConfigError(f'{path} is no config (.py), no folder and no COCO annotation file (.json)')
    return [_with_options(source, options or {}) for source in found]


def _of_config(path: Path, splits: Sequence[str], options: Mapping[str, Any]) -> Iterator[Source]:
    cfg = load_config(path, options)
    loaders = [f'{split}_dataloader' for split in splits if cfg.get(f'{split}_dataloader')]
    if not loaders:
        raise ConfigError(f'{path} has no data set for {", ".join(splits)}')
    check_data(cfg, *loaders)
    for loader in loaders:
        yield Source(loader.removesuffix('_dataloader'), cfg[loader]['dataset'].to_dict())


def _without_twins(sources: Iterator[Source]) -> list[Source]:
    """Sources with equal configurations as one, under both names."""
    kept: list[Source] = []
    for source in sources:
        twin = next((index for index, other in enumerate(kept) if other.config == source.config), None)
        if twin is None:
            kept.append(source)
        else:
            kept[twin] = Source(f'{kept[twin].name} = {source.name}', source.config)
    return kept


def _with_options(source: Source, options: Mapping[str, Any]) -> Source:
    config = Config(ConfigDict(source.config))
    try:
        config.merge_from_dict(dict(options))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ConfigError(f'options {dict(options)} do not fit the data set of {source.name}: {error}') from error
    return Source(source.name, config.to_dict(), source.detected)
