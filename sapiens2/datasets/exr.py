"""OpenEXR files of depth, normals and albedo, through the OpenEXR project's own Python package (an optional extra)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind

# Channel names without their layer that together make one picture, the likeliest first; X, Y, Z before R, G, B because
# renderers store vectors as the former and a beauty pass as the latter.
_TRIPLES = (('X', 'Y', 'Z'), ('R', 'G', 'B'))
_SINGLES = ('Z', 'V', 'Y')
_ALPHA = 'A'


def read_exr(path: str, channels: int, layer: str = '') -> np.ndarray:
    """Read one picture of an OpenEXR file.

    Channels are found by name: X, Y, Z or R, G, B for three; Z, V, Y, the only one there is, or R, G, B that are all
    the same for one. Names may have a layer before them, as in ``ViewLayer.Depth.Z``. Of several pictures that fit, the
    one in whose layer ``layer`` occurs is taken. Pixels of the display window that the file does not store are 0.

    Args:
        path: of the file: scan lines or tiles, one part or several, half or single precision or whole numbers.
        channels: 1 or 3.
        layer: word that tells layers apart, in any case: 'depth', 'normal'.

    Returns:
        (H, W, channels) float32.

    Raises:
        ImportError: if the package OpenEXR is not installed.
        DataError: naming the file, if it is damaged, lacks such channels, or several sets of them fit.
    """
    try:
        import OpenEXR
    except ImportError as error:
        raise ImportError(f'{path}: reading OpenEXR files needs the package OpenEXR; pip install "sapiens2[exr]"') \
            from error
    try:
        with OpenEXR.File(str(path), separate_channels=True, num_threads=0) as file:
            parts = [(part.name(), dict(file.header(number)),
                      {name: channel.pixels for name, channel in part.channels.items()})
                     for number, part in enumerate(file.parts)]
    except Exception as error:  # the library has its own for every kind of damage
        raise DataError(Fault(Kind.UNREADABLE, path, f'missing, cut off, or no OpenEXR file: {error}', layer)) \
            from error
    if not parts:  # pixels that cannot be decoded: the library only prints a warning
        raise DataError(Fault(Kind.UNREADABLE, path, 'damaged or cut off: its pixels cannot be decoded', layer,
                              'copy or render it again'))
    found = [(f'{name}.{group}', header, planes) for name, header, stored in parts
             for group, planes in _pictures(stored, channels)]
    if len(found) > 1:
        found = [item for item in found if layer and layer.lower() in item[0].lower()] or found
    names = sorted(channel for _, _, stored in parts for channel in stored)
    if not found:
        wanted = 'R, G, B or X, Y, Z' if channels == 3 else 'Z, V or Y'
        raise DataError(Fault(Kind.MISSING_FIELD, path, f'holds the channels {", ".join(names)}; {channels} of them '
                              f'must be called {wanted}, with or without a layer before', layer))
    if len(found) > 1:
        raise DataError(Fault(Kind.AMBIGUOUS, path, f'{len(found)} pictures of {channels} channels fit, in the '
                              f'channels {", ".join(names)}', layer, f'keep one, or call the layer {layer!r}'))
    _, header, planes = found[0]
    return np.stack([_display(path, header, plane) for plane in planes], axis=-1)


def _pictures(stored: Mapping[str, np.ndarray], channels: int) -> list[tuple[str, list[np.ndarray]]]:
    """The sets of ``channels`` planes that belong together, with their layer."""
    layers: dict[str, dict[str, np.ndarray]] = {}
    for name, pixels in stored.items():
        layer, _, leaf = name.rpartition('.')
        layers.setdefault(layer, {})[leaf.upper()] = pixels
    found = []
    for layer, planes in layers.items():
        triple = next(([planes[leaf] for leaf in names] for names in _TRIPLES if planes.keys() >= set(names)), None)
        if channels == 3:
            picture = triple
        elif triple is not None:
            same = all(np.array_equal(triple[0], plane, equal_nan=True) for plane in triple[1:])
            picture = triple[:1] if same else None
        else:
            named = [planes[leaf] for leaf in _SINGLES if leaf in planes]
            picture = named[:1] or (list(planes.values()) if len(planes.keys() - {_ALPHA}) == 1 else None)
        if picture:
            found.append((layer, picture))
    return found


def _display(path: str, header: Mapping[str, Any], plane: np.ndarray) -> np.ndarray:
    """A plane of the data window, set into the display window, float32."""
    (left, top), (right, bottom) = np.asarray(header['dataWindow'])
    (x, y), (last_x, last_y) = np.asarray(header['displayWindow'])
    if plane.ndim != 2 or plane.shape != (bottom - top + 1, right - left + 1):
        raise DataError(Fault(Kind.SHAPE, path, 'a channel is stored at lower resolution or as deep data',
                              remedy='save plain channels'))
    if (left, top, right, bottom) == (x, y, last_x, last_y):
        return plane.astype(np.float32)
    whole = np.zeros((last_y - y + 1, last_x - x + 1), np.float32)
    rows = slice(max(top, y), min(bottom, last_y) + 1)
    columns = slice(max(left, x), min(right, last_x) + 1)
    whole[rows.start - y:rows.stop - y, columns.start - x:columns.stop - x] = plane[
        rows.start - top:rows.stop - top, columns.start - left:columns.stop - left]
    return whole
