"""Antialiasing: more rays at outlines, each coloured by the neighbouring pixel that shows the same surface."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.cameras import pixel_rays
from sapiens2.synth.render.rays import Caster
from sapiens2.synth.render.surface import Geometry
from sapiens2.synth.scene import Camera

# A rotated grid within the pixel.
_OFFSETS = np.array([[-0.125, -0.375], [0.375, -0.125], [0.125, 0.375], [-0.375, 0.125]])
# Neighbours differ when their distances do by more than this share.
JUMP = 0.02


def find_edges(identity: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """(H, W) bool: pixels beside another surface.

    Args:
        identity: (H, W) int32, see ``Geometry.identity``.
        distance: (H, W) float32 metres, infinite for none.
    """
    near = 1 / np.maximum(distance, 1e-3)
    edges = np.zeros(identity.shape, bool)
    for first, second in (((slice(None), slice(1, None)), (slice(None), slice(None, -1))),
                          ((slice(1, None), slice(None)), (slice(None, -1), slice(None)))):
        apart = np.abs(near[first] - near[second]) > JUMP * np.maximum(near[first], near[second])
        differ = (identity[first] != identity[second]) | apart
        edges[first] |= differ
        edges[second] |= differ
    return edges


def soften(radiance: np.ndarray, identity: np.ndarray, distance: np.ndarray, camera: Camera, caster: Caster,
           geometry: Geometry) -> np.ndarray:
    """The picture with smooth outlines: pixels at edges become the mean of five rays.

    The shading is not computed again: each ray takes the colour of the pixel among the 3 x 3 around that shows what it
    hits, nearest in distance. Things thinner than a pixel may be missed.

    Args:
        radiance: (H, W, 3) float32.
        identity, distance: see ``find_edges``.
        camera, caster, geometry: of the picture.
    """
    height, width = identity.shape
    rows, columns = np.nonzero(find_edges(identity, distance))
    if not len(rows):
        return radiance
    around = [(np.clip(rows + dy, 0, height - 1), np.clip(columns + dx, 0, width - 1))
              for dy in (0, -1, 1) for dx in (0, -1, 1)]
    near = 1 / np.maximum(distance, 1e-3)
    total = radiance[rows, columns].copy()
    centres = np.stack([columns, rows], 1).astype(np.float64)
    for offset in _OFFSETS:
        hits, _ = caster.first(np.repeat(camera.position[None], len(rows), 0), pixel_rays(camera, centres + offset))
        found, place = geometry.identity(hits), 1 / np.maximum(hits.distance, 1e-3)
        best = np.full(len(rows), np.inf, np.float32)
        choice = np.zeros(len(rows), np.int64)
        for y, x in around:
            apart = np.abs(near[y, x] - place) / np.maximum(place, 1e-3) + (identity[y, x] != found)
            better = apart < best
            best[better] = apart[better]
            choice[better] = (y * width + x)[better]
        total += radiance.reshape(-1, 3)[choice]
    result = radiance.copy()
    result[rows, columns] = total / (len(_OFFSETS) + 1)
    return result
