"""Tensors that lie in a file and are read one by one.

The safetensors library reads the same files, but keeps all pages that were read while the file is open: float32 weights
turned into bf16 take 3 times their final size at the peak, here 1.1 times. Opening the file anew for each tensor gives
the same peak, but maps the whole file as often as it has tensors.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import torch
from torch import Tensor

from sapiens2.models.checkpoints.errors import BadCheckpointFile
from sapiens2.models.checkpoints.identify import read_header

# Names of the safetensors format.
DTYPES = {
    'F64': torch.float64, 'F32': torch.float32, 'F16': torch.float16, 'BF16': torch.bfloat16, 'I64': torch.int64,
    'I32': torch.int32, 'I16': torch.int16, 'I8': torch.int8, 'U8': torch.uint8, 'BOOL': torch.bool,
    'F8_E4M3': torch.float8_e4m3fn, 'F8_E5M2': torch.float8_e5m2,
}


def _keep() -> None:
    """Nothing to give back."""


@dataclass(frozen=True)
class StoredTensor:
    """One tensor, made of parts of the file that are put together along the first dimension.

    Attributes:
        parts: views of the file.
        release: gives the memory of the parts that were read back to the system; they may be read again later.
        volatile: the file is of a kind that training programs overwrite in place, so no view of it should be kept.
    """

    parts: tuple[Tensor, ...]
    release: Callable[[], None] = field(default=_keep, repr=False)
    volatile: bool = False

    @property
    def shape(self) -> torch.Size:
        first = self.parts[0].shape
        return torch.Size((sum(len(part) for part in self.parts), *first[1:])) if len(self.parts) > 1 else first

    @property
    def dtype(self) -> torch.dtype:
        return self.parts[0].dtype

    def read(self, dtype: Optional[torch.dtype] = None, device: Optional[torch.device] = None) -> Tensor:
        """The tensor in ``dtype`` on ``device`` (default: as stored, on the CPU).

        Where nothing has to change, the result is a view of the file: the system reads it when it is first used.
        """
        parts = [part.to(device=device, dtype=dtype) for part in self.parts]
        result = parts[0] if len(parts) == 1 else torch.cat(parts)
        if result is not self.parts[0]:
            self.release()
        return result

    @staticmethod
    def concatenate(tensors: Iterable[StoredTensor]) -> StoredTensor:
        """One tensor out of several, along the first dimension."""
        tensors = tuple(tensors)

        def release() -> None:
            for tensor in tensors:
                tensor.release()

        return StoredTensor(tuple(part for tensor in tensors for part in tensor.parts), release)


State = Mapping[str, StoredTensor]


def map_safetensors(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """All tensors of a safetensors file in the order in which they lie there, and its metadata.

    The tensors are mapped into memory and not yet read.

    The mapping is private: writing to a tensor does not change the file. The file must not be overwritten in place
    while tensors are in use; replacing it by another file is safe.

    Raises:
        BadCheckpointFile: if the file is truncated or damaged, or holds a dtype that torch does not have.
    """
    if sys.byteorder != 'little':
        raise BadCheckpointFile(path, 'a little-endian file on a big-endian machine', 'Convert it on another machine.')
    with path.open('rb') as file:
        header, start = read_header(path, file.read(8), path.stat().st_size)
        buffer = _map_privately(file.fileno())
    metadata = header.pop('__metadata__', {})
    return {name: _map_tensor(path, name, entry, buffer, start)
            for name, entry in sorted(header.items(), key=lambda item: item[1]['data_offsets'])}, metadata


def _map_privately(descriptor: int) -> mmap.mmap:
    """Map a file so that writing to the memory does not change it."""
    if not sys.platform.startswith('linux'):
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)
    # Without MAP_NORESERVE Linux refuses files larger than the free memory, though little of it will be written to.
    no_reserve = getattr(mmap, 'MAP_NORESERVE', 0x4000)
    return mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE | no_reserve, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def _map_tensor(path: Path, name: str, entry: dict, buffer: mmap.mmap, start: int) -> StoredTensor:
    if entry['dtype'] not in DTYPES:
        raise BadCheckpointFile(path, f'a safetensors file with dtype {entry["dtype"]} in {name}',
                                f'Known are {", ".join(DTYPES)}.')
    dtype, shape = DTYPES[entry['dtype']], tuple(entry['shape'])
    begin, end = (start + offset for offset in entry['data_offsets'])
    count = (end - begin) // dtype.itemsize
    if count * dtype.itemsize != end - begin or math.prod(shape) != count:
        raise BadCheckpointFile(path, 'a damaged safetensors file', f'{name} of shape {shape} has {end - begin} bytes.')
    if count == 0:
        return StoredTensor((torch.empty(shape, dtype=dtype),))
    view = torch.frombuffer(buffer, dtype=dtype, count=count, offset=begin).view(shape)
    if view.data_ptr() % dtype.itemsize:
        # The format does not promise alignment; some kernels need it.
        return StoredTensor((view.clone(),))
    # Whole pages only: those at the edges are shared with the neighbours, which may be in use and changed.
    first, last = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE

    def release() -> None:
        if hasattr(buffer, 'madvise') and last > first:  # Windows has no such call
            buffer.madvise(mmap.MADV_DONTNEED, first, last - first)

    return StoredTensor((view,), release)
