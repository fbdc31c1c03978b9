"""The pictures that are probed with: their splits, what is known of each, and the files of their ground truth."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from sapiens2.datasets.converters.base import held_out
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.label_table import LabelTable
from sapiens2.evaluation.probes.attributes import IDENTITY, read_labels, synth_attributes
from sapiens2.registry import DATASETS, register_all
from sapiens2.utils.digests import file_digest
from sapiens2.utils.image_list import list_images

SPLITS = ('train', 'val')
# Field -> its folder beside ``images``.
FIELD_FOLDERS = {'sem_seg': 'labels', 'normal': 'normals', 'depth': 'depths', 'albedo': 'albedos', 'mask': 'masks'}
_PEOPLE = 'people'
_VAL_SHARE = 0.2


@dataclass(frozen=True)
class ProbeImage:
    """One picture.

    Attributes:
        path: of the picture.
        name: path below the folder of the data, '/' between folders.
        split: 'train' or 'val'.
        attributes: name -> value, of what is known.
        field_paths: field -> file of dense ground truth.
        people: file that describes the people in it, None if there is none.
    """

    path: Path
    name: str
    split: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    field_paths: Mapping[str, str] = field(default_factory=dict)
    people: Optional[Path] = None


@dataclass(frozen=True)
class ProbeData:
    """A data set for probes.

    Attributes:
        root: its folder.
        images: those of 'train', then those of 'val'.
        fields: dense ground truth that all of them have.
        label_table: of ``sem_seg``.
        classes: names of the classes of ``sem_seg``.
    """

    root: Path
    images: tuple[ProbeImage, ...]
    fields: tuple[str, ...] = ()
    label_table: Optional[LabelTable] = None
    classes: tuple[str, ...] = ()

    def indices(self, split: str) -> list[int]:
        """Places in ``images`` of those of a split."""
        return [index for index, image in enumerate(self.images) if image.split == split]

    def fingerprint(self) -> str:
        """Hash of which pictures there are; changes when one is added, removed, renamed or written anew."""
        found = hashlib.sha256()
        for image in self.images:
            status = image.path.stat()
            found.update(f'{image.split} {image.name} {status.st_size} {status.st_mtime_ns}\n'.encode())
        return found.hexdigest()

    def truth_fingerprint(self) -> str:
        """Hash of the files of dense ground truth, as ``fingerprint``."""
        found = hashlib.sha256(self.fingerprint().encode())
        for image in self.images:
            for name, path in sorted(image.field_paths.items()):
                status = Path(path).stat()
                found.update(f'{name} {status.st_size} {status.st_mtime_ns}\n'.encode())
        return found.hexdigest()


def open_data(root: str | Path, seed: int = 0) -> ProbeData:
    """List the pictures of a folder.

    Known layouts: ``train/images`` and ``val/images`` with folders of ground truth beside them, as ``sapiens2 synth``
    writes; ``train/CLASS/...`` and ``val/CLASS/...``; ``CLASS/...`` without splits; any pictures with a ``labels.csv``.
    The table may lie in a folder of each layout and adds its columns to what is known.

    Args:
        seed: of the split, where the data have none: a fifth of the identities, or of the pictures, is for validation.

    Raises:
        DataError: if there is no picture, a split is empty, or a picture or an identity is in both splits.
    """
    root = Path(root)
    if not root.is_dir():
        raise DataError(f'{root} is no folder')
    table = read_labels(root)
    data = _dense(root) if (root / 'train' / 'images').is_dir() else ProbeData(root, _by_folder(root, table))
    images = [_with_row(image, table.get(image.name)) for image in data.images]
    if table and (strange := table.keys() - {image.name for image in images}):
        raise DataError(f'{root / "labels.csv"}: {sorted(strange)[0]} is none of the pictures in {root}')
    images = _with_splits(images, seed)
    _check_splits(root, images)
    return replace(data, images=tuple(sorted(images, key=lambda image: SPLITS.index(image.split))))


def _dense(root: Path) -> ProbeData:
    """The layout of this project's own data sets."""
    register_all()
    images: list[ProbeImage] = []
    fields: Optional[set[str]] = None
    sets: list[Any] = []
    for split in SPLITS:
        if not (root / split / 'images').is_dir():
            raise DataError(f'{root}: there is no folder {split}/images; probes need pictures to learn from (train) '
                            'and others to be measured on (val)')
        prefix = {name: folder for name, folder in FIELD_FOLDERS.items() if (root / split / folder).is_dir()}
        found = DATASETS.build(dict(type='DenseFolderDataset', data_root=str(root / split), pipeline=[],
                                    data_prefix=dict(img_path='images', **prefix)))
        fields = set(prefix) if fields is None else fields & set(prefix)
        sets.append(found)
        for number in range(len(found)):
            entry = found.get_data_info(number)
            path = Path(entry['img_path'])
            people = root / split / _PEOPLE / Path(entry['img_id']).with_suffix('.json')
            known = people if people.is_file() else None
            images.append(ProbeImage(path, path.relative_to(root).as_posix(), split,
                                     synth_attributes(known) if known else {}, entry['field_paths'], known))
    kept = tuple(name for name in FIELD_FOLDERS if name in fields)
    images = [replace(image, field_paths={name: image.field_paths[name] for name in kept}) for image in images]
    has_classes = 'sem_seg' in kept
    return ProbeData(root, tuple(images), kept, sets[0].label_table if has_classes else None,
                     tuple(sets[0].metainfo['classes']) if has_classes else ())


def _by_folder(root: Path, table: Mapping[str, Mapping[str, str]]) -> tuple[ProbeImage, ...]:
    """All pictures; the folder below the split, or below ``root``, is the class where there is no table."""
    try:
        files = list_images([root])
    except FileNotFoundError as error:
        raise DataError(str(error)) from error
    images = []
    for file in files:
        name = file.relative.as_posix()
        if table and name not in table:
            continue
        parts = file.relative.parts[:-1]
        split = parts[0] if parts and parts[0] in SPLITS else ''
        inner = parts[bool(split):]
        images.append(ProbeImage(file.path, name, split, {'class': inner[0]} if inner and not table else {}))
    return tuple(images)


def _with_row(image: ProbeImage, row: Optional[Mapping[str, str]]) -> ProbeImage:
    if row is None:
        return image
    attributes = {name: value for name, value in row.items() if name != 'split' and value}
    split = row.get('split') or image.split
    if image.split and split != image.split:
        raise DataError(f'labels.csv: {image.name} lies in {image.split}, but its row says {split}')
    return replace(image, split=split, attributes={**image.attributes, **attributes})


def _with_splits(images: Sequence[ProbeImage], seed: int) -> list[ProbeImage]:
    """Give those without a split one; people stay together."""
    if any(image.split for image in images) and not all(image.split for image in images):
        lacking = next(image.name for image in images if not image.split)
        raise DataError(f'{lacking} is in neither train nor val while others are; give all of them a split, or none')

    def drawn(image: ProbeImage) -> str:
        who = image.attributes.get(IDENTITY, image.name)
        return 'val' if held_out(f'{seed} {who}', _VAL_SHARE) else 'train'

    return [image if image.split else replace(image, split=drawn(image)) for image in images]


def _check_splits(root: Path, images: Sequence[ProbeImage]) -> None:
    """Refuse an empty split, and anybody or anything that is in both."""
    for split in SPLITS:
        if not any(image.split == split for image in images):
            raise DataError(f'{root}: no picture is in {split}; probes need both {" and ".join(SPLITS)}')
    owners: dict[str, ProbeImage] = {}
    sizes: defaultdict[int, list[ProbeImage]] = defaultdict(list)
    for image in images:
        who = image.attributes.get(IDENTITY)
        other = owners.setdefault(who, image) if who else image
        if other.split != image.split:
            raise DataError(f'{root}: identity {who} is in both splits ({other.name}, {image.name}); a probe would be '
                            'measured on people it has learnt from')
        sizes[image.path.stat().st_size].append(image)
    for group in sizes.values():
        if len({image.split for image in group}) > 1:
            _check_copies(root, group)


def _check_copies(root: Path, group: Sequence[ProbeImage]) -> None:
    """Refuse equal files in both splits."""
    seen: dict[str, ProbeImage] = {}
    for image in group:
        other = seen.setdefault(file_digest(image.path), image)
        if other.split != image.split:
            raise DataError(f'{root}: {other.name} and {image.name} are the same picture, in both splits; remove one')
