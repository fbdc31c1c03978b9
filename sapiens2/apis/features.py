"""Class and patch tokens of pictures, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
from rich.console import Console
from safetensors.numpy import save_file

from sapiens2.apis.image_sources import image_sources
from sapiens2.evaluation.probes.backbones import FeatureModel
from sapiens2.evaluation.probes.extract import Pictures
from sapiens2.evaluation.probes.pictures import pca_pictures
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.progress import progress_bar
from sapiens2.utils.suggest import UnknownNameError, unknown_name

FORMATS = ('npz', 'safetensors')


def write_features(model: FeatureModel, inputs: Any, out: str | Path, file_format: str = 'npz', pictures: bool = False,
                   console: Optional[Console] = None) -> list[str]:
    """Write the tokens of each picture to a file of its name.

    A file holds ``cls`` (C,), ``mean`` (C,) and ``patches`` (h, w, C), float32, of the picture at the size of the
    network's input, shape kept, with black borders.

    Args:
        inputs: paths, see ``image_sources``.
        out: folder for results.
        file_format: 'npz' or 'safetensors'.
        pictures: also write a picture of the patches' first three principal components.

    Returns:
        A line for each picture that could not be read, and each path that leads to none.

    Raises:
        FileNotFoundError: if there is no picture at all.
    """
    if file_format not in FORMATS:
        raise UnknownNameError(unknown_name(file_format, FORMATS, 'format'))
    skipped: list[str] = []
    sources = image_sources(inputs, skipped, Path(out))
    if not sources:
        raise FileNotFoundError('\n'.join(skipped) or 'there is no picture among the inputs')
    reader = Pictures([source.path for source in sources], model.size)
    with progress_bar(console or Console(stderr=True)) as progress:
        for place, source in enumerate(progress.track(sources, description='features')):
            try:
                picture = reader[place]
            except ImageReadError as error:
                skipped.append(str(error))
                continue
            tokens = model(picture[None])
            values = {name: getattr(tokens, name)[0].numpy() for name in ('cls', 'mean', 'patches')}
            _save(Path(out) / f'{source.stem}.{file_format}', values)
            if pictures:
                drawn = pca_pictures([tokens.patches[0]], model.size, together=False)[0]
                with atomic_path(Path(out) / f'{source.stem}_pca.png') as partial:
                    cv2.imwrite(str(partial), drawn)
    return skipped


def _save(path: Path, values: dict[str, np.ndarray]) -> None:
    with atomic_path(path) as partial:
        if path.suffix == '.npz':
            np.savez(partial, **values)
        else:
            save_file({name: np.ascontiguousarray(value) for name, value in values.items()}, partial)
