"""Folders of images with per-pixel ground truth beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Optional, Union

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.field_files import FIELD_ENDINGS
from sapiens2.datasets.label_table import LabelTable
from sapiens2.datasets.metainfo import class_set
from sapiens2.datasets.walked import Found, WalkedDataset
from sapiens2.registry import DATASETS
from sapiens2.utils.image_list import ImageFile, list_images, list_lines, walk_folder
from sapiens2.utils.suggest import unknown_name

# Files that may hold the K of all images where there is no folder of cameras.
CAMERA_FILES = ('camera.json', 'cameras.json', 'K.json', 'K.npy')


@DATASETS.register_module()
class DenseFolderDataset(WalkedDataset):
    """Images in one folder, each kind of ground truth in another, paired by relative path without ending.

    Layout with ``data_prefix=dict(img_path='images', sem_seg='labels', K='camera.json')``::

        images/anna/0001.jpg    labels/anna/0001.png    camera.json

    What each kind of file may hold is said in ``sapiens2.datasets.field_files``.

    Args:
        data_prefix: ``img_path``, and a folder for any of sem_seg, normal, depth, albedo, mask and K; K may also be one
            file for all images, and where its folder is missing, one of ``CAMERA_FILES`` beside it is taken.
        ann_file: text file that names the images of a split, relative to ``img_path``, one a line, with or without
            ending; empty takes all.
        classes: name of a class set in ``load_metainfo``, or the names of own classes.
        label_map: what becomes of stored labels: the name of a map of the class set ('map_34_to_29'), or a
            dictionary of them. Labels that neither it nor the class set knows are errors.
        in_the_wild: whether these photographs keep their background in ``RandomBackground``.
        metainfo: entries that replace those of the class set.
        kwargs: of ``BaseHumanDataset``.

    Raises:
        DataError: naming the first image that lacks ground truth and how many do, two files that are candidates for
            one image, or an unknown field or map.
    """

    def __init__(self,
                 data_prefix: Mapping[str, str],
                 ann_file: str = '',
                 classes: Union[str, Sequence[str]] = 'seg29',
                 label_map: Union[str, Mapping[int, int], None] = None,
                 in_the_wild: bool = False,
                 metainfo: Optional[Mapping[str, Any]] = None,
                 **kwargs: Any) -> None:
        for name in set(data_prefix) - {'img_path', *FIELD_ENDINGS}:
            raise DataError('data_prefix: ' + unknown_name(name, FIELD_ENDINGS, 'field'))
        if 'img_path' not in data_prefix:
            raise DataError("data_prefix: the folder of the images is missing; give img_path='images'")
        self.in_the_wild = in_the_wild
        meta = {**(class_set(classes) if 'sem_seg' in data_prefix else {'dataset_name': 'dense'}), **(metainfo or {})}
        self.label_table = _label_table(meta, label_map) if 'sem_seg' in data_prefix else None
        super().__init__(data_prefix=dict(data_prefix), ann_file=ann_file, metainfo=meta, **kwargs)

    def walk(self) -> Iterator[Found]:
        """Faults, and one entry an image, with the paths of its ground truth."""
        images: list[ImageFile] = []
        stems: dict[str, ImageFile] = {}
        yield from self._images(images, stems)
        paths: dict[str, dict[str, str]] = {}
        for name, prefix in self.data_prefix.items():
            if name != 'img_path':
                paths[name] = {}
                yield from self._pair(name, prefix, images, stems, paths[name])
        for image in images:
            stem = _stem(image.relative)
            if all(stem in found for found in paths.values()):
                yield {
                    'img_path': str(image.path),
                    'img_id': image.relative.as_posix(),
                    'sample_id': str(image.path),
                    'in_the_wild': self.in_the_wild,
                    'field_paths': {name: found[stem] for name, found in paths.items()},
                }

    def _images(self, images: list[ImageFile], stems: dict[str, ImageFile]) -> Iterator[Fault]:
        """Fill ``images`` with those of the split, and ``stems`` with all images by relative path without ending."""
        try:
            files = list_images([self.data_prefix['img_path']])
        except FileNotFoundError as error:
            raise DataError(Fault(Kind.UNREADABLE, '', f"data_prefix['img_path']: {error}", 'img_path')) from error
        for file in files:
            other = stems.setdefault(_stem(file.relative), file)
            if other is not file:
                yield Fault(Kind.AMBIGUOUS, str(file.path), f'it and {other.path} differ only in their ending, so '
                            'their ground truth cannot be told apart', 'img_path', 'rename one')
        if not self.ann_file:
            images += stems.values()
            return
        try:
            lines = list_lines(Path(self.ann_file))
        except OSError as error:
            raise DataError(Fault(Kind.UNREADABLE, self.ann_file, 'cannot be read as a list of images, one a line: '
                                  f'{error}', 'ann_file')) from error
        by_name = {file.relative.as_posix(): file for file in files}
        listed: set[ImageFile] = set()
        for line in filter(None, lines):
            name = PurePosixPath(line).as_posix()  # './a.png' is 'a.png'
            file = by_name.get(name) or stems.get(name)
            if file is None:
                yield Fault(Kind.UNKNOWN_IMAGE, self.ann_file, unknown_name(
                    line, by_name, f'image in {self.data_prefix["img_path"]}'), 'ann_file')
                continue
            if file in listed:
                yield Fault(Kind.SAME_FILE, self.ann_file, f'names {line} twice', 'ann_file',
                            'remove one, unless it is to be seen twice as often')
            listed.add(file)
            images.append(file)

    def _pair(self, name: str, prefix: str, images: Sequence[ImageFile], stems: Mapping[str, ImageFile],
              found: dict[str, str]) -> Iterator[Fault]:
        """Fill ``found``, the file of field ``name`` by the stem of its image."""
        where = f'data_prefix[{name!r}]'
        if name == 'K' and (camera := self._camera_of_all(prefix)):
            found.update(dict.fromkeys(map(_stem, (image.relative for image in images)), camera))
            return
        if not os.path.isdir(prefix):
            raise DataError(Fault(Kind.MISSING_FIELD, '', f'{where}: {prefix} is no folder', name))
        for place, names in walk_folder(prefix):
            for path in (Path(place, file) for file in names if file.lower().endswith(FIELD_ENDINGS[name])):
                stem = _stem(path.relative_to(prefix))
                other = found.setdefault(stem, str(path))
                if other != str(path):
                    yield Fault(Kind.AMBIGUOUS, str(path), f'it and {other} could both be {name} of one image', name,
                                'remove one')
                elif stem not in stems:
                    yield Fault(Kind.NO_IMAGE, str(path), f'is {name} of no image in {self.data_prefix["img_path"]}',
                                name, 'remove it, or add the image under the same path and name')
        missing = [image for image in images if _stem(image.relative) not in found]
        for image in missing:
            yield Fault(Kind.NO_GROUND_TRUTH, str(image.path), f'{where}: no file for it in {prefix}; {len(missing)} '
                        f'of {len(images)} images have none', name, 'expected is the same path and name, with an '
                        f'ending of {" ".join(FIELD_ENDINGS[name])}; or list the images to use in ann_file')

    @staticmethod
    def _camera_of_all(prefix: str) -> Optional[str]:
        """The one file with the K of all images, if ``prefix`` is it, or a folder that is missing and has it beside."""
        if os.path.isfile(prefix):
            return prefix
        if os.path.exists(prefix):
            return None
        files = [file for file in (os.path.join(os.path.dirname(prefix), name) for name in CAMERA_FILES)
                 if os.path.isfile(file)]
        if len(files) > 1:
            raise DataError(Fault(Kind.AMBIGUOUS, files[1], f'it and {files[0]} could both be the K of all images', 'K',
                                  'remove one'))
        return files[0] if files else None

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """One image and the paths of its ground truth."""
        return {**super().get_data_info(idx), 'label_table': self.label_table}


def _stem(relative: Path) -> str:
    return relative.with_suffix('').as_posix()


def _label_table(meta: Mapping[str, Any], label_map: Union[str, Mapping[int, int], None]) -> LabelTable:
    if isinstance(label_map, str):
        maps = meta.get('label_maps', {})
        if label_map not in maps:
            raise DataError('label_map: ' + unknown_name(label_map, maps, 'map of labels'))
        label_map = maps[label_map]
    if not isinstance(label_map, (Mapping, type(None))):
        raise DataError(f'label_map must be a dictionary or the name of a map, this is {label_map!r:.60}')
    return LabelTable.build(len(meta['classes']), label_map)
