"""The fields ``alpha`` and ``foreground``: files of mattes, and what geometric steps do to both."""

from __future__ import annotations

import cv2
import numpy as np

from sapiens2.datasets.array_files import ARRAY_ENDINGS, is_array, read_array
from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.field_files import FIELD_ENDINGS, PICTURE_ENDINGS, READERS
from sapiens2.datasets.transforms.fields import FIELDS, Field
from sapiens2.utils.image_io import read_raster
from sapiens2.visualization.pictures import DRAWABLE_FIELDS

_REMEDY = 'save a grey PNG of 8 or 16 bits, a PNG with transparency, or floats in [0, 1] as npy'


def read_alpha(path: str) -> np.ndarray:
    """Read (H, W) float32 opacity in [0, 1]: 0 is background, 1 is person.

    Of a picture with transparency that channel counts, so cut-outs are mattes too. Whole numbers are shares of what
    their 8 or 16 bits hold.

    Raises:
        DataError: for anything else.
        ImageReadError: if the file is no picture, or a JPEG, whose values are not exact.
    """
    alpha = read_array(path, 'alpha') if is_array(path) else read_raster(path, exact=True)
    if alpha.ndim == 3 and alpha.shape[2] in (1, 2, 4):
        alpha = alpha[..., -1]
    if alpha.ndim == 3 and (alpha == alpha[..., :1]).all():
        alpha = alpha[..., 0]
    if alpha.ndim != 2 or not (alpha.dtype.kind == 'f' or alpha.dtype in (np.uint8, np.uint16)):
        raise DataError(Fault(Kind.SHAPE, path, f'alpha must be (H, W) opacities, this is {alpha.dtype} of shape '
                              f'{alpha.shape}', 'alpha', _REMEDY))
    full = 1 if alpha.dtype.kind == 'f' else np.iinfo(alpha.dtype).max
    alpha = alpha.astype(np.float32) / np.float32(full)
    if not (alpha.min() >= 0 and alpha.max() <= 1):  # NaN included
        raise DataError(Fault(Kind.SHAPE, path, f'alpha must lie in [0, 1], this goes from {alpha.min():.3g} to '
                              f'{alpha.max():.3g}', 'alpha', _REMEDY))
    return alpha


def _grey(image: np.ndarray, alpha: np.ndarray, *_: object) -> np.ndarray:
    return cv2.cvtColor(np.rint(np.clip(alpha, 0, 1) * 255).astype(np.uint8), cv2.COLOR_GRAY2BGR)


def register() -> None:
    """Add the fields to the tables of sapiens2; twice is as good as once."""
    # A picture that is made smaller averages areas, and so must its matte, or it would no longer say how the picture is
    # composed. Where it is made larger, areas give edges a little sharper than those of the picture.
    FIELDS['alpha'] = Field(np.float32, 0, cv2.INTER_AREA)
    FIELDS['foreground'] = Field(np.float32, 3, cv2.INTER_AREA)
    FIELD_ENDINGS['alpha'] = PICTURE_ENDINGS + ARRAY_ENDINGS
    READERS['alpha'] = read_alpha
    DRAWABLE_FIELDS['alpha'] = _grey
