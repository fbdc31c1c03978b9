"""Rules for dense ground truth that has been read: whether it is what it is said to be.

They look at a grid of pixels only, so that training can afford them. What statistics merely make unlikely is a warning;
it is an error only where the numbers cannot be what they should.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.rules.outlines import FEWEST_EDGES, outlines
from sapiens2.datasets.errors import Fault, Kind
from sapiens2.datasets.metainfo import IGNORE_LABEL

# Pixels of the grid along the shorter side, and the fewest of them on which a statistic is worth anything.
_GRID, _FEWEST = 96, 50
_UNIT_TOLERANCE, _UNIT_SHARE = 0.2, 0.1  # 8 bits and smoothed edges make lengths differ by less, at few pixels
_FRAME = 'the camera frame has x right, y down and z forward, so what it sees has z < 0'
_METRES = 'save metres as float32, or whole numbers with depth_unit of LoadFields set to the metres of one step'
_TURN_OFF = 'if it is meant so, set statistics=False of LoadFields'


def grid(raster: np.ndarray) -> np.ndarray:
    """Every n-th pixel of ``raster`` (H, W, ...) in both directions."""
    step = max(1, min(raster.shape[:2]) // _GRID)
    return raster[step // 2::step, step // 2::step]


def field_faults(fields: Mapping[str, np.ndarray], shape: tuple[int, int], paths: Mapping[str, Any],
                 image: str) -> Iterator[Fault]:
    """What is wrong with the fields of one sample.

    Args:
        fields: as ``LoadFields`` gives them, ``mask`` included.
        shape: (H, W) of the picture and of all fields.
        paths: the file of each field.
        image: the file of the picture.
    """
    paths = {name: str(path) for name, path in paths.items()}
    mask = fields.get('mask')
    if mask is not None and not mask.any():
        names = [name for name in ('mask', 'normal', 'depth', 'albedo') if name in paths]
        yield Fault(Kind.MASK_EMPTY, paths.get('mask', image), 'no pixel has valid ' + ' and '.join(names), names[0],
                    'remove the sample, or give it ground truth')
        return
    if 'sem_seg' in fields and (grid(fields['sem_seg']) == IGNORE_LABEL).all() \
            and (fields['sem_seg'] == IGNORE_LABEL).all():
        yield Fault(Kind.LABELS_ALL_IGNORED, paths['sem_seg'], f'sem_seg is {IGNORE_LABEL} (ignored) everywhere',
                    'sem_seg', 'check the label_map of the data set, or remove the sample')
    if 'normal' in fields:
        yield from normal_faults(fields['normal'], mask, paths['normal'])
    if 'K' in fields:
        yield from camera_faults(fields['K'], shape[::-1], paths['K'])
    if 'depth' in fields:
        yield from depth_faults(fields['depth'], mask, fields.get('K'), paths['depth'])
    if 'albedo' in fields:
        yield from albedo_faults(fields['albedo'], mask, paths['albedo'])


def length_faults(stored: np.ndarray, path: str) -> Iterator[Fault]:
    """What is wrong with the lengths of ``stored`` (H, W, 3) normals; zero, or not a number, where there is none."""
    some = grid(stored)
    length = np.sqrt(np.einsum('hwc,hwc->hw', some, some))
    length = length[np.isfinite(length) & (length > 0.05)]  # grey of 8 bits, which stands for 0, has 0.007
    if len(length) < _FEWEST:
        return
    share = float((np.abs(length - 1) > _UNIT_TOLERANCE).mean())
    encoded = np.nanmin(some) >= 0  # what a camera sees has a negative z
    if encoded or share > _UNIT_SHARE:
        yield Fault(Kind.NORMAL_LENGTH, path, f'normal must hold unit vectors; {share:.0%} of its lengths are off by '
                    f'more than {_UNIT_TOLERANCE}, their median is {np.median(length):.3g}', 'normal',
                    'an array holds n itself, not (n + 1) / 2' if encoded else 'divide the vectors by their lengths')


def normal_faults(normal: np.ndarray, mask: np.ndarray, path: str) -> Iterator[Fault]:
    """What is wrong with the frame of (H, W, 3) unit normals."""
    x, _, z = grid(normal)[grid(mask) > 0].T
    if len(z) < _FEWEST:
        return
    away = float((z > 0).mean())
    if 0.2 < away < 0.8 and (x < 0).mean() > 0.95:
        yield Fault(Kind.NORMAL_FRAME, path, f'normal has x < 0 nearly everywhere, and z > 0 at {away:.0%} of the '
                    'pixels: red and blue are swapped', 'normal', 'x is stored as red, y as green, z as blue')
        return
    flipped = [axis for axis, edges, channel in zip('xy', outlines(mask), (0, 1))
               if len(edges.rows) >= FEWEST_EDGES
               and (edges.sides * normal[edges.rows, edges.columns, channel]).mean() < -0.3]
    if away > 0.6:
        flipped.append('z')
    if flipped:
        what = {('y', 'z'): ' (the frame of OpenGL: y up, z towards the camera)', ('y',): ' (y up)',
                ('z',): ' (z towards the camera)', ('x',): ' (x left, or the picture is mirrored)'}
        seen = f'z > 0 at {away:.0%} of the pixels' if 'z' in flipped else 'at outlines they point inwards'
        yield Fault(Kind.NORMAL_FRAME, path, f'normal lies in another frame: {seen}; negated: {", ".join(flipped)}'
                    + what.get(tuple(flipped), ''), 'normal', f'{_FRAME}; negate {" and ".join(flipped)}. {_TURN_OFF}')
    elif away > 0.2:
        yield Fault(Kind.NORMAL_DIRECTION, path, f'normal has z > 0 at {away:.0%} of the pixels', 'normal',
                    f'{_FRAME}; are these normals of the world or of the object?')


def depth_faults(depth: np.ndarray, mask: np.ndarray, camera: Optional[np.ndarray], path: str) -> Iterator[Fault]:
    """What is wrong with the unit of (H, W) depth in metres, zero where there is none; ``camera`` is K (3, 3)."""
    people = grid(mask) > 0
    some = grid(depth)[people]
    if len(some) < _FEWEST:
        return
    middle, largest = float(np.median(some)), float(some.max())
    # All pixels are looked at only where the grid has raised the suspicion.
    if largest <= 1.0 and 0.999 <= depth.max() <= 1.0 and depth[depth > 0].min() < 0.1:
        yield Fault(Kind.DEPTH_UNIT, path, 'depth fills the interval from 0 to 1: it is normalised, not metric',
                    'depth', f'{_METRES}. {_TURN_OFF}')
        return
    if not 0.05 <= middle <= 100:
        guess = ', as if they were millimetres' if 300 < middle < 1e5 else ''
        yield Fault(Kind.DEPTH_UNIT, path, f'depth has a median of {middle:.4g} m on people, so these are no metres'
                    + guess, 'depth', f'{_METRES}. {_TURN_OFF}')
        return
    tall = np.ptp(np.flatnonzero(people.any(axis=1))) / len(people) * len(depth) * middle / camera[1, 1] \
        if camera is not None else None
    if not 0.15 <= middle <= 30:
        yield Fault(Kind.DEPTH_STRANGE, path, f'depth has a median of {middle:.3g} m on people', 'depth', _METRES)
    elif tall is not None and not 0.08 <= tall <= 8:
        yield Fault(Kind.DEPTH_STRANGE, path, f'depth and K make what the mask shows {tall:.2g} m tall', 'depth',
                    f'{_METRES}, and K in pixels of this picture')
    share = _share_farther(depth, mask)
    if share is not None and share < 0.3:
        yield Fault(Kind.DEPTH_INVERSE, path, f'depth grows towards the outlines at {share:.0%} of the edges only, as '
                    'inverse depth does', 'depth', 'save depth, which is small where things are near, in metres')


def _share_farther(depth: np.ndarray, mask: np.ndarray) -> Optional[float]:
    """At how many edges the surface is farther away than a few pixels further inside; None if there are few."""
    reach = max(2, min(mask.shape) // 128)
    steps = []
    for edges, (down, right) in zip(outlines(mask), ((0, 1), (1, 0))):
        rows, columns = edges.rows - reach * down * edges.sides, edges.columns - reach * right * edges.sides
        inside = (rows >= 0) & (rows < mask.shape[0]) & (columns >= 0) & (columns < mask.shape[1])
        rows, columns, edges = rows[inside], columns[inside], [values[inside] for values in edges]
        steps.append((depth[edges[0], edges[1]] - depth[rows, columns])[mask[rows, columns] > 0])
    step = np.concatenate(steps)
    step = step[step != 0]
    return float((step > 0).mean()) if len(step) >= FEWEST_EDGES else None


def camera_faults(camera: np.ndarray, size: tuple[int, int], path: str) -> Iterator[Fault]:
    """What is wrong with K (3, 3), pixels, for a picture of ``size`` (W, H)."""
    width, height = size
    (fx, _, cx), (_, fy, cy) = camera[:2].tolist()
    if max(fx, fy, cx, cy) < 10 < min(size):
        yield Fault(Kind.CAMERA, path, f'K has fx, fy, cx, cy = {fx:.4g}, {fy:.4g}, {cx:.4g}, {cy:.4g} for a picture '
                    f'of {width} x {height} pixels: it is normalised', 'K', 'multiply by the width and the height')
        return
    ratio_x, ratio_y = (2 * cx + 1) / width, (2 * cy + 1) / height
    crosswise = (2 * cx + 1) / height, (2 * cy + 1) / width
    if abs(ratio_x - ratio_y) < 0.02 * ratio_x and not 0.9 < ratio_x < 1.1:
        yield Fault(Kind.CAMERA_SIZE, path, f'K has its principal point at ({cx:.1f}, {cy:.1f}), the middle of '
                    f'{2 * cx + 1:.0f} x {2 * cy + 1:.0f} pixels; the picture has {width} x {height}', 'K',
                    f'divide its first two rows by {ratio_x:.4g}. {_TURN_OFF}')
    elif not 0.95 < width / height < 1.05 and max(abs(ratio - 1) for ratio in crosswise) < 0.02:
        yield Fault(Kind.CAMERA_SIZE, path, f'K has its principal point at ({cx:.1f}, {cy:.1f}), the middle of a '
                    f'picture that lies crosswise to this one of {width} x {height}', 'K',
                    f'K belongs to the upright picture. {_TURN_OFF}')
    elif not (0 <= cx < width and 0 <= cy < height):
        yield Fault(Kind.CAMERA_STRANGE, path, f'K has its principal point at ({cx:.1f}, {cy:.1f}), outside the '
                    f'picture of {width} x {height}', 'K',
                    'that is right for a cut-out only; K is in pixels of this picture')
    elif not (0.5 < fx / fy < 2 and 0.1 < fx / max(size) < 50):
        yield Fault(Kind.CAMERA_STRANGE, path, f'K has fx, fy = {fx:.4g}, {fy:.4g} for a picture of {width} x {height}',
                    'K', 'focal lengths are in pixels of this picture')


def albedo_faults(albedo: np.ndarray, mask: np.ndarray, path: str) -> Iterator[Fault]:
    """What is unlikely of (H, W, 3) albedo in [0, 1]."""
    some = grid(albedo)[grid(mask) > 0]
    if len(some) >= _FEWEST and some.max() < 0.02:
        yield Fault(Kind.ALBEDO_DARK, path, f'albedo is at most {some.max():.2g} inside the mask', 'albedo',
                    'an 8-bit picture holds 255 times the albedo')
