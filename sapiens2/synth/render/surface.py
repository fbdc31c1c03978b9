"""What rays hit, point by point: place, normals, texture place, person, label and material."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from sapiens2.synth.render.rays import Hits
from sapiens2.synth.render.vectors import columns, cross, dot, joined, rows, unit
from sapiens2.synth.scene import Mesh

# Metres along a ray between a triangle and the round surface it stands for, at most.
MOST_BULGE = 0.003


@dataclass(frozen=True)
class Surface:
    """N points on surfaces.

    Attributes:
        position: (N, 3) float32 metres, world frame.
        view: (N, 3) float32 unit vectors from the camera to the point.
        normal: (N, 3) float32 unit vectors, those of the corners interpolated, on the camera's side; for shading.
        exact: (N, 3) float32 unit vectors, those of the round surface, on the camera's side.
        lifted: (N, 3) float32 metres, where rays to the lights start (see ``_outside``).
        distance: (N,) float32 metres from the camera, to the round surface that the triangles stand for.
        rest: (N, 3) float32 metres, the place that textures stick to.
        footprint: (N,) float32 metres, side of a pixel seen there.
        mesh: (N,) int32 index of the mesh.
        material: (N,) int32 index among the materials of all meshes, one after the other.
        label: (N,) uint8.
    """

    position: np.ndarray
    view: np.ndarray
    normal: np.ndarray
    exact: np.ndarray
    lifted: np.ndarray
    distance: np.ndarray
    rest: np.ndarray
    footprint: np.ndarray
    mesh: np.ndarray
    material: np.ndarray
    label: np.ndarray

    def select(self, index: np.ndarray | slice) -> Surface:
        """Some of the points."""
        return Surface(**{field.name: rows(getattr(self, field.name), index) for field in fields(self)})

    @classmethod
    def join(cls, parts: Sequence[Surface]) -> Surface:
        """The points of all parts, in order."""
        return cls(**{field.name: joined([getattr(part, field.name) for part in parts]) for field in fields(cls)})


class Geometry:
    """The meshes of a scene as one list of triangles, for looking up what was hit.

    Args:
        meshes: in the order that the rays were cast at.
        materials_per_mesh: number of materials of each mesh.
    """

    def __init__(self, meshes: Sequence[Mesh], materials_per_mesh: Sequence[int]) -> None:
        vertices_before = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
        materials_before = np.cumsum([0] + list(materials_per_mesh))
        self._faces_before = np.cumsum([0] + [len(mesh.faces) for mesh in meshes])
        self._faces = _columns_of([mesh.faces + start for mesh, start in zip(meshes, vertices_before)], np.int32)
        self._vertices = _columns_of([mesh.vertices for mesh in meshes])
        self._normals = _columns_of([mesh.normals for mesh in meshes])
        self._rest = _columns_of([mesh.rest for mesh in meshes])
        self._labels = np.concatenate([mesh.labels for mesh in meshes])
        self._materials = np.concatenate([mesh.materials + start
                                          for mesh, start in zip(meshes, materials_before)]).astype(np.int32)

    def identity(self, hits: Hits) -> np.ndarray:
        """(N,) int32: one number for each pair of mesh and material, -1 where nothing was hit."""
        hit = hits.mesh >= 0
        return np.where(hit, self._materials[np.where(hit, self._faces_before[hits.mesh] + hits.face, 0)], -1)

    def surface(self, hits: Hits, directions: np.ndarray, pixel_angle: float) -> Surface:
        """The surface where rays hit; all of them must have.

        Args:
            hits: of N rays from the camera.
            directions: (N, 3) float32 unit vectors.
            pixel_angle: side of a pixel over the focal length.
        """
        face = self._faces_before[hits.mesh] + hits.face
        corners = rows(self._faces, face)
        weights = columns([1 - hits.u - hits.v, hits.u, hits.v])
        places = [rows(self._vertices, corner) for corner in corners.T]
        bends = [rows(self._normals, corner) for corner in corners.T]
        rest = _blend([rows(self._rest, corner) for corner in corners.T], weights)
        position = _blend(places, weights)
        flat = unit(cross(places[1] - places[0], places[2] - places[0]))
        smooth = unit(_blend(bends, weights))
        back = (dot(flat, directions) > 0)[:, None]
        flat = np.where(back, -flat, flat)
        smooth = np.where(back, -smooth, smooth)
        bulge, exact = _rounded(position, places, bends, weights)
        outside = _outside(position, places, [np.where(back, -bend, bend) for bend in bends], weights)
        exact = _facing(np.where(back, -exact, exact), directions)
        nearer = np.clip(dot(bulge, exact) / np.maximum(-dot(directions, exact), 0.1), -MOST_BULGE, MOST_BULGE)
        return Surface(position=position, view=directions, normal=_facing(smooth, directions), exact=exact,
                       lifted=position + outside + 1e-3 * flat,
                       distance=hits.distance - nearer, rest=rest, footprint=hits.distance * np.float32(pixel_angle),
                       mesh=hits.mesh, material=self._materials[face], label=self._labels[face])


def _facing(normals: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Unit normals (N, 3); those that turn away from the camera, as at outlines, bent back until seen from the side."""
    away = dot(normals, directions) + np.float32(0.01)
    return unit(normals - np.maximum(away, 0)[:, None] * directions)


def _blend(corners: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    total = corners[0] * weights[:, :1]
    total += corners[1] * weights[:, 1:2]
    total += corners[2] * weights[:, 2:]
    return total


def _columns_of(parts: list[np.ndarray], dtype: type = np.float32) -> np.ndarray:
    return np.asfortranarray(np.concatenate(parts).astype(dtype, copy=False))


def _outside(position: np.ndarray, places: list[np.ndarray], bends: list[np.ndarray],
             weights: np.ndarray) -> np.ndarray:
    """(N, 3) from points of triangles outwards, so that flat triangles do not shade the round surface they stand for.

    J. Hanika, Hacking the shadow terminator, in Ray Tracing Gems II, 2021.
    """
    total = np.zeros_like(position)
    for i, (place, bend) in enumerate(zip(places, bends)):
        total -= (np.minimum(dot(position - place, bend), 0) * weights[:, i])[:, None] * bend
    return total


def _rounded(position: np.ndarray, places: list[np.ndarray], bends: list[np.ndarray],
             weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, 3) from points of triangles to the round surface that corners and normals stand for, and its unit normals.

    T. Boubekeur, M. Alexa, Phong tessellation, 2008, with the shape factor 1/2, which is right for balls and cylinders.
    """
    sides = places[1] - places[0], places[2] - places[0]
    bulge = np.zeros_like(position)
    # How the bulge changes along the two sides: the weights of the corners do, and so do the heights over their planes.
    slopes = np.zeros_like(position), np.zeros_like(position)
    for i, (place, bend) in enumerate(zip(places, bends)):
        above = dot(position - place, bend)
        bulge -= (0.5 * above * weights[:, i])[:, None] * bend
        for k, (side, slope) in enumerate(zip(sides, slopes)):
            change = weights[:, i] * dot(side, bend)
            if i == 0 or i == k + 1:
                change += above if i else -above
            slope -= (0.5 * change)[:, None] * bend
    return bulge, unit(cross(sides[0] + slopes[0], sides[1] + slopes[1]))
