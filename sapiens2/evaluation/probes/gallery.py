"""The report's pictures of what backbones see, from their stored features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch

from sapiens2.datasets.field_files import read_sem_seg
from sapiens2.evaluation.probes.extract import Padding, Pictures, patches_inside, slug
from sapiens2.evaluation.probes.images import ProbeData
from sapiens2.evaluation.probes.pictures import Mark, heat_pictures, pca_pictures, similarity_maps
from sapiens2.evaluation.probes.retrieval import neighbours
from sapiens2.evaluation.probes.store import TensorStore
from sapiens2.utils.image_io import write_image
from sapiens2.visualization.layout import beside, fit_square

# Classes whose largest part is looked for in other pictures.
MARKED = ('Face_Neck', 'Right_Hand', 'Left_Hand', 'Left_Shoe', 'Lower_Clothing')
# Where patches are marked in pictures without classes: shares of height and width.
_PLACES = {'upper middle': (0.25, 0.5), 'middle': (0.5, 0.5), 'lower middle': (0.75, 0.5)}
_SIDE, _GAP, _NEIGHBOURS, _MARKS = 256, 4, 6, 3
Row = tuple[str, Sequence[np.ndarray]]


@dataclass(frozen=True)
class Seen:
    """A backbone whose features are stored.

    Attributes:
        store: with ``patches``, or without.
        size: (H, W) of its input, pixels.
        grid: rows and columns of its patches.
    """

    store: TensorStore
    size: tuple[int, int]
    grid: tuple[int, int]


def galleries(seen: Mapping[str, Seen], data: ProbeData, shown: int, pool: str, with_patches: bool,
              folder: Path) -> dict[str, list[Row]]:
    """Rows of pictures by heading, a row a backbone; they are also written to ``folder``, a file a row."""
    val = data.indices('val')
    numbers = [val[place] for place in torch.linspace(0, len(val) - 1, min(shown, len(val))).round().long().tolist()]
    found: dict[str, list[Row]] = {'Nearest training pictures': [
        (f'{label}, query {row + 1}', pictures) for row in range(min(3, len(numbers)))
        for label, pictures in ((name, _nearest(one, data, numbers[row], pool)) for name, one in seen.items())]}
    if with_patches:
        parts = {label: [patch.float() for _, patch in one.store.read('patches', numbers)]
                 for label, one in seen.items()}
        read = {label: _pictures(data, numbers, one.size) for label, one in seen.items()}
        images = {label: pictures for label, (pictures, _) in read.items()}
        inside = {label: [patches_inside(padding, one.size, one.grid) for padding in read[label][1]]
                  for label, one in seen.items()}
        first = next(iter(images))
        for together, title in ((False, 'Principal components of each picture'),
                                (True, 'Principal components of all pictures together')):
            found[title] = [('pictures', [fit_square(image, _SIDE) for image in images[first]])] + [
                (label, [fit_square(picture, _SIDE) for picture in pca_pictures(
                    parts[label], inside[label], one.size, together)]) for label, one in seen.items()]
        rows = []
        for name, place in _marks(data, numbers[0]).items():
            for label, one in seen.items():
                mark = Mark(name, *_patch_at(place, read[label][1][0], one))
                maps = similarity_maps(parts[label], 0, mark)
                rows.append((f'{name}, {label}', [fit_square(picture, _SIDE) for picture in heat_pictures(
                    images[label], maps, 0, mark)]))
        found['Patches like the one marked in the first picture'] = rows
    _write(found, folder)
    return found


def _pictures(data: ProbeData, numbers: Sequence[int],
              size: tuple[int, int]) -> tuple[list[np.ndarray], list[Padding]]:
    """(H, W, 3) BGR, as the backbone sees them, and their borders."""
    reader = Pictures([data.images[number].path for number in numbers], size)
    read = [reader.read(place) for place in range(len(numbers))]
    return [np.ascontiguousarray(image.permute(1, 2, 0).numpy()) for image, _ in read], [padding for _, padding in read]


def _patch_at(place: tuple[float, float], padding: Padding, one: Seen) -> tuple[int, int]:
    """Row and column of the patch at ``place``, shares of the picture without its borders."""
    row, column = (
        min(int((before + share * (side - before - after)) * count / side), count - 1)
        for share, (before, after), side, count in zip(place, (padding[2:], padding[:2]), one.size, one.grid))
    return row, column


def _nearest(one: Seen, data: ProbeData, query: int, pool: str) -> list[np.ndarray]:
    """The query and the training pictures most like it."""
    found = neighbours(one.store.whole(pool), [query], data.indices('train'), _NEIGHBOURS)[0]
    return [fit_square(picture, _SIDE * 3 // 4) for picture in _pictures(data, [query, *found], one.size)[0]]


def _marks(data: ProbeData, number: int) -> dict[str, tuple[float, float]]:
    """What is looked for: name -> (down, right), shares of the picture."""
    path = data.images[number].field_paths.get('sem_seg')
    if path is None:
        return dict(_PLACES)
    labels = read_sem_seg(path, data.label_table)
    found = {}
    for name in MARKED:
        if name in data.classes and len(found) < _MARKS:
            inside = (labels == data.classes.index(name)).astype(np.uint8)
            if inside.any():
                # The point farthest from the outline lies inside whatever the shape.
                distance = cv2.distanceTransform(np.pad(inside, 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
                row, column = np.unravel_index(distance.argmax(), distance.shape)
                found[name.replace('_', ' ').lower()] = ((row + 0.5) / labels.shape[0],
                                                         (column + 0.5) / labels.shape[1])
    return found or dict(_PLACES)


def _write(found: Mapping[str, Sequence[Row]], folder: Path) -> None:
    for heading, rows in found.items():
        for name, pictures in rows:
            write_image(folder / slug(heading) / f'{slug(name)}.png', beside(pictures, _GAP))
