"""Class and patch tokens of pictures, as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
import torch
from rich.console import Console
from safetensors.numpy import save_file
from torch import Tensor
from torch.utils.data import DataLoader

from sapiens2.apis.image_sources import ImageSource, image_sources
from sapiens2.apis.journal import Journal
from sapiens2.apis.task_network import NOT_FINITE, is_finite
from sapiens2.evaluation.probes.backbones import FeatureModel
from sapiens2.evaluation.probes.extract import (
    TOKENS, Padding, Pictures, default_batch_size, features_settings, patches_inside)
from sapiens2.evaluation.probes.pictures import pca_pictures
from sapiens2.utils.atomic import atomic_path, unusable_name
from sapiens2.utils.choices import FEATURE_FORMATS
from sapiens2.utils.image_io import write_image
from sapiens2.utils.progress import progress_bar
from sapiens2.utils.suggest import UnknownNameError, unknown_name

_PICTURE = '_pca.png'


@dataclass
class FeaturesSummary:
    """What has come of the pictures.

    Attributes:
        skipped: a line for each picture that has no features, and each path that leads to none.
        finished_before: how many an earlier run had done.
    """

    skipped: list[str] = field(default_factory=list)
    finished_before: int = 0


def write_features(model: FeatureModel, inputs: Any, out: str | Path, file_format: str = 'npz', pictures: bool = False,
                   console: Optional[Console] = None, batch_size: Optional[int] = None, workers: int = 0,
                   resume: bool = True) -> FeaturesSummary:
    """Write the tokens of each picture to a file of its name.

    A file holds ``cls`` (C,), ``mean`` (C,) and ``patches`` (h, w, C), float32, of the picture at the size of the
    network's input, shape kept, with black borders; and ``rows`` (2,) and ``columns`` (2,), int64, the first and one
    past the last of the patches whose centres lie in the picture, not in its borders.

    Args:
        inputs: see ``image_sources``.
        out: folder for results.
        file_format: 'npz' or 'safetensors'.
        pictures: also write a picture of the patches' first three principal components.
        batch_size: pictures at a time; default: see ``default_batch_size``.
        workers: processes that read pictures; 0 reads them in this one.
        resume: leave out what an earlier run has finished in ``out`` with the same weights and settings. A picture
            whose results would take the place of another one's is skipped. Without, all is made and overwritten.

    Raises:
        FileNotFoundError: if there is no picture at all.
        OSError: if ``out`` cannot be written to.
    """
    if file_format not in FEATURE_FORMATS:
        raise UnknownNameError(unknown_name(file_format, FEATURE_FORMATS, 'format'))
    summary = FeaturesSummary()
    sources = list(image_sources(inputs, summary.skipped, Path(out), result_ending=_PICTURE))
    if not sources:
        raise FileNotFoundError('\n'.join(summary.skipped) or 'there is no picture among the inputs')
    journal = Journal(Path(out), {**features_settings(model), 'files': [file_format, pictures]}, resume)
    sources = list(_not_done(sources, journal, summary))
    loader = DataLoader(_Readable(sources, model.size), collate_fn=list, num_workers=workers,
                        batch_size=batch_size or default_batch_size(model))
    with progress_bar(console or Console(stderr=True)) as progress:
        bar = progress.add_task('features', total=len(sources))
        for source, item in zip(sources, _with_tokens(model, sources, loader)):
            if not isinstance(item, str):
                try:
                    files = _write(Path(out), source.stem, model, *item, file_format, pictures)
                except OSError as error:
                    item = unusable_name(source.name, error)
            if isinstance(item, str):
                summary.skipped.append(item)
            elif source.origin is not None:
                journal.add(source.stem, source.origin, files)
            progress.advance(bar)
    return summary


def _not_done(sources: Sequence[ImageSource], journal: Journal, summary: FeaturesSummary) -> Iterator[ImageSource]:
    for source in sources:
        if source.path is not None and journal.finished(source.stem, source.path) is not None:
            summary.finished_before += 1
        elif source.origin is not None and (reason := journal.refusal(source.stem, source.origin, source.name)):
            summary.skipped.append(reason)
        else:
            yield source


class _Readable(Pictures):
    """Pictures with their borders; what is wrong with one that cannot be read in its place."""

    def __init__(self, sources: Sequence[ImageSource], size: tuple[int, int]) -> None:
        super().__init__([source.name for source in sources], size)
        self._sources = sources

    def __getitem__(self, index: int) -> tuple[Tensor, Padding] | str:
        try:
            packed = self.pipeline({'img': self._sources[index].read(), 'img_path': self.paths[index]})
        except ValueError as error:
            return str(error)
        except cv2.error as error:
            return f'{self.paths[index]}: cannot be prepared for the network: {error}'
        return packed['inputs'], packed['data_samples'].padding


def _with_tokens(model: FeatureModel, sources: Sequence[ImageSource], loader: DataLoader
                 ) -> Iterator[tuple[dict[str, Tensor], Padding] | str]:
    """The tokens by name and the borders of each picture, or why there are none."""
    names = (source.name for source in sources)
    for batch in loader:
        images = [item[0] for item in batch if not isinstance(item, str)]
        tokens = model(torch.stack(images)) if images else None
        number = 0
        for name, item in zip([next(names) for _ in batch], batch):
            if isinstance(item, str):
                yield item
                continue
            found = {kind: getattr(tokens, kind)[number] for kind in TOKENS}
            number += 1
            yield (found, item[1]) if all(map(is_finite, found.values())) else f'{name}: {NOT_FINITE}'


def _write(out: Path, stem: str, model: FeatureModel, tokens: dict[str, Tensor], padding: Padding, file_format: str,
           pictures: bool) -> list[str]:
    """Write the files of one picture."""
    inside = patches_inside(padding, model.size, model.grid)
    places = {name: np.array([part.start, part.stop]) for name, part in zip(('rows', 'columns'), inside)}
    files = [Path(out, f'{stem}.{file_format}')]
    _save(files[0], {**{name: value.numpy() for name, value in tokens.items()}, **places})
    if pictures:
        files.append(Path(out, stem + _PICTURE))
        drawn = pca_pictures([tokens['patches']], [inside], model.size, together=False)[0]
        write_image(files[1], drawn)
    return [str(file) for file in files]


def _save(path: Path, values: dict[str, np.ndarray]) -> None:
    with atomic_path(path) as partial:
        if path.suffix == '.npz':
            np.savez(partial, **values)
        else:
            save_file({name: np.ascontiguousarray(value) for name, value in values.items()}, partial)
