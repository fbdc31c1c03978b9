"""Where the pictures of a tar file lie in it: one walk over its headers."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from typing import BinaryIO, Optional

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind, Place
from sapiens2.datasets.pretrain.tables import pack_names
from sapiens2.utils.image_list import IMAGE_ENDINGS

_BLOCK = 512
_CHUNK = 1 << 20
_COMPRESSED = {b'\x1f\x8b': 'gunzip', b'BZh': 'bunzip2', b'\xfd7zXZ': 'unxz', b'\x28\xb5\x2f\xfd': 'unzstd'}
_COPY = 'copy or download it again, or leave it out of files'
_SHOWN = 6


def index_tar(file: BinaryIO, path: str, endings: Optional[Sequence[str]] = None) -> dict[str, np.ndarray]:
    """The pictures of a tar file, in order, as columns ``names`` (packed), ``offsets`` and ``sizes``, bytes.

    Members that are no pictures are passed over. WebDataset calls what comes before the first dot of a member's name
    the sample that it belongs to.

    Args:
        file: open at its start.
        path: of it, for errors.
        endings: of the members to take, after a dot: 'jpg', or 'images.jpg' where samples have several pictures. None
            takes every picture, and refuses samples with several.

    Raises:
        DataError: if the file is compressed, cut off, damaged, no tar file or without pictures, or two members have one
            name.
    """
    found: dict[str, tuple[int, int]] = {}
    samples: dict[str, str] = {}
    others: dict[str, None] = {}
    last = ''
    suffixes = IMAGE_ENDINGS if endings is None else tuple(f'.{ending.lower().lstrip(".")}' for ending in endings)
    try:
        with tarfile.open(fileobj=file, mode='r:') as tar:
            while (member := tar.next()) is not None:
                tar.members = []  # it would keep all
                base = member.name.rpartition('/')[2]
                if not member.isreg() or member.issparse() or base.startswith('.'):
                    continue
                last = member.name
                if not base.lower().endswith(suffixes):
                    others.setdefault(base.partition('.')[2] or base)
                    continue
                if last in found:
                    raise DataError(Fault(Kind.DUPLICATE_ID, Place(path, last), f'two members have this name, at bytes '
                                          f'{found[last][0]:,} and {member.offset_data:,}', 'names',
                                          'write the file again with a name for each'))
                if endings is None:
                    _check_sample(samples, path, last, base)
                found[last] = member.offset_data, member.size
            end = tar.offset
    except (tarfile.TarError, EOFError) as error:
        raise DataError(_broken(file, path, last, str(error))) from error
    # The reader takes a damaged header for the end.
    file.seek(end)
    if file.read(_BLOCK) != bytes(_BLOCK):
        raise DataError(_broken(file, path, last, f'no member, and no end mark, at byte {end:,}'))
    more = _first_byte_after(file, end)
    if more is not None:
        raise DataError(Fault(
            Kind.UNREADABLE, Place(path, last) if last else path, 'the end mark of the tar file follows at byte '
            f'{end:,}, and yet there is more at byte {more:,}: a part of the file is missing (zeros), or several files '
            'were joined with cat', 'files', _COPY + '; list tar files one by one rather than joined'))
    if not found:
        kinds = ', '.join(list(others)[:_SHOWN]) or 'nothing'
        raise DataError(Fault(Kind.EMPTY, path, f'holds no picture with an ending of {" ".join(suffixes)}; it holds '
                              f'{kinds}', 'images', 'set images of the data set to the endings of your pictures, or '
                              'leave the file out of files'))
    places = np.array(list(found.values()), dtype=np.int64)
    return {**pack_names(found, 'names'), 'offsets': places[:, 0], 'sizes': places[:, 1]}


def _first_byte_after(file: BinaryIO, start: int) -> Optional[int]:
    """Where the first byte other than zero is, from ``start`` on."""
    file.seek(start)
    while chunk := file.read(_CHUNK):
        rest = chunk.lstrip(b'\0')
        if rest:
            return start + len(chunk) - len(rest)
        start += len(chunk)
    return None


def _check_sample(samples: dict[str, str], path: str, name: str, base: str) -> None:
    sample = name[:len(name) - len(base)] + base.partition('.')[0]
    other = samples.setdefault(sample, name)
    if other != name:
        raise DataError(Fault(Kind.AMBIGUOUS, Place(path, sample), f'this sample has several pictures, {other} and '
                              f'{name}', 'images', "say which are photographs, as in images=['images.jpg'], or take "
                              "all of an ending, as in images=['jpg']"))


def _broken(file: BinaryIO, path: str, last: str, reason: str) -> Fault:
    file.seek(0)
    start = file.read(8)
    for magic, command in _COMPRESSED.items():
        if start.startswith(magic):
            return Fault(Kind.UNREADABLE, path, 'is compressed, so its members cannot be read one by one', 'files',
                         f'unpack it with {command}: pictures are compressed already')
    if not start:
        return Fault(Kind.UNREADABLE, path, 'the file is empty (0 bytes)', 'files', _COPY)
    if not last:
        return Fault(Kind.UNREADABLE, path, f'is no tar file, or damaged from its start ({reason})', 'files', _COPY)
    return Fault(Kind.UNREADABLE, Place(path, last), 'the file is cut off or damaged in or after this member '
                 f'({reason})', 'files', _COPY)
