"""WebDataset shards of a generated folder: tar files whose members are named number.folder.ending."""

from __future__ import annotations

import io
import tarfile

from sapiens2.synth.folder import SPLITS, SynthFolder
from sapiens2.synth.sample import FOLDERS
from sapiens2.utils.atomic import atomic_path


def write_shards(folder: SynthFolder, size: int) -> None:
    """Write all listed samples to shards/SPLIT-000000.tar and on, ``size`` samples each; the same bytes each time.

    A member is called like ``000042.images.jpg``, so WebDataset groups the files of a sample under ``000042``.
    """
    records = folder.records()
    for split in SPLITS:
        indices = [record['index'] for record in records if record['split'] == split]
        for number, start in enumerate(range(0, len(indices), size)):
            with atomic_path(folder.root / 'shards' / f'{split}-{number:06d}.tar') as partial, \
                    tarfile.open(partial, 'w', format=tarfile.USTAR_FORMAT) as tar:
                for index in indices[start:start + size]:
                    _add(tar, folder, index)


def _add(tar: tarfile.TarFile, folder: SynthFolder, index: int) -> None:
    for name, ending in FOLDERS.items():
        content = folder.path(index, name).read_bytes()
        member = tarfile.TarInfo(f'{index:06d}.{name}{ending}')
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
