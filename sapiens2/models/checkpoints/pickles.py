"""Reads archives of torch.save without running code: weights_only, plus an allow list for MMEngine's checkpoints."""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Union

import numpy as np
import torch
from mmengine.logging import HistoryBuffer

from sapiens2.models.checkpoints.errors import BadCheckpointFile
from sapiens2.models.checkpoints.identify import identify

# What torch writes into an archive of plain tensors.
PLAIN = ('torch.', 'collections.OrderedDict', 'collections.Counter', '_codecs.encode', 'builtins.set',
         'builtins.complex', 'builtins.bytearray')


class ForbiddenLookup(Exception):
    """A pickle wants an attribute that weights do not need."""


def statistics_method(owner: object, name: str) -> Callable:
    """Stands in for ``getattr`` in MMEngine's checkpoints, where it only looks up statistics of ``HistoryBuffer``.

    Raises:
        ForbiddenLookup: for any other look-up.
    """
    methods = HistoryBuffer()._statistics_methods  # the first one made fills the table
    if owner is HistoryBuffer and name in methods:
        return methods[name]
    raise ForbiddenLookup(f'getattr({getattr(owner, "__name__", owner)}, {name!r})')


def allowed_globals() -> list[Union[type, Callable, tuple[Any, str]]]:
    """What MMEngine's checkpoints need: log buffers and numpy numbers. None of it runs foreign code.

    numpy has moved its functions between major versions, so both names of each are listed.
    """
    scalar, reconstruct = np.float64(0).__reduce__()[0], np.empty(0).__reduce__()[0]
    renamed = [(function, f'numpy.{core}.multiarray.{name}')
               for core in ('core', '_core') for function, name in ((scalar, 'scalar'), (reconstruct, '_reconstruct'))]
    kinds = {type(np.dtype(code)) for code in '?bBhHiIlLqQefdSU'}
    return [HistoryBuffer, (statistics_method, 'builtins.getattr'), np.ndarray, np.dtype, *renamed, *kinds]


def load_pickle(path: Path, mmap: bool = True) -> Any:
    """What ``torch.save`` wrote to ``path``, on the CPU; tensors of zip archives stay on disk until they are used.

    Args:
        path: an archive that ``identify`` calls ``TORCH``.
        mmap: map the file; False reads it, so that it may be overwritten afterwards.

    Raises:
        BadCheckpointFile: if the file is cut off or damaged, or asks for classes and functions that are not allowed.
    """
    try:
        with torch.serialization.safe_globals(allowed_globals()):
            return torch.load(path, map_location='cpu', weights_only=True, mmap=mmap and zipfile.is_zipfile(path))
    except ForbiddenLookup as error:
        raise _refusal(path, str(error)) from error
    except Exception as error:  # a damaged pickle can make torch, zipfile and pickle raise anything
        foreign = sorted(set(_foreign_globals(path)))
        if foreign:
            raise _refusal(path, ', '.join(foreign)) from error
        identify(path)  # says what it is, if it is no pickle at all
        reason = str(error).splitlines()[0] if isinstance(error, RuntimeError) else type(error).__name__
        raise BadCheckpointFile(path, 'a truncated or damaged pickle', f'Reading stopped: {reason}.') from error


def _refusal(path: Path, wanted: str) -> BadCheckpointFile:
    return BadCheckpointFile(path, f'a pickle that asks for {wanted}',
                             'Loading it could run code, so it is refused. Save the bare state dict, best as '
                             'safetensors, where you trust the file.')


def _foreign_globals(path: Path) -> Iterator[str]:
    """Names that the pickles in ``path`` would import besides torch's and the allowed ones. Runs none of them."""
    allowed = {entry[1] if isinstance(entry, tuple) else f'{entry.__module__}.{entry.__qualname__}'
               for entry in allowed_globals()}
    names: list[str] = []
    try:
        with _open_pickle(path) as file:
            names.extend(_globals(file))
    except Exception:  # as in ``load_pickle``; what was found before counts
        pass
    return (name for name in names if name not in allowed and not name.startswith(PLAIN))


@contextmanager
def _open_pickle(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of the pickle itself."""
    if not zipfile.is_zipfile(path):
        with path.open('rb') as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive:
        record = next(name for name in archive.namelist() if name.split('/', 1)[-1] == 'data.pkl')
        with archive.open(record) as file:
            yield file


def _globals(file: IO[bytes]) -> Iterator[str]:
    """Dotted names of all globals in the pickles that follow one another in ``file``."""
    strings: list[str] = []
    memo: dict[int, str] = {}
    while True:
        try:
            for opcode, argument, _ in pickletools.genops(file):
                if opcode.name == 'GLOBAL':
                    yield _python3_name(argument.replace(' ', '.', 1))
                elif opcode.name == 'STACK_GLOBAL':
                    yield '.'.join(strings[-2:])
                elif 'GET' in opcode.name and argument in memo:
                    strings.append(memo[argument])
                elif 'PUT' in opcode.name and strings:
                    memo[argument] = strings[-1]
                elif opcode.name == 'MEMOIZE':
                    memo[len(memo)] = strings[-1] if strings else ''
                elif isinstance(argument, str):
                    strings.append(argument)
        except ValueError:  # the end of the pickles, or of what can be read of a damaged file
            return


def _python3_name(name: str) -> str:
    return name.replace('__builtin__.', 'builtins.', 1) if name.startswith('__builtin__.') else name
