"""Pictures with parts of people, or whole people, as polygons and run lengths in COCO's annotation format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from sapiens2.datasets.coco_images import image_of, read_images
from sapiens2.datasets.coco_json import entry, is_crowd, new_place, read_coco
from sapiens2.datasets.coco_segments import OVERLAPS, CocoSegments, Segment
from sapiens2.datasets.errors import DataError, Fault, Kind, Place, collecting
from sapiens2.datasets.label_table import LabelTable
from sapiens2.datasets.metainfo import IGNORE_LABEL, class_set
from sapiens2.datasets.walked import Found, WalkedDataset
from sapiens2.registry import DATASETS
from sapiens2.utils.suggest import unknown_name


@DATASETS.register_module()
class CocoSegDataset(WalkedDataset):
    """One sample a picture, from a COCO JSON with ``segmentation``; the same pipelines as ``DenseFolderDataset``.

    A category becomes the class of the same name, or the one that ``label_map`` gives it. A file with the one category
    'person' says where people are, not where their parts are: train it with ``classes=['Background', 'person']``. For a
    model of body parts it can only say what is background: ``label_map=dict(person=None)`` leaves the people out of the
    loss.

    Masks are drawn when a sample is loaded. ``CocoSegments`` says who wins where annotations overlap; pixels of crowds
    (``iscrowd``) are ignored.

    Args:
        ann_file: COCO JSON; its images have ``width`` and ``height``.
        data_prefix: ``img_path``, the folder of the images.
        classes: name of a class set in ``load_metainfo``, or the names of own classes.
        label_map: name of a category -> name of a class, or None for pixels that are ignored.
        categories: names of the categories to draw; others are as if they were not in the file. None draws all, and a
            category without a class is an error.
        background: class of the pixels that no annotation covers; None takes the first class, 'ignore' none.
        overlaps: 'area' or 'order', see ``CocoSegments``.
        keep_empty: whether pictures without annotations are samples, all background.
        metainfo: entries that replace those of the class set.
        kwargs: of ``BaseHumanDataset``.

    Raises:
        DataError: naming file, annotation, field and remedy.
    """

    def __init__(self,
                 ann_file: str,
                 classes: Union[str, Sequence[str]] = 'seg29',
                 label_map: Optional[Mapping[str, Optional[str]]] = None,
                 categories: Optional[Sequence[str]] = None,
                 background: Optional[str] = None,
                 overlaps: str = 'area',
                 keep_empty: bool = True,
                 metainfo: Optional[Mapping[str, Any]] = None,
                 **kwargs: Any) -> None:
        meta = {**class_set(classes), **(metainfo or {})}
        self.labels = {name: label for label, name in enumerate(meta['classes'])}
        self.label_map = {name: self._label(target, f'label_map[{name!r}]') if target is not None else IGNORE_LABEL
                          for name, target in (label_map or {}).items()}
        self.background = (0 if background is None else IGNORE_LABEL if background == 'ignore'
                           else self._label(background, 'background'))
        if overlaps not in OVERLAPS:
            raise DataError('overlaps: ' + unknown_name(overlaps, OVERLAPS, 'rule'))
        self.categories, self.overlaps, self.keep_empty = categories, overlaps, keep_empty
        self.label_table = LabelTable.build(len(self.labels))
        super().__init__(ann_file=ann_file, metainfo=meta, **kwargs)

    def _label(self, name: Any, where: str) -> int:
        if not isinstance(name, str) or name not in self.labels:
            raise DataError(f'{where}: ' + unknown_name(name, self.labels, 'class'))
        return self.labels[name]

    def walk(self) -> Iterator[Found]:
        """Faults, and one entry a picture."""
        content = read_coco(self.ann_file, ('images', 'annotations', 'categories'))
        names = self._category_names(content['categories'])
        images: dict[Any, dict[str, Any]] = {}
        yield from read_images(content['images'], self.ann_file, self.data_prefix.get('img_path', ''), images)
        segments: dict[Any, list[Segment]] = defaultdict(list)
        ids: set[Any] = set()
        for annotation in content['annotations']:
            faults: list[Fault] = []
            with collecting(faults):
                place = new_place(annotation, 'annotation', self.ann_file, ids)
                ids.add(annotation['id'])
                image = image_of(annotation, place, self.ann_file, images)
                label = self._category_label(entry(annotation, 'category_id', place, 'number or text'), names, place)
                if label is not None:
                    segments[image['img_id']].append(Segment(
                        annotation['id'], label, is_crowd(annotation, place),
                        entry(annotation, 'segmentation', place)))
            yield from faults
        for image_id, image in images.items():
            if self.keep_empty or image_id in segments:
                yield {**image, 'sample_id': image['img_path'], 'segments': segments.get(image_id, [])}

    def _category_names(self, records: list[dict[str, Any]]) -> dict[Any, str]:
        """Category id -> name; a name in ``categories`` or ``label_map`` that is none of them is an error."""
        names = {}
        for record in records:
            place = new_place(record, 'category', self.ann_file, names)
            names[record['id']] = entry(record, 'name', place, 'text')
        for field, given in (('categories', self.categories or ()), ('label_map', self.label_map)):
            for name in given:
                if name not in names.values():
                    raise DataError(f'{field}: ' + unknown_name(name, names.values(), f'category of {self.ann_file}'))
        return names

    def _category_label(self, category: Any, names: Mapping[Any, str], place: Place) -> Optional[int]:
        """The label of an annotation; None if its category is not drawn."""
        if category not in names:
            raise DataError(Fault(Kind.LABEL_RANGE, place, f'category_id {category!r} is not among the categories of '
                                  f'{self.ann_file}', 'category_id'))
        name = names[category]
        if self.categories is not None and name not in self.categories:
            return None
        if name not in self.label_map and name not in self.labels:
            raise DataError(Fault(Kind.LABEL_RANGE, place, unknown_name(name, self.labels, 'class'), 'category_id',
                                  'map this category with label_map, to None to ignore its pixels, or list those to '
                                  'draw in categories'))
        return self.label_map[name] if name in self.label_map else self.labels[name]

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """One picture and what draws its labels."""
        info = super().get_data_info(idx)
        segments = CocoSegments(self.ann_file, (info['height'], info['width']),
                                info.pop('segments'), self.background, self.overlaps)
        return {**info, 'field_paths': {'sem_seg': segments}, 'label_table': self.label_table}
