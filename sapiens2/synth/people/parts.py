"""Pieces of a person at rest, before posing: skin, eyes, hair, clothes; cutting, thickening and joining them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.people.rotations import unit

CLASSES: tuple[str, ...] = tuple(load_metainfo('seg29')['classes'])


def label_of(name: str) -> int:
    """The label of the class ``name``, one of the 29."""
    return CLASSES.index(name)


@dataclass(frozen=True)
class Part:
    """A surface at rest.

    Attributes:
        rest: (N, 3) float32, metres, on this person's unposed body.
        base: (N, 3) float32, the same points on the template's body: where cuts are made, equal for everybody.
        weights: (N, B) skinning weights.
        faces: (F, 3) triangles, counter-clockwise seen from outside.
        labels: (F,) classes.
        materials: (F,) indices in the person's materials.
    """

    rest: np.ndarray
    base: np.ndarray
    weights: np.ndarray
    faces: np.ndarray
    labels: np.ndarray
    materials: np.ndarray

    @functools.cached_property
    def normals(self) -> np.ndarray:
        """(N, 3) unit normals at rest."""
        return vertex_normals(self.rest, self.faces)

    def with_rest(self, rest: np.ndarray) -> 'Part':
        """The same part at another place."""
        return replace(self, rest=rest.astype(np.float32))

    def painted(self, label: int, material: int) -> 'Part':
        """The same part, all of one class and material."""
        return replace(self,
                       labels=np.full(len(self.faces), label, np.uint8),
                       materials=np.full(len(self.faces), material, np.uint8))

    def keep_faces(self, mask: np.ndarray) -> 'Part':
        """The part with the faces of ``mask`` (F,) only, and the vertices that they use."""
        faces = self.faces[mask]
        used = np.zeros(len(self.rest), bool)
        used[faces] = True
        index = np.cumsum(used, dtype=np.int32) - 1
        return Part(self.rest[used], self.base[used], self.weights[used], index[faces], self.labels[mask],
                    self.materials[mask])


def triangles(quads: np.ndarray) -> np.ndarray:
    """(2F, 3) triangles of (F, 4) quads."""
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)


def vertex_normals(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(N, 3) unit normals, the faces around a vertex weighted by area."""
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    summed = np.empty((len(points), 3), np.float64)
    for axis in range(3):
        summed[:, axis] = np.bincount(faces.ravel(), np.repeat(normal[:, axis], 3), len(points))
    return unit(summed).astype(np.float32)


@dataclass(frozen=True)
class CutFaces:
    """Triangles cut along the zero line of a field.

    Attributes:
        faces: (F', 3) triangles, none of which crosses the line; new vertices are numbered after the old ones.
        source: (F',) the triangle that each came from; inside: (F',) whether it lies where the field is positive.
        start, end, share: (M,) of each new vertex the edge that it divides, and how far along it.
    """

    faces: np.ndarray
    source: np.ndarray
    inside: np.ndarray
    start: np.ndarray
    end: np.ndarray
    share: np.ndarray

    def grown(self, values: np.ndarray) -> np.ndarray:
        """``values`` (N, ...) of the old vertices, with those of the new ones appended."""
        share = self.share.reshape(-1, *[1] * (values.ndim - 1))
        return np.concatenate([values, (1 - share) * values[self.start] + share * values[self.end]])


def cut_faces(faces: np.ndarray, field: np.ndarray) -> CutFaces:
    """Cut ``faces`` (F, 3) where ``field`` (N,) changes sign."""
    inside = field[faces] > 0
    count = inside.sum(1)
    crossed = np.flatnonzero((count == 1) | (count == 2))
    # Turn each crossed triangle so that the corner that is alone on its side comes first.
    alone = inside[crossed] == (count[crossed] == 1)[:, None]
    order = (np.argmax(alone, axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(faces[crossed], order, axis=1).T
    edges = np.concatenate([np.stack([a, b], 1), np.stack([a, c], 1)])
    key = edges.min(1).astype(np.int64) * len(field) + edges.max(1)
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    start, end = edges[first].T
    share = (field[start] / (field[start] - field[end])).astype(np.float32)
    ab, ac = np.split(len(field) + index, 2)
    whole = np.flatnonzero((count == 0) | (count == 3))
    pieces = [faces[whole], np.stack([a, ab, ac], 1), np.stack([ab, b, c], 1), np.stack([ab, c, ac], 1)]
    sides = [count[whole] == 3, count[crossed] == 1, count[crossed] == 2, count[crossed] == 2]
    return CutFaces(
        np.concatenate(pieces).astype(np.int32), np.concatenate([whole, crossed, crossed, crossed]),
        np.concatenate(sides), start, end, share)


def split(part: Part, field: np.ndarray) -> tuple[Part, np.ndarray]:
    """``part`` cut along the zero line of ``field`` (N,), and whether the field is positive on each of its faces."""
    cut = cut_faces(part.faces, field)
    grown = Part(cut.grown(part.rest), cut.grown(part.base), cut.grown(part.weights), cut.faces,
                 part.labels[cut.source], part.materials[cut.source])
    return grown, cut.inside


def clip(part: Part, field: np.ndarray) -> Part:
    """The side of ``part`` where ``field`` (N,) is positive."""
    whole, inside = split(part, field)
    return whole.keep_faces(inside)


def clip_all(part: Part, fields: Sequence[np.ndarray]) -> tuple[Part, np.ndarray, np.ndarray]:
    """Cut ``part`` by one field (N,) after the other.

    The edges are straighter than those of one cut along the least of all fields, whose corners the triangles miss.

    Returns:
        What is left; at each of its points the least of the fields (N',), and the normal (N', 3) of the uncut part,
        which the slivers along a cut would spoil.
    """
    # Fields and normals travel through the cuts as further coordinates of the base points.
    carried = replace(part, base=np.column_stack([part.base, part.normals, *fields]).astype(np.float32))
    for column in range(6, 6 + len(fields)):
        carried = clip(carried, carried.base[:, column])
    base, normals, rest = np.split(carried.base, [3, 6], axis=1)
    return replace(carried, base=base), rest.min(1), unit(normals)


def border_edges(faces: np.ndarray) -> np.ndarray:
    """(E, 2) edges that belong to one face only, in the direction of that face."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64)
    size = int(faces.max()) + 1 if len(faces) else 0
    key, back = edges[:, 0] * size + edges[:, 1], edges[:, 1] * size + edges[:, 0]
    return edges[~np.isin(key, back)]


def hem(part: Part, inward: float, normals: np.ndarray) -> Part:
    """Turn the open borders inward against ``normals`` (N, 3) by ``inward`` metres, so that cloth shows an edge."""
    edges = border_edges(part.faces)
    if not len(edges):
        return part
    used, index = np.unique(edges, return_inverse=True)
    edge = index.reshape(-1, 2) + len(part.rest)
    rest = np.concatenate([part.rest, part.rest[used] - inward * normals[used]])
    strip = np.concatenate(
        [np.stack([edges[:, 1], edges[:, 0], edge[:, 0]], 1),
         np.stack([edges[:, 1], edge[:, 0], edge[:, 1]], 1)])
    return Part(rest.astype(np.float32), np.concatenate([part.base, part.base[used]]),
                np.concatenate([part.weights, part.weights[used]]),
                np.concatenate([part.faces, strip]).astype(np.int32),
                np.concatenate([part.labels, np.full(len(strip), part.labels[0])]).astype(np.uint8),
                np.concatenate([part.materials, np.full(len(strip), part.materials[0])]).astype(np.uint8))


def join(parts: Sequence[Part]) -> Part:
    """All ``parts`` as one; they share no vertices."""
    shifts = np.cumsum([0] + [len(part.rest) for part in parts[:-1]])
    return Part(np.concatenate([part.rest for part in parts]), np.concatenate([part.base for part in parts]),
                np.concatenate([part.weights for part in parts]),
                np.concatenate([part.faces + shift for part, shift in zip(parts, shifts)]).astype(np.int32),
                np.concatenate([part.labels for part in parts]), np.concatenate([part.materials for part in parts]))
