"""A folder of generated samples, in the layouts of the project's own data sets.

::

    manifest.json            options, and versions of the packages
    samples.jsonl            a line for each finished sample: its files and their SHA-256
    train/images/000000.jpg  and labels, instances, masks, normals, albedos, depths, cameras, people
    val/images/000009.jpg
    annotations/keypoints_train.json, keypoints_val.json    COCO, 308 key points

Normals are 16-bit RGB of (n + 1) / 2, albedos 16-bit linear RGB, depths float32 metres.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.sample import FOLDERS
from sapiens2.utils.atomic import atomic_path

MANIFEST, SAMPLES, LOCK = 'manifest.json', 'samples.jsonl', '.lock'
SPLITS = ('train', 'val')


class SynthFolder:
    """The folder as a place for samples.

    Args:
        root: made when missing.
        val_every: each so many-th sample is for validation; 0 for none.
    """

    def __init__(self, root: str | os.PathLike, val_every: int = 10) -> None:
        self.root = Path(root)
        self.val_every = val_every

    def split(self, index: int) -> str:
        """'train' or 'val', whatever the number of samples."""
        return 'val' if self.val_every and index % self.val_every == self.val_every - 1 else 'train'

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
        """Note what is generated here and with which packages, or compare with what was noted; the samples there are.

        Raises:
            DataError: if the folder holds samples of other options.
        """
        path = self.root / MANIFEST
        manifest: dict[str, Any] = {'options': dict(options), 'versions': []}
        if path.exists():
            manifest = read_json(str(path))
            for name, value in options.items():
                if manifest['options'].get(name) != value:
                    raise DataError(f'{path}: {name} is {manifest["options"].get(name)!r} for the samples in this '
                                    f'folder, and {value!r} was asked for; give another folder')
        if dict(versions) not in manifest['versions']:
            manifest['versions'].append(dict(versions))
            with atomic_path(path) as partial:
                partial.write_text(json.dumps(manifest, indent=2), encoding='utf-8')
        return {record['index'] for record in self.records()}

    def records(self) -> Iterator[dict[str, Any]]:
        """The finished samples. A line that a crash has cut off is none; it is taken off the list."""
        path = self.root / SAMPLES
        if not path.exists():
            return
        content = path.read_bytes()
        if not content.endswith(b'\n') and content:
            whole = content[:content.rfind(b'\n') + 1]
            with atomic_path(path) as partial:
                partial.write_bytes(whole)
            content = whole
        for line in content.splitlines():
            yield json.loads(line)

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

    def write_annotations(self) -> None:
        """Write the key points of all listed samples as COCO files, one for each split."""
        records = sorted(self.records(), key=lambda record: record['index'])
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
