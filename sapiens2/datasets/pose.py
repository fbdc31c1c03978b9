"""People with key points, in COCO's annotation format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.base import BaseHumanDataset
from sapiens2.datasets.coco_json import KeypointReader, entry, objects, read_box, read_coco
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.registry import DATASETS


@DATASETS.register_module()
class CocoPoseDataset(BaseHumanDataset):
    """One sample a person, from a COCO JSON with 17, 133 (COCO-WholeBody), 308 or any other named key points.

    The points are given as those of ``target``: points of the same name, and for COCO-WholeBody by its table. Points
    that the annotation lacks are not labelled; points that the target lacks, such as the 68 face points and the hands'
    roots of COCO-WholeBody, are left out. Crowds (``iscrowd``) and people with too few labelled points are left out;
    images without people do no harm.

    Args:
        ann_file: COCO JSON; its images have ``width`` and ``height``.
        data_prefix: ``img_path``, the folder of the images.
        keypoint_set: 'coco', 'coco_wholebody' or 'sapiens308'; None reads the names from the file's categories.
        target: 'sapiens308' or 'coco', the points that the model has.
        bbox_file: JSON list of detections (image_id, bbox, score, category_id 1) to take in place of the annotated
            boxes. Its samples carry no key points: it is for validation and test.
        bbox_score_thr: detections below are left out.
        min_visible_keypoints: fewest labelled target points of a person.
        metainfo: entries that replace those of ``load_metainfo(target)``.
        kwargs: of ``BaseHumanDataset``.

    Raises:
        DataError: naming file, annotation, field and remedy, for a wrong count of values, a box that is empty, not a
            number or outside, an unknown image, and the like.
    """

    def __init__(self,
                 ann_file: str,
                 keypoint_set: Optional[str] = None,
                 target: str = 'sapiens308',
                 bbox_file: Optional[str] = None,
                 bbox_score_thr: float = 0.0,
                 min_visible_keypoints: int = 1,
                 metainfo: Optional[Mapping[str, Any]] = None,
                 data_root: str = '',
                 **kwargs: Any) -> None:
        self.keypoint_set = keypoint_set
        self.target = target
        self.bbox_file = bbox_file and os.path.join(data_root, bbox_file)
        self.bbox_score_thr = bbox_score_thr
        self.min_visible_keypoints = min_visible_keypoints
        super().__init__(ann_file=ann_file, data_root=data_root,
                         metainfo={**load_metainfo(target), **(metainfo or {})}, **kwargs)

    def load_data_list(self) -> list[dict[str, Any]]:
        """One entry a person."""
        content = read_coco(self.ann_file)
        self.reader = KeypointReader(content, self.keypoint_set, self.target, self.ann_file)
        images = {entry(image, 'id', f'{self.ann_file}: an image', 'number or text'): self._image(image)
                  for image in content['images']}
        people = self._people(content['annotations'], images) if self.bbox_file is None else self._detections(images)
        return list(people)

    def _image(self, image: dict[str, Any]) -> dict[str, Any]:
        where = f'{self.ann_file}: image {image["id"]}'
        return {
            'img_id': image['id'],
            'img_path': os.path.join(self.data_prefix.get('img_path', ''), entry(image, 'file_name', where, 'text')),
            'height': int(entry(image, 'height', where, 'number')),
            'width': int(entry(image, 'width', where, 'number')),
        }

    def _person(self, images: dict[Any, dict[str, Any]], record: dict[str, Any], where: str) -> dict[str, Any]:
        """The part of an entry that annotated and detected people share."""
        image_id = entry(record, 'image_id', where, 'number or text')
        if image_id not in images:
            raise DataError(f'{where}: image_id {image_id!r} is not among the images of {self.ann_file}')
        image = images[image_id]
        box = read_box(entry(record, 'bbox', where), (image['width'], image['height']), where)
        return {**image, 'bboxes': box[None]}

    def _people(self, annotations: list[dict[str, Any]], images: dict[Any, dict]) -> Iterator[dict[str, Any]]:
        """Annotated people."""
        for annotation in annotations:
            if annotation.get('iscrowd') or not annotation.get('keypoints'):
                continue
            points = self.reader.read(annotation)
            if np.count_nonzero(points[:, 2]) < max(self.min_visible_keypoints, 1):
                continue
            where = f'{self.ann_file}: annotation {entry(annotation, "id", self.ann_file)}'
            person = self._person(images, annotation, where)
            width, height = person['bboxes'][0, 2:] - person['bboxes'][0, :2]
            area = entry(annotation, 'area', where, 'number') if 'area' in annotation else width * height
            yield {
                **person,
                'sample_id': f'{person["img_path"]} (annotation {annotation["id"]})',
                'ann_id': np.array([annotation['id']]),
                'bbox_scores': np.ones(1, dtype=np.float32),
                'area': np.array([area], dtype=np.float32),
                'points': points,
            }

    def _detections(self, images: dict[Any, dict]) -> Iterator[dict[str, Any]]:
        """Detected people."""
        detections = objects(read_json(self.bbox_file), f'{self.bbox_file}: detections (image_id, bbox, score)')
        for number, detection in enumerate(detections):
            where = f'{self.bbox_file}: detection {number}'
            if detection.get('category_id', 1) != 1 or entry(detection, 'score', where, 'number') < self.bbox_score_thr:
                continue
            person = self._person(images, detection, where)
            yield {
                **person,
                'sample_id': f'{person["img_path"]} (detection {number})',
                'bbox_scores': np.array([detection['score']], dtype=np.float32),
            }

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """One person, the points in their places among those of the target."""
        info = super().get_data_info(idx)
        if 'points' in info:
            info['keypoints'], info['keypoints_visible'] = self.reader.expand(info.pop('points'))
        return info
