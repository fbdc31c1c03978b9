"""Tensors of many pictures on disk, in files of a few pictures each: made once, resumable, read piece by piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.progress import progress_bar

# Pictures in a file: at most so many are computed again when the work is stopped.
CHUNK = 16
_ABOUT = 'about.json'


class TensorStore:
    """Named tensors of numbered pictures.

    Args:
        folder: of one computation on one set of pictures; its name should hold a hash of both.
        count: pictures there are.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count

    def file(self, start: int) -> Path:
        """The file whose first picture is ``start``."""
        return self.folder / f'{start:08d}.safetensors'

    def missing(self) -> list[list[int]]:
        """The pictures of each file that is not there yet."""
        return [list(range(start, min(start + CHUNK, self.count))) for start in range(0, self.count, CHUNK)
                if not self.file(start).exists()]

    def fill(self, compute: Callable[[Iterable[Sequence[int]]], Iterator[Mapping[str, Tensor]]],
             about: Mapping[str, Any], title: str, console: Console) -> None:
        """Compute what is missing, with a progress bar.

        Args:
            compute: given lists of numbers, the tensors of the pictures of each list, (n, ...) each.
            about: what the tensors are, noted beside them for people.
            title: of the progress bar.
        """
        missing = self.missing()
        if not missing:
            return
        with atomic_path(self.folder / _ABOUT) as partial:
            partial.write_text(json.dumps(about, indent=2), encoding='utf-8')
        with progress_bar(console) as progress:
            bar = progress.add_task(title, total=self.count, completed=self.count - sum(map(len, missing)))
            for numbers, tensors in zip(missing, compute(missing)):
                with atomic_path(self.file(numbers[0])) as partial:
                    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial)
                progress.update(bar, advance=len(numbers))

    def read(self, name: str, numbers: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """Each number with its tensor, in the order of ``numbers``; one picture is in memory at a time.

        Raises:
            ValueError: naming a file that is damaged.
        """
        for number in numbers:
            file = self.file(number // CHUNK * CHUNK)
            try:
                with safe_open(file, framework='pt') as content:
                    yield number, content.get_slice(name)[number % CHUNK]
            except SafetensorError as error:
                raise ValueError(f'{file}: damaged ({error}); delete it, and the same command makes it again'
                                 ) from error

    def whole(self, name: str) -> Tensor:
        """(count, ...) float32: all pictures; for small tensors."""
        return torch.stack([tensor.float() for _, tensor in self.read(name, range(self.count))])


def compact(tensor: Tensor, what: str) -> Tensor:
    """As float16 where that holds the values, else as float32.

    Raises:
        ValueError: naming ``what``, if it is not finite.
    """
    if not tensor.isfinite().all():
        raise ValueError(f'{what}: the features are not finite; try --dtype fp32')
    half = tensor.half()
    return half if half.isfinite().all() else tensor
