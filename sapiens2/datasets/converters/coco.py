"""COCO and COCO-WholeBody: key points of people, and where people are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pycocotools import mask as rle

from sapiens2.datasets.coco_json import KeypointReader, entry, read_box, read_coco
from sapiens2.datasets.converters.base import Converter, Item
from sapiens2.datasets.converters.sources import find, find_all, require
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import IGNORE_LABEL
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import read_image

_PERSON = 'person'


class Coco(Converter):
    """Photographs with people, the annotations of people, and label maps of people and the rest.

    The annotations are those of the source without what is no person. Lin et al., "Microsoft COCO: Common Objects in
    Context", ECCV 2014.
    """

    NAME = 'coco'
    TITLE = 'COCO 2017 key points'
    FILES: ClassVar[Mapping[str, str]] = {'labels': '.png', 'images': '.jpg'}
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
        """Images lie where the configs for pose look for them."""
        return self.target / f'{split}2017' if kind == 'images' else super().place(split, kind)

    def items(self, split: str) -> Iterator[Item]:
        """One item a photograph with a person; faulty annotations are left out, and named by ``finish``."""
        path = find(self.source, self.ANNOTATIONS.format(split), what=f'the annotation file of {self.TITLE}, {split}')
        folders = find_all(self.source, f'{split}2017')
        folders = [folder for folder in folders if folder.is_dir() and next(folder.glob('*.jpg'), None)]
        if len(folders) != 1:
            raise DataError(f'{self.source}: {"several" if folders else "no"} folders {split}2017 with photographs '
                            f'{", ".join(map(str, folders))}; unpack {split}2017.zip there')
        content, problems = _people_only(read_coco(str(path), ('images', 'annotations', 'categories')), path,
                                         self.KEYPOINTS)
        self._kept[split], self._problems[split] = content, problems
        shapes: dict[Any, list[dict[str, Any]]] = {}
        for annotation in content['annotations']:
            shapes.setdefault(annotation['image_id'], []).append(
                {key: annotation[key] for key in ('id', 'iscrowd', 'segmentation') if key in annotation})
        for image in content['images']:
            size = int(image['height']), int(image['width'])
            yield Item(split, (Path(image['file_name']).stem,),
                       (folders[0] / image['file_name'], size, shapes[image['id']], path))

    def convert(self, item: Item) -> list[str]:
        """Draw the label map: 0 the rest, 1 person, 255 a crowd without single people."""
        image, size, shapes, annotations = item.sources
        require(image, f'{annotations} names it')
        shape = read_image(image).shape[:2]
        if shape != size:
            raise DataError(f'{image}: has height, width {shape}, {annotations} says {size}')
        labels = np.zeros(size, np.uint8)
        # People last: a person in front of a crowd is a person.
        for person in sorted(shapes, key=lambda person: not person.get('iscrowd')):
            mask = _read_mask(person, size, f'{annotations}: annotation {person["id"]}')
            labels[mask] = IGNORE_LABEL if person.get('iscrowd') else 1
        sample = self.sample(item, item.names[0])
        sample.picture('labels', labels)
        sample.take('images', image)
        return []

    def finish(self, split: str) -> list[str]:
        """Write the annotations of the photographs that are there, and link these to where the configs for seg look."""
        images = self.target / split / 'images'
        if not os.path.lexists(images):
            images.symlink_to(os.path.relpath(self.place(split, 'images'), images.parent))
        content, folder = self._kept[split], self.place(split, 'images')
        there = {path.name for path in folder.glob('*.jpg')}
        images = [image for image in content['images'] if image['file_name'] in there]
        numbers = {image['id'] for image in images}
        people = [person for person in content['annotations'] if person['image_id'] in numbers]
        path = self.target / 'annotations' / self.ANNOTATIONS.format(split)
        with atomic_path(path) as partial:
            partial.write_text(json.dumps({**content, 'images': images, 'annotations': people}), encoding='utf-8')
        return self._problems[split]

    def commands(self) -> list[str]:
        """People against the rest, and pose."""
        classes = [f'{part}_dataloader.dataset.classes=["Background","Person"]' for part in ('train', 'val', 'test')]
        head = ['model.decode_head.num_classes=2', 'model.decode_head.loss_decode.0.class_weight=[1.0,1.0]']
        return [self.train_command('seg/sapiens2-1b_seg_folder-1024x768.py', *classes, *head),
                self.train_command('pose/sapiens2-1b_pose_coco_wholebody-1024x768.py', *self._pose_options())]

    def _pose_options(self) -> list[str]:
        """What differs from the config of COCO-WholeBody."""
        return [option for part, split in (('train', 'train'), ('val', 'val'), ('test', 'val')) for option in (
            f'{part}_dataloader.dataset.ann_file=annotations/{self.ANNOTATIONS.format(split)}',
            f'{part}_dataloader.dataset.keypoint_set={self.KEYPOINTS}')]


class CocoWholeBody(Coco):
    """COCO with feet, hands and faces: Jin et al., "Whole-Body Human Pose Estimation in the Wild", ECCV 2020."""

    NAME = 'coco-wholebody'
    TITLE = 'COCO-WholeBody 1.0'
    KEYPOINTS = 'coco_wholebody'
    ANNOTATIONS = 'coco_wholebody_{}_v1.0.json'

    def _pose_options(self) -> list[str]:
        return []


def _people_only(content: dict[str, Any], path: Path, keypoints: str) -> tuple[dict[str, Any], list[str]]:
    """The annotation file without other categories and photographs without people; a line for each faulty annotation.
    """
    categories = [category for category in content['categories'] if category.get('name') == _PERSON]
    if len(categories) != 1:
        raise DataError(f'{path}: has {len(categories)} categories called {_PERSON!r}, one is expected')
    reader = KeypointReader(content, keypoints, 'sapiens308', str(path))
    images = {entry(image, 'id', f'{path}: an image'): image for image in content['images']}
    people, problems = [], []
    for annotation in content['annotations']:
        where = f'{path}: annotation {annotation.get("id")}'
        if entry(annotation, 'category_id', where) != categories[0]['id']:
            continue
        try:
            image = images.get(entry(annotation, 'image_id', where))
            if image is None:
                raise DataError(f'{where}: image_id {annotation["image_id"]!r} is not among its images')
            size = entry(image, 'width', where, 'number'), entry(image, 'height', where, 'number')
            read_box(entry(annotation, 'bbox', where), size, where)
            if not annotation.get('iscrowd'):
                reader.read(annotation)
            people.append(annotation)
        except DataError as error:
            problems.append(str(error))
    numbers = {person['image_id'] for person in people}
    return {**content, 'categories': categories, 'annotations': people,
            'images': [image for number, image in images.items() if number in numbers]}, problems


def _read_mask(person: Mapping[str, Any], size: tuple[int, int], where: str) -> np.ndarray:
    """(H, W) bool of polygons, or of runs, compressed or not."""
    shape = entry(person, 'segmentation', where)
    try:
        if isinstance(shape, list):
            runs = rle.merge(rle.frPyObjects(shape, *size))
        else:
            runs = rle.frPyObjects(shape, *shape['size']) if isinstance(shape['counts'], list) else shape
        mask = rle.decode(runs).astype(bool)
    except Exception as error:  # pycocotools raises whatever its C code meets
        raise DataError(f'{where}: segmentation cannot be drawn: {error!r:.100}') from error
    if mask.shape != size:
        raise DataError(f'{where}: segmentation has height, width {mask.shape}, the photograph has {size}')
    return mask
