"""Data sets that no config describes, found by what lies in a folder or a COCO JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

from sapiens2.datasets.coco_json import read_coco
from sapiens2.datasets.dense import CAMERA_FILES
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import nearest, unknown_name
from sapiens2.utils.tasks import SPLITS
from sapiens2.utils.visible_files import visible_files

IMAGES = 'images'
# Folder -> field, as the configs under configs/_base_/datasets name them.
FIELD_OF_FOLDER = {'labels': 'sem_seg', 'normals': 'normal', 'depths': 'depth', 'cameras': 'K', 'masks': 'mask',
                   'albedos': 'albedo'}
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


def of_folder(root: Path, splits: Sequence[str], task: Optional[str], images: Optional[str],
               alone: bool) -> Iterator[Source]:
    """The data sets of a folder: those of its ground truth, and of the annotation files beside them.

    Args:
        alone: leave the annotation files beside ground truth out, because options fit one kind of data set only.
    """
    folders = {split: root / split for split in SPLITS if (root / split / IMAGES).is_dir()}
    whole = (root / IMAGES).is_dir() and bool(_fields(root))
    if not whole and not folders:
        yield _of_only_json(root, task, images)
        return
    chosen = [split for split in splits if split in folders]
    if whole and tuple(splits) != SPLITS:
        raise ConfigError(f'{root} has no folders {", ".join(splits)}, so no split can be chosen')
    if not whole and not chosen:
        raise ConfigError(f'{root} has no split {", ".join(splits)}; it has {", ".join(folders)}')
    annotated, passed = _beside(root, splits, images, read=task in (None, 'pose') and not alone)
    if not (task == 'pose' and annotated):
        dense = [_of_fields(root, root.name, task)] if whole else [
            _of_fields(folders[split], split, task) for split in chosen]
        if passed:
            dense[-1] = replace(dense[-1], detected=f'{dense[-1].detected} Files passed over: {", ".join(passed)}.')
        yield from dense
    yield from annotated


def _json_files(root: Path) -> list[Path]:
    """JSON files that may hold annotations."""
    return [file for file in visible_files(root, '*.json', 'annotations/*.json') if file.name not in CAMERA_FILES]


def _beside(root: Path, splits: Sequence[str], images: Optional[str], read: bool) -> tuple[list[Source], list[str]]:
    """The data sets of key points beside ground truth in folders, and the JSON files that are passed over, with why."""
    sources: list[Source] = []
    passed: list[str] = []
    for path in _json_files(root):
        if not read:
            passed.append(f'{path.name} (check it by its name)')
        elif any(split in path.stem for split in SPLITS if split not in splits) \
                and not any(split in path.stem for split in splits):
            passed.append(f'{path.name} (of another split by its name)')
        else:
            try:
                source = of_json(path, None, images)
            except ConfigError as error:
                passed.append(f'{path.name} ({error})')
                continue
            if source.detected or path.parent != root:  # what lies in annotations/ is meant to be annotations
                sources.append(source)
            else:
                passed.append(f'{path.name} (no COCO annotations)')
    return sources, passed


def _of_only_json(root: Path, task: Optional[str], images: Optional[str]) -> Source:
    """The data set of a folder with nothing but one annotation file, and images."""
    files = _json_files(root)
    if len(files) > 1:
        raise ConfigError(f'{root} holds several JSON files; name the one to look at: '
                          + ', '.join(str(file) for file in files))
    if not files:
        raise ConfigError(f'{root} is in no layout that is known: it needs {IMAGES}/ and one of '
                          + ', '.join(f'{name}/' for name in FIELD_OF_FOLDER)
                          + ', the same in train/, val/ or test/, or a COCO JSON. It holds: '
                          + (', '.join(sorted(os.listdir(root))[:12]) or 'nothing'))
    return of_json(files[0], task, images)


def _fields(root: Path) -> dict[str, str]:
    """Field -> name of its folder in ``root``; the data set finds the file of one K for all images itself."""
    found = {field: folder for folder, field in FIELD_OF_FOLDER.items() if (root / folder).is_dir()}
    if any((root / name).is_file() for name in CAMERA_FILES):
        found.setdefault('K', _folder_of('K'))
    return found


def _folder_of(field: str) -> str:
    return next(folder for folder, of in FIELD_OF_FOLDER.items() if of == field)


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
            found[field] = _folder_of(field)  # the data set says that it is missing
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


def of_json(path: Path, task: Optional[str], images: Optional[str]) -> Source:
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
