"""What ``sapiens2 data`` is pointed at, as configurations of data sets: a training config, a folder or a COCO JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from mmengine.config import Config, ConfigDict

from sapiens2.datasets.coco_json import read_coco
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.engine.launch import check_data
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.suggest import nearest, unknown_name
from sapiens2.utils.tasks import SPLITS

IMAGES = 'images'
# Folder -> field, as the configs under configs/_base_/datasets name them.
FIELD_OF_FOLDER = {'labels': 'sem_seg', 'normals': 'normal', 'depths': 'depth', 'cameras': 'K', 'masks': 'mask',
                   'albedos': 'albedo'}
CAMERA_FILES = ('camera.json', 'cameras.json', 'K.json', 'K.npy')
# Fields that a task needs; all but seg take a mask where there is one.
FIELDS_OF_TASK = {'seg': ('sem_seg',), 'normal': ('normal',), 'pointmap': ('depth', 'K'), 'albedo': ('albedo',)}
LOADING = ({'type': 'LoadImage'}, {'type': 'LoadFields'})
# Images of a JSON that are looked for beside it, before their folder is believed to be found.
_TRIED = 20


@dataclass(frozen=True)
class Source:
    """A data set to look at.

    Attributes:
        name: the split, or the file.
        config: of the data set.
        detected: what was found, for people.
    """

    name: str
    config: dict[str, Any]
    detected: str = ''


def sources_of(path: str, *, splits: Sequence[str] = SPLITS, task: Optional[str] = None, images: Optional[str] = None,
               options: Optional[Mapping[str, Any]] = None) -> list[Source]:
    """The data sets that ``path`` names, none twice.

    Args:
        path: a training config (``.py``), a folder in the documented layout, or a COCO JSON.
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
        found = list(_of_folder(place, splits, task, images))
    elif place.suffix.lower() == '.json':
        found = [_of_json(place, task, images)]
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


def _of_folder(root: Path, splits: Sequence[str], task: Optional[str], images: Optional[str]) -> Iterator[Source]:
    """The data sets of a folder: that of each split, that of the folder itself, or that of its one JSON."""
    folders = {split: root / split for split in SPLITS if (root / split / IMAGES).is_dir()}
    if (root / IMAGES).is_dir() and _fields(root):
        if tuple(splits) != SPLITS:
            raise ConfigError(f'{root} has no folders {", ".join(splits)}, so no split can be chosen')
        yield _of_fields(root, root.name, task)
    elif folders:
        chosen = [split for split in splits if split in folders]
        if not chosen:
            raise ConfigError(f'{root} has no split {", ".join(splits)}; it has {", ".join(folders)}')
        for split in chosen:
            yield _of_fields(folders[split], split, task)
    else:
        files = sorted([*root.glob('*.json'), *root.glob('annotations/*.json')])
        if len(files) > 1:
            raise ConfigError(f'{root} holds several JSON files; name the one to look at: '
                              + ', '.join(str(file) for file in files))
        if not files:
            raise ConfigError(f'{root} is in no layout that is known: it needs {IMAGES}/ and one of '
                              + ', '.join(f'{name}/' for name in FIELD_OF_FOLDER)
                              + ', the same in train/, val/ or test/, or a COCO JSON. It holds: '
                              + (', '.join(sorted(os.listdir(root))[:12]) or 'nothing'))
        yield _of_json(files[0], task, images)


def _fields(root: Path) -> dict[str, str]:
    """Field -> name of its folder, or for K file, in ``root``."""
    found = {field: folder for folder, field in FIELD_OF_FOLDER.items() if (root / folder).is_dir()}
    for name in CAMERA_FILES:
        if 'K' not in found and (root / name).is_file():
            found['K'] = name
    return found


def _of_fields(root: Path, name: str, task: Optional[str]) -> Source:
    if task == 'pose':
        raise ConfigError(f'{root}: the task pose needs a COCO JSON, not folders of ground truth')
    found = _fields(root)
    if not found:
        raise ConfigError(f'{root} has {IMAGES}/ but none of ' + ', '.join(f'{folder}/' for folder in FIELD_OF_FOLDER))
    # Depth is of use with a camera only, so a folder without one lacks it.
    wanted = FIELDS_OF_TASK.get(task or ('pointmap' if 'depth' in found else ''), ())
    for field in wanted:
        if field not in found:
            folder = next(folder for folder, of in FIELD_OF_FOLDER.items() if of == field)
            found[field] = folder  # the data set says that it is missing
    if task is not None:
        found = {field: folder for field, folder in found.items()
                 if field in wanted or field == 'mask' and task != 'seg'}
    layout = ', '.join(f'{folder} ({field})' for field, folder in found.items())
    unknown = [entry.name for entry in sorted(root.iterdir()) if entry.is_dir() and not entry.name.startswith('.')
               and entry.name not in (IMAGES, *FIELD_OF_FOLDER)]
    near = [unknown_name(entry, (IMAGES, *FIELD_OF_FOLDER), 'folder') for entry in unknown
            if nearest(entry, FIELD_OF_FOLDER)]
    return Source(name, {
        'type': 'DenseFolderDataset', 'data_root': str(root), 'data_prefix': {'img_path': IMAGES, **found},
        'pipeline': [dict(step) for step in LOADING]},
        ' '.join([f'{root}: {IMAGES} with {layout}' + (f'; passed over: {", ".join(unknown)}' if unknown else '') + '.',
                  *near]))


def _of_json(path: Path, task: Optional[str], images: Optional[str]) -> Source:
    if task not in (None, 'pose', 'seg'):
        raise ConfigError(f'{path}: a COCO JSON holds pose or seg, not {task}')
    try:
        content = read_coco(str(path))
    except DataError:
        # Its fault is for the data set to say.
        return Source(path.name, _coco('CocoPoseDataset', path, images or ''))
    names = [image['file_name'] for image in content['images'] if isinstance(image.get('file_name'), str)]
    folder = images if images is not None else _images_folder(path, names)
    kind = task or ('pose' if any(annotation.get('keypoints') for annotation in content['annotations'])
                    or not any(annotation.get('segmentation') for annotation in content['annotations']) else 'seg')
    detected = (f'{path}: COCO annotations for {kind}, {len(content["images"])} images in {folder or "."}, '
                f'{len(content["annotations"])} annotations.')
    if kind == 'pose':
        return Source(path.name, _coco('CocoPoseDataset', path, folder), detected)
    config = _coco('CocoSegDataset', path, folder)
    categories = [name for category in content.get('categories') or [] if isinstance(category, dict)
                  and isinstance(name := category.get('name'), str)]
    if not set(categories) & set(load_metainfo('seg29')['classes']):
        # Another set of classes than the project's, such as COCO's one, person.
        config['classes'] = ['Background', *categories]
        detected += f' Its classes: {", ".join(categories)}.'
    return Source(path.name, config, detected)


def _coco(dataset: str, path: Path, folder: str) -> dict[str, Any]:
    steps = LOADING[:1] if dataset == 'CocoPoseDataset' else LOADING
    return {'type': dataset, 'ann_file': str(path.absolute()), 'data_prefix': {'img_path': folder},
            'pipeline': [dict(step) for step in steps]}


def _images_folder(path: Path, names: Sequence[str]) -> str:
    """The folder near ``path`` that has most of the first images.

    Raises:
        ConfigError: if none has any.
    """
    near = [path.parent, *(path.parent / name for name in (IMAGES, 'train2017', 'val2017'))]
    near += [path.parent.parent, *sorted(entry for entry in path.parent.parent.glob('*') if entry.is_dir())]
    tried = names[:_TRIED]
    hits = [sum((folder / name).is_file() for name in tried) for folder in near]
    if tried and not max(hits):
        raise ConfigError(f'{path}: its images, {tried[0]!r} for instance, lie neither beside it nor in a folder near '
                          'it; give their folder (--images DIR)')
    return str(near[hits.index(max(hits))]) if tried else ''
