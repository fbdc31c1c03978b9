"""The 308 key points of a person, tied to the mesh by name in ``keypoint_anchors.json``.

An anchor is one of: ``vertices`` and ``weights``, a point of the skin of the base mesh (of a triangle or an edge);
``joint``, the head of a bone, inside the body; ``eye`` with ``clock`` (hours, seen from the front) and ``ring``
('iris', 'pupil' or 'centre'), a point of the eyeball, which turns with the gaze. The file also lists the vertices of
lips, nails and the inside of the mouth.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.people.eyes import IRIS, PUPIL, Eye
from sapiens2.synth.people.skeleton import Skeleton, skin
from sapiens2.synth.people.template import Template

ANCHORS_FILE = Path(__file__).parent / 'keypoint_anchors.json'
_RINGS = {'iris': IRIS, 'pupil': PUPIL, 'centre': 0.0}


@functools.lru_cache(maxsize=1)
def read_anchors() -> dict[str, dict]:
    """Anchor of each key point, by name."""
    return json.loads(ANCHORS_FILE.read_text(encoding='utf-8'))['keypoints']


@functools.lru_cache(maxsize=1)
def read_regions() -> dict[str, np.ndarray]:
    """Vertices of the base mesh that belong to 'upper_lip', 'lower_lip', 'mouth' (its inside) and 'nails'."""
    regions = json.loads(ANCHORS_FILE.read_text(encoding='utf-8'))['regions']
    return {name: np.asarray(vertices) for name, vertices in regions.items()}


@dataclass(frozen=True)
class _Table:
    """The anchors as arrays: rows of points on the mesh, and (row, bone), (row, side, clock, share) of the others."""

    mesh_rows: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    joints: tuple[tuple[int, str], ...]
    eyes: tuple[tuple[int, str, float, float], ...]


@functools.lru_cache(maxsize=1)
def _table() -> _Table:
    names, anchors = load_metainfo('sapiens308')['keypoint_names'], read_anchors()
    rows, vertices, weights, joints, eyes = [], [], [], [], []
    for row, name in enumerate(names):
        anchor = anchors[name]
        if 'vertices' in anchor:
            # A point of a triangle has three vertices; those of edges and corners are filled up with nothing.
            spare = 3 - len(anchor['vertices'])
            rows.append(row)
            vertices.append(anchor['vertices'] + [anchor['vertices'][0]] * spare)
            weights.append(anchor['weights'] + [0.0] * spare)
        elif 'eye' in anchor:
            eyes.append((row, anchor['eye'], float(anchor['clock']), _RINGS[anchor['ring']]))
        else:
            joints.append((row, anchor['joint']))
    return _Table(np.asarray(rows), np.asarray(vertices), np.asarray(weights, np.float32), tuple(joints), tuple(eyes))


def place_keypoints(template: Template, skeleton: Skeleton, matrices: np.ndarray, vertices: np.ndarray,
                    eyes: dict[str, Eye]) -> tuple[np.ndarray, np.ndarray]:
    """Key points of a posed person.

    Args:
        matrices: (B, 3, 4) from rest to pose.
        vertices: (V, 3) the unposed body, facial actions applied.
        eyes: side -> eyeball at rest.

    Returns:
        (308, 3) points, metres; (308,) whether each lies on the surface.
    """
    table = _table()
    count = len(table.mesh_rows) + len(table.joints) + len(table.eyes)
    points, on_surface = np.zeros((count, 3)), np.ones(count, bool)
    used = table.vertices.ravel()
    posed = skin(vertices[used], template.weights[used], matrices).reshape(*table.vertices.shape, 3)
    points[table.mesh_rows] = np.einsum('nk,nkc->nc', table.weights, posed)
    for row, bone in table.joints:
        index = skeleton.index(bone)
        points[row] = matrices[index, :, :3] @ skeleton.heads[index] + matrices[index, :, 3]
        on_surface[row] = False
    head = skeleton.index('head')
    for row, side, clock, share in table.eyes:
        points[row] = matrices[head, :, :3] @ eyes[side].point(clock, share) + matrices[head, :, 3]
    return points, on_surface
