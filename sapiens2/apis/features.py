"""Class and patch tokens of pictures, as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
import torch
from rich.console import Console
from safetensors.numpy import save_file
from torch import Tensor
from torch.utils.data import DataLoader

from sapiens2.apis.image_sources import image_sources
from sapiens2.evaluation.probes.backbones import FeatureModel
from sapiens2.evaluation.probes.extract import TOKENS, Padding, Pictures, default_batch_size, patches_inside
from sapiens2.evaluation.probes.pictures import pca_pictures
from sapiens2.utils.atomic import atomic_path, check_folder
from sapiens2.utils.choices import FEATURE_FORMATS
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.progress import progress_bar
from sapiens2.utils.suggest import UnknownNameError, unknown_name


def write_features(model: FeatureModel, inputs: Any, out: str | Path, file_format: str = 'npz', pictures: bool = False,
                   console: Optional[Console] = None, batch_size: Optional[int] = None, workers: int = 0) -> list[str]:
    """Write the tokens of each picture to a file of its name.

    A file holds ``cls`` (C,), ``mean`` (C,) and ``patches`` (h, w, C), float32, of the picture at the size of the
    network's input, shape kept, with black borders; and ``rows`` (2,) and ``columns`` (2,), int64, the first and one
    past the last of the patches whose centres lie in the picture, not in its borders.

    Args:
        inputs: paths, see ``image_sources``.
        out: folder for results.
        file_format: 'npz' or 'safetensors'.
        pictures: also write a picture of the patches' first three principal components.
        batch_size: pictures at a time; default: see ``default_batch_size``.
        workers: processes that read pictures; 0 reads them in this one.

    Returns:
        A line for each picture that could not be read, and each path that leads to none.

    Raises:
        FileNotFoundError: if there is no picture at all.
    """
    if file_format not in FEATURE_FORMATS:
        raise UnknownNameError(unknown_name(file_format, FEATURE_FORMATS, 'format'))
    check_folder(out)
    skipped: list[str] = []
    sources = image_sources(inputs, skipped, Path(out))
    if not sources:
        raise FileNotFoundError('\n'.join(skipped) or 'there is no picture among the inputs')
    loader = DataLoader(_Readable([source.path for source in sources], model.size), collate_fn=list,
                        batch_size=batch_size or default_batch_size(model), num_workers=workers)
    with progress_bar(console or Console(stderr=True)) as progress:
        names = iter(progress.track(sources, description='features'))
        for batch in loader:
            read = [item for item in batch if not isinstance(item, str)]
            tokens = iter(_of_each(model, torch.stack([picture for picture, _ in read])) if read else ())
            for item in batch:
                source = next(names)
                if isinstance(item, str):
                    skipped.append(item)
                    continue
                values, inside = next(tokens), patches_inside(item[1], model.size, model.grid)
                places = {name: np.array([part.start, part.stop]) for name, part in zip(('rows', 'columns'), inside)}
                _save(Path(out) / f'{source.stem}.{file_format}',
                      {**{name: value.numpy() for name, value in values.items()}, **places})
                if pictures:
                    drawn = pca_pictures([values['patches']], [inside], model.size, together=False)[0]
                    with atomic_path(Path(out) / f'{source.stem}_pca.png') as partial:
                        cv2.imwrite(str(partial), drawn)
    return skipped


class _Readable(Pictures):
    """Pictures with their borders; what is wrong with one that cannot be read in its place."""

    def __getitem__(self, index: int) -> tuple[Tensor, Padding] | str:
        try:
            return self.read(index)
        except ImageReadError as error:
            return str(error)


def _of_each(model: FeatureModel, images: Tensor) -> Iterator[dict[str, Tensor]]:
    """Tokens of each picture by name."""
    tokens = model(images)
    for index in range(len(images)):
        yield {name: getattr(tokens, name)[index] for name in TOKENS}


def _save(path: Path, values: dict[str, np.ndarray]) -> None:
    with atomic_path(path) as partial:
        if path.suffix == '.npz':
            np.savez(partial, **values)
        else:
            save_file({name: np.ascontiguousarray(value) for name, value in values.items()}, partial)
