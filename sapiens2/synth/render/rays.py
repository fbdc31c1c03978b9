"""Ray casting with Embree (package embreex, Apache-2.0): the first hit of each ray, and whether anything is in its way.

embreex is used directly: trimesh's layer copies and rescales all rays and intersects the planes again, which takes
longer than the casting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from sapiens2.synth.scene import Mesh

try:
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore import EmbreeDevice
    from embreex.rtcore_scene import EmbreeScene
except ImportError as error:
    raise ImportError("SynthHumans is rendered with the package embreex: pip install 'sapiens2[synth]'") from error


@lru_cache(maxsize=1)
def _device() -> EmbreeDevice:
    """The process's Embree device, made at the first use: it starts threads, which do not survive a fork."""
    return EmbreeDevice()


@dataclass(frozen=True)
class Hits:
    """First hits of N rays.

    Attributes:
        distance: (N,) float32 metres along the ray, infinite where nothing is hit.
        mesh: (N,) int32 index of the mesh, -1 for none.
        face: (N,) int32 face of that mesh, -1 for none.
        u, v: (N,) float32 barycentric weights of the face's second and third corner.
    """

    distance: np.ndarray
    mesh: np.ndarray
    face: np.ndarray
    u: np.ndarray
    v: np.ndarray

    def select(self, index: np.ndarray) -> Hits:
        """The hits of some of the rays."""
        return Hits(self.distance[index], self.mesh[index], self.face[index], self.u[index], self.v[index])


class Caster:
    """Casts rays at meshes, some of whose faces may be lenses, which light passes through.

    Args:
        meshes: what is hit, in the order of ``Hits.mesh``.
        lenses: for each mesh, (F,) bool, faces that are lenses.
    """

    def __init__(self, meshes: Sequence[Mesh], lenses: Sequence[np.ndarray]) -> None:
        self._solid = _Part(meshes, [~lens for lens in lenses])
        self._lenses = _Part(meshes, lenses)

    def first(self, origins: np.ndarray, directions: np.ndarray) -> tuple[Hits, Hits | None]:
        """First hits, and where the first is a lens, what is behind all lenses.

        Args:
            origins: (N, 3) float32, world frame, metres.
            directions: (N, 3) float32 unit vectors.

        Returns:
            Hits of anything, and hits of all but lenses; None if there are no lenses.
        """
        origins, directions = _rows(origins), _rows(directions)
        solid = self._solid.first(origins, directions)
        if self._lenses.empty:
            return solid, None
        lens = self._lenses.first(origins, directions)
        nearer = lens.distance < solid.distance
        return Hits(*(np.where(nearer, getattr(lens, field.name), getattr(solid, field.name))
                      for field in fields(Hits))), solid

    def blocked(self, origins: np.ndarray, directions: np.ndarray, distances: np.ndarray | float) -> np.ndarray:
        """(N,) bool: whether anything lies within ``distances`` (metres) along the rays."""
        limits = np.full(len(origins), distances, np.float32)
        return self._solid.scene.run(_rows(origins), _rows(directions), limits, query='OCCLUDED') >= 0


class _Part:
    """An Embree scene of some faces of meshes."""

    def __init__(self, meshes: Sequence[Mesh], chosen: Sequence[np.ndarray]) -> None:
        self.scene = EmbreeScene(_device())
        # Of each of the scene's geometries: index of the mesh, and its faces' place in the list of all chosen ones.
        order, starts, faces = [], [], [np.zeros(0, np.int32)]
        for i, (mesh, choice) in enumerate(zip(meshes, chosen)):
            index = np.flatnonzero(choice).astype(np.int32)
            if not len(index):
                continue
            order.append(i)
            starts.append(sum(map(len, faces)))
            faces.append(index)
            corners = np.ascontiguousarray(mesh.faces[index], np.int32)
            # embreex reads corners[i][j] one by one: from rows that are tuples, five times faster than from an array.
            rows = corners.view([('', np.int32)] * 3)[:, 0].astype(object)
            TriangleMesh(self.scene, np.ascontiguousarray(mesh.vertices, np.float32), rows)
        self._order, self._starts = np.array(order, np.int32), np.array(starts, np.int32)
        self._faces = np.concatenate(faces)
        self.empty = not order

    def first(self, origins: np.ndarray, directions: np.ndarray) -> Hits:
        """First hits of rays, C-ordered float32 (N, 3)."""
        found = self.scene.run(origins, directions, output=1)
        geometry, hit = found['geomID'], found['geomID'] >= 0
        face = self._faces[np.where(hit, self._starts[geometry] + found['primID'], 0)]
        return Hits(distance=np.where(hit, found['tfar'], np.float32(np.inf)),
                    mesh=np.where(hit, self._order[geometry], -1), face=np.where(hit, face, -1), u=found['u'],
                    v=found['v'])


def _rows(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors, np.float32)
