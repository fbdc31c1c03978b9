"""People with key points, in COCO's annotation format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.coco_images import image_of, read_images
from sapiens2.datasets.coco_json import cut_box, entry, is_crowd, new_place, objects, read_coco
from sapiens2.datasets.errors import DataError, Fault, Kind, Place, collecting
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.keypoint_reader import KeypointReader
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.rules.people import box_faults
from sapiens2.datasets.walked import Found, WalkedDataset
from sapiens2.registry import DATASETS


@DATASETS.register_module()
class CocoPoseDataset(WalkedDataset):
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
            number or outside, a visible point outside the picture, an unknown image, an id used twice, and the like.
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

    def walk(self) -> Iterator[Found]:
        """Faults, and one entry a person."""
        content = read_coco(self.ann_file)
        self.reader = KeypointReader(content, self.keypoint_set, self.target, self.ann_file)
        yield from self.reader.unknown_points()
        images: dict[Any, dict[str, Any]] = {}
        yield from read_images(content['images'], self.ann_file, self.data_prefix.get('img_path', ''), images)
        if self.bbox_file is None:
            yield from self._people(content['annotations'], images)
        else:
            yield from self._detections(images)

    def _person(self, images: dict[Any, dict[str, Any]], record: dict[str, Any], place: Place,
                faults: list[Fault]) -> Optional[dict[str, Any]]:
        """The part of an entry that annotated and detected people share; None if there are faults.

        Raises:
            DataError: if its image is unknown.
        """
        image = image_of(record, place, self.ann_file, images)
        box, size = entry(record, 'bbox', place), (image['width'], image['height'])
        faults += box_faults(box, size, place)
        return None if any(not fault.warning for fault in faults) else {**image, 'bboxes': cut_box(box, size)[None]}

    def _people(self, annotations: list[dict[str, Any]], images: dict[Any, dict]) -> Iterator[Found]:
        """Annotated people."""
        ids: set[Any] = set()
        for annotation in annotations:
            if not annotation.get('keypoints'):
                continue
            faults: list[Fault] = []
            person = None
            with collecting(faults):
                if is_crowd(annotation, Place(self.ann_file, f'annotation {annotation.get("id")}')):
                    continue
                person = self._annotated(annotation, images, ids, faults)
            yield from faults
            if person is not None:
                yield person

    def _annotated(self, annotation: dict[str, Any], images: dict[Any, dict], ids: set[Any],
                   faults: list[Fault]) -> Optional[dict[str, Any]]:
        """One annotated person; None if it has faults, or too few points."""
        place = new_place(annotation, 'annotation', self.ann_file, ids)
        ids.add(annotation['id'])
        with collecting(faults):
            points = self.reader.read(annotation)
            image_id = annotation.get('image_id')
            image = images.get(image_id) if isinstance(image_id, (int, str)) else None
            size = (image['width'], image['height']) if image else None
            faults += self.reader.faults(points, size, place)
            points = self.reader.select(points)
            if np.count_nonzero(points[:, 2]) < max(self.min_visible_keypoints, 1):
                return None
        person = self._person(images, annotation, place, faults)
        if person is None:
            return None
        width, height = person['bboxes'][0, 2:] - person['bboxes'][0, :2]
        area = entry(annotation, 'area', place, 'number') if 'area' in annotation else width * height
        if area < 0:
            raise DataError(Fault(Kind.WRONG_TYPE, place, f'area must not be negative, this is {area}', 'area'))
        return {
            **person,
            'sample_id': f'{person["img_path"]} ({place.id})',
            # One that is text is no tensor; it stays in the sample's id.
            **({'ann_id': np.array([annotation['id']])} if isinstance(annotation['id'], int) else {}),
            'bbox_scores': np.ones(1, dtype=np.float32),
            'area': np.array([area], dtype=np.float32),
            'points': points,
        }

    def _detections(self, images: dict[Any, dict]) -> Iterator[Found]:
        """Detected people."""
        detections = objects(read_json(self.bbox_file), f'{self.bbox_file}: detections (image_id, bbox, score)')
        for number, detection in enumerate(detections):
            place = Place(self.bbox_file, f'detection {number}')
            faults: list[Fault] = []
            person = None
            with collecting(faults):
                if detection.get('category_id', 1) != 1 \
                        or entry(detection, 'score', place, 'number') < self.bbox_score_thr:
                    continue
                person = self._person(images, detection, place, faults)
            yield from faults
            if person is not None:
                yield {
                    **person,
                    'sample_id': f'{person["img_path"]} (detection {number})',
                    'bbox_scores': np.array([detection['score']], dtype=np.float32),
                }

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """One person, the points in their places among those of the target."""
        info = super().get_data_info(idx)
        if 'points' in info:
            info.update(self.reader.expand(info.pop('points')))
        return info
