"""COCO and COCO-WholeBody: key points, boxes and outlines of people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from sapiens2.datasets.coco_images import image_of, read_images
from sapiens2.datasets.coco_json import entry, is_crowd, new_place, read_coco
from sapiens2.datasets.converters.base import Converter, Item
from sapiens2.datasets.converters.sources import find, find_all, require
from sapiens2.datasets.errors import DataError, Fault, collecting, raise_first
from sapiens2.datasets.keypoint_reader import KeypointReader
from sapiens2.datasets.rules.people import box_faults
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import read_image

_PERSON = 'person'
_SHOWN = 5  # faults in one error
_SPLIT_OF_LOADER = {'train': 'train', 'val': 'val', 'test': 'val'}


class Coco(Converter):
    """Photographs with people, and their annotations: those of the source without what is no person.

    Pose and people against the rest are both trained from them. Lin et al., "Microsoft COCO: Common Objects in
    Context", ECCV 2014.
    """

    NAME = 'coco'
    TITLE = 'COCO 2017 key points'
    FILES: ClassVar[Mapping[str, str]] = {'images': '.jpg'}
    KEYPOINTS: ClassVar[str] = 'coco'
    # Name of the annotation file of a split.
    ANNOTATIONS: ClassVar[str] = 'person_keypoints_{}2017.json'

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kept: dict[str, dict[str, Any]] = {}
        self._problems: dict[str, list[str]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Workers need no annotations."""
        return {**self.__dict__, '_kept': {}, '_problems': {}}

    def place(self, split: str, kind: str) -> Path:
        """Images lie where the configs look for them."""
        return self.target / f'{split}2017'

    def items(self, split: str) -> Iterator[Item]:
        """One item a photograph with a person; faulty annotations are left out, and named by ``finish``."""
        path = find(self.source, self.ANNOTATIONS.format(split), what=f'the annotation file of {self.TITLE}, {split}')
        folders = find_all(self.source, f'{split}2017')
        folders = [folder for folder in folders if folder.is_dir() and next(folder.glob('*.jpg'), None)]
        if len(folders) != 1:
            raise DataError(f'{self.source}: {"several" if folders else "no"} folders {split}2017 with photographs '
                            f'{", ".join(map(str, folders))}; unpack {split}2017.zip there')
        content, problems = _people_only(read_coco(str(path), ('images', 'annotations', 'categories')), str(path),
                                         self.KEYPOINTS)
        if problems and not content['images']:
            shown = ''.join(f'\n  {problem}' for problem in problems[:_SHOWN])
            raise DataError(f'{path}: no person in it can be used; {len(problems)} faults were found:{shown}'
                            + '\n  ...' * (len(problems) > _SHOWN))
        self._kept[split], self._problems[split] = content, problems
        for image in content['images']:
            size = int(image['height']), int(image['width'])
            yield Item(split, (Path(image['file_name']).stem,), (folders[0] / image['file_name'], size, path))

    def convert(self, item: Item) -> list[str]:
        """Take the photograph over unchanged, if it is what the annotations are for."""
        image, size, annotations = item.sources
        require(image, f'{annotations} names it')
        shape = read_image(image).shape[:2]
        if shape != size:
            raise DataError(f'{image}: has height, width {shape}, {annotations} says {size}')
        self.sample(item, item.names[0]).take('images', image)
        return []

    def finish(self, split: str) -> list[str]:
        """Write the annotations of the photographs that are there."""
        content, folder = self._kept[split], self.place(split, 'images')
        images = [image for image in content['images'] if (folder / image['file_name']).is_file()]
        numbers = {image['id'] for image in images}
        people = [person for person in content['annotations'] if person['image_id'] in numbers]
        path = self.target / 'annotations' / self.ANNOTATIONS.format(split)
        with atomic_path(path) as partial:
            partial.write_text(json.dumps({**content, 'images': images, 'annotations': people}), encoding='utf-8')
        return self._problems[split]

    def commands(self) -> list[str]:
        """People against the rest, and pose."""
        files = [f'{loader}_dataloader.dataset.ann_file=annotations/{self.ANNOTATIONS.format(split)}'
                 for loader, split in _SPLIT_OF_LOADER.items()]
        points = [f'{loader}_dataloader.dataset.keypoint_set={self.KEYPOINTS}' for loader in _SPLIT_OF_LOADER]
        return [self.train_command('seg/sapiens2-1b_seg_coco-1024x768.py', *files),
                self.train_command('pose/sapiens2-1b_pose_coco_wholebody-1024x768.py', *files, *points)]


class CocoWholeBody(Coco):
    """COCO with feet, hands and faces: Jin et al., "Whole-Body Human Pose Estimation in the Wild", ECCV 2020."""

    NAME = 'coco-wholebody'
    TITLE = 'COCO-WholeBody 1.0'
    KEYPOINTS = 'coco_wholebody'
    ANNOTATIONS = 'coco_wholebody_{}_v1.0.json'


def _people_only(content: dict[str, Any], path: str, keypoints: str) -> tuple[dict[str, Any], list[str]]:
    """The annotation file without other categories and photographs without people; a line for each fault."""
    categories = [category for category in content['categories'] if category.get('name') == _PERSON]
    if len(categories) != 1:
        raise DataError(f'{path}: has {len(categories)} categories called {_PERSON!r}, one is expected')
    number = entry(categories[0], 'id', f'{path}: the category {_PERSON}', 'number or text')
    reader = KeypointReader(content, keypoints, 'sapiens308', path)
    images: dict[Any, dict[str, Any]] = {}
    faults: list[Fault] = list(read_images(content['images'], path, '', images))
    people: list[dict[str, Any]] = []
    ids: set[Any] = set()
    for annotation in content['annotations']:
        with collecting(faults):
            place = new_place(annotation, 'annotation', path, ids)
            ids.add(annotation['id'])
            if entry(annotation, 'category_id', place) != number:
                continue
            image = image_of(annotation, place, path, images)
            size = image['width'], image['height']
            raise_first(box_faults(entry(annotation, 'bbox', place), size, place))
            if not is_crowd(annotation, place):
                raise_first(reader.faults(reader.read(annotation), size, place))
            people.append(annotation)
    shown = {person['image_id'] for person in people}
    # Of two images with one id, the first that is sound was taken.
    records = {image_id: record for record in reversed(content['images'])
               if isinstance(image_id := record.get('id'), (int, str)) and image_id in shown
               and record.get('file_name') == images[image_id]['img_path']}
    return {**content, 'categories': categories, 'annotations': people,
            'images': [records[image_id] for image_id in images if image_id in shown]}, list(map(str, faults))
