"""A folder of generated samples, in the layouts of the project's own data sets.

::

    manifest.json            options, and versions of the packages
    samples.jsonl            a line for each finished sample: its number, its split and the SHA-256 of its files
    train/images/000000.jpg  and labels, instances, masks, normals, albedos, depths, cameras, people
    val/images/000001.jpg
    annotations/keypoints_train.json, keypoints_val.json    COCO, 308 key points

Normals are 16-bit RGB of (n + 1) / 2, albedos 16-bit linear RGB, depths float32 metres.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from filelock import FileLock, Timeout

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.manifest import note_options
from sapiens2.synth.sample import FOLDERS
from sapiens2.utils.atomic import atomic_path

MANIFEST, SAMPLES, LOCK = 'manifest.json', 'samples.jsonl', '.lock'
SPLITS = ('train', 'val')


class SynthFolder:
    """The folder as a place for samples.

    Args:
        root: made when missing.
        val_every: one of so many samples is for validation, 0 for none: the second of each so many, so that two
            samples are enough to have one, and that it never depends on how many there are.
        pictures_per_person: so many samples in a row show the same people; they count as one for ``val_every``.
    """

    def __init__(self, root: str | os.PathLike, val_every: int = 10, pictures_per_person: int = 1) -> None:
        self.root = Path(root)
        self.val_every, self.pictures_per_person = val_every, pictures_per_person

    def split(self, index: int) -> str:
        """'train' or 'val', whatever the number of samples."""
        group = index // self.pictures_per_person
        return 'val' if self.val_every and group % self.val_every == 1 % self.val_every else 'train'

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While it lasts, no other process generates here; the system takes the lock off one that is killed.

        Raises:
            DataError: if another process does, or the folder holds something else.
        """
        if self.root.is_dir() and not (self.root / MANIFEST).exists() \
                and any(path.name != LOCK for path in self.root.iterdir()):
            raise DataError(f'{self.root} is not empty and no folder of generated samples; give another one')
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(self.root / LOCK).acquire(timeout=0)
        except Timeout as error:
            raise DataError(f'{self.root}: another process is generating samples there; wait until it has finished, '
                            f'or give another folder') from error
        with lock:
            yield

    def open(self, options: Mapping[str, Any], versions: Mapping[str, str]) -> set[int]:
        """Note what is generated here and with which packages, or compare with what was noted.

        Returns:
            Numbers of the samples that are there with all of their files; others are taken off the list.

        Raises:
            DataError: if the folder holds samples of other options, or its notes are damaged.
        """
        note_options(self.root / MANIFEST, options, versions)
        listed = self.records()
        names = {(split, folder): set(os.listdir(path)) if (path := self.root / split / folder).is_dir() else set()
                 for split in SPLITS for folder in FOLDERS}
        whole = [record for record in listed
                 if all(self.path(record['index'], folder).name in names[record['split'], folder]
                        for folder in FOLDERS)]
        self._write_list(whole)
        return {record['index'] for record in whole}

    def records(self) -> list[dict[str, Any]]:
        """The finished samples, by their numbers. A last line that a crash has cut off is none.

        Raises:
            DataError: if a line is no record.
        """
        path = self.root / SAMPLES
        content = path.read_bytes() if path.exists() else b''
        found = {}
        for number, line in enumerate(content[:content.rfind(b'\n') + 1].splitlines(), 1):
            record = self._record(line)
            if record is None:
                raise DataError(f'{path}: line {number} is no record of a sample: {line[:60]!r}; delete that line, and '
                                f'the same command makes its sample again')
            found[record['index']] = record
        return [found[index] for index in sorted(found)]

    def _record(self, line: bytes) -> Optional[dict[str, Any]]:
        try:
            record = json.loads(line)
        except ValueError:
            return None
        if isinstance(record, dict) and isinstance(index := record.get('index'), int) and index >= 0 \
                and record.get('split') == self.split(index) and isinstance(hashes := record.get('sha256'), dict) \
                and hashes.keys() == FOLDERS.keys():
            return record
        return None

    def _write_list(self, records: Iterable[Mapping[str, Any]]) -> None:
        with atomic_path(self.root / SAMPLES) as partial:
            partial.write_text(''.join(json.dumps(record) + '\n' for record in records), encoding='utf-8')

    def path(self, index: int, folder: str) -> Path:
        """File of a sample in one of ``FOLDERS``."""
        return self.root / self.split(index) / folder / f'{index:06d}{FOLDERS[folder]}'

    def write(self, index: int, files: Mapping[str, bytes]) -> dict[str, Any]:
        """Write the files of a sample, the picture last; the record of it, which is not listed yet."""
        for folder in FOLDERS:
            with atomic_path(self.path(index, folder)) as partial:
                partial.write_bytes(files[folder])
        return {'index': index, 'split': self.split(index),
                'sha256': {folder: hashlib.sha256(files[folder]).hexdigest() for folder in FOLDERS}}

    def list(self, record: Mapping[str, Any]) -> None:
        """List a sample whose files are written."""
        path = self.root / SAMPLES
        try:
            with path.open('a', encoding='utf-8') as file:
                file.write(json.dumps(record) + '\n')
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            # A full disk is met while writing, where the system does not say of which file.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error

    def finish(self) -> None:
        """Put the list in order, and write the key points of all its samples as COCO files, one for each split."""
        records = self.records()
        self._write_list(records)
        for split in SPLITS:
            chosen = [record['index'] for record in records if record['split'] == split]
            if chosen:
                with atomic_path(self.root / 'annotations' / f'keypoints_{split}.json') as partial:
                    partial.write_text(json.dumps(self._coco(split, chosen)), encoding='utf-8')

    def _coco(self, split: str, indices: list[int]) -> dict[str, Any]:
        images, annotations = [], []
        for index in indices:
            content = read_json(str(self.path(index, 'people')))
            height, width = content['scene']['size']
            file_name = self.path(index, 'images').relative_to(self.root).as_posix()
            images.append({'id': index, 'file_name': file_name, 'height': height, 'width': width})
            for person in content['people']:
                points = person['keypoints']
                annotations.append({
                    'id': len(annotations) + 1, 'image_id': index, 'category_id': 1, 'iscrowd': 0,
                    'bbox': person['bbox'], 'area': person['area'], 'num_keypoints': sum(v > 0 for _, _, v in points),
                    'keypoints': [value for point in points for value in point],
                    'keypoints_3d': person['keypoints_3d']})
        names = load_metainfo('sapiens308')['keypoint_names']
        return {'info': {'description': 'SynthHumans', 'split': split}, 'images': images, 'annotations': annotations,
                'categories': [{'id': 1, 'name': 'person', 'keypoints': list(names)}]}
