"""Cast rays from a camera on a mesh: depth, normals, colours of a texture, with Embree (an optional extra).

Pixel centres stand at integers. Camera frame: metres, x right, y down, z forward.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.datasets.errors import DataError

_RAYS = 2**20  # cast at a time: a bound on the memory, whatever the size of the picture


@dataclass(frozen=True)
class Camera:
    """A pinhole camera.

    Attributes:
        intrinsics: K, (3, 3), pixels.
        rotation: (3, 3) from the world to the camera frame.
        translation: (3,) metres, so that camera = rotation @ world + translation.
        size: (H, W), pixels.
    """

    intrinsics: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    size: tuple[int, int]

    def rays(self, rows: np.ndarray, offset: tuple[float, float]) -> np.ndarray:
        """(len(rows) * W, 3) directions in the camera frame with z = 1, through the pixels of ``rows``, row by row,
        ``offset`` (x, y) pixels from their centres."""
        columns = np.arange(self.size[1]) + offset[0]
        points = np.stack([*np.meshgrid(columns, rows + offset[1]), np.ones((len(rows), len(columns)))], axis=-1)
        return points.reshape(-1, 3) @ np.linalg.inv(self.intrinsics).T


@dataclass(frozen=True)
class View:
    """What a camera sees of a mesh; zero where that is nothing.

    Attributes:
        mask: (H, W) bool.
        depth: (H, W) float32, metres along the optical axis.
        normal: (H, W, 3) float32 unit vectors, camera frame.
        faces: (H, W) int, index of the triangle, -1 for none.
        weights: (H, W, 3) shares of the triangle's corners.
    """

    mask: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    faces: np.ndarray
    weights: np.ndarray


class Surface:
    """Triangles that rays can be cast on.

    Args:
        vertices: (V, 3) metres, world frame. Vertices at one place share a smooth normal, whatever their texture
            coordinates.
        faces: (F, 3) indices, counter-clockwise seen from outside.
        uv: (V, 2) texture coordinates, v upwards.
        texture: (h, w, 3) uint8 BGR.

    Raises:
        DataError: if trimesh or embreex is missing, or the mesh is empty.
    """

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, uv: Optional[np.ndarray] = None,
                 texture: Optional[np.ndarray] = None) -> None:
        _, caster = load_packages()
        if not len(faces):
            raise DataError('the mesh has no triangles')
        self.vertices, self.faces = np.asarray(vertices, np.float64), np.asarray(faces)
        self.uv, self.texture = uv, texture
        self.normals = _smooth_normals(self.vertices, self.faces)
        self._caster = caster([self], [np.zeros(len(self.faces), bool)])  # no lenses

    def view(self, camera: Camera, offset: tuple[float, float] = (0, 0)) -> View:
        """What ``camera`` sees ``offset`` (x, y) pixels from the centres of its pixels."""
        height, width = camera.size
        blocks = np.array_split(np.arange(height), -(-height * width // _RAYS))
        return View(*map(np.concatenate, zip(*(self._cast(camera, rows, offset) for rows in blocks))))

    def _cast(self, camera: Camera, rows: np.ndarray, offset: tuple[float, float]) -> tuple[np.ndarray, ...]:
        """The fields of a ``View`` for some rows."""
        origin = -camera.rotation.T @ camera.translation
        directions = camera.rays(rows, offset) @ camera.rotation
        found, _ = self._caster.first(np.broadcast_to(origin, directions.shape), directions)
        hit = np.flatnonzero(found.face >= 0)
        corners = self.faces[found.face[hit]]
        weights = np.stack([1 - found.u - found.v, found.u, found.v], axis=1)[hit]
        normal = np.einsum('nk,nkc->nc', weights, self.normals[corners])
        first, second, third = self.vertices[corners].transpose(1, 0, 2)
        facing = np.einsum('nc,nc->n', np.cross(second - first, third - first), directions[hit])
        normal *= np.where(facing > 0, -1, 1)[:, None]  # the inside of an open scan
        normal = normal @ camera.rotation.T
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)

        def raster(values: np.ndarray) -> np.ndarray:
            whole = np.zeros((len(directions), *values.shape[1:]), np.float32)
            whole[hit] = values
            return whole.reshape(len(rows), -1, *values.shape[1:])

        faces = found.face.reshape(len(rows), -1)
        # Rays have z = 1 in the camera frame, so the distance along them, in their own lengths, is the depth.
        return faces >= 0, raster(found.distance[hit]), raster(normal), faces, raster(weights)

    def colours(self, camera: Camera) -> tuple[np.ndarray, np.ndarray]:
        """Colour of the texture, (H, W, 3) float32 BGR in [0, 255], and the covered share of each pixel, (H, W).

        The mean of four rays a pixel, because textures are finer than pixels.
        """
        total, covered = np.zeros((*camera.size, 3), np.float32), np.zeros(camera.size, np.float32)
        for offset in itertools.product((-0.25, 0.25), repeat=2):
            view = self.view(camera, offset)
            total += self._texels(view)
            covered += view.mask
        return total / np.maximum(covered, 1)[..., None], covered / 4

    def _texels(self, view: View) -> np.ndarray:
        """(H, W, 3) float32 BGR of the texture, zero where nothing is."""
        uv = np.einsum('hwk,hwkc->hwc', view.weights, self.uv[self.faces[view.faces]])
        height, width = self.texture.shape[:2]
        colour = cv2.remap(self.texture, (uv[..., 0] * width - 0.5).astype(np.float32),
                           ((1 - uv[..., 1]) * height - 0.5).astype(np.float32), cv2.INTER_LINEAR,
                           borderMode=cv2.BORDER_REPLICATE)
        return np.where(view.mask[..., None], colour, 0).astype(np.float32)


def load_packages() -> tuple[Any, Any]:
    """The package trimesh, which reads meshes, and the class that casts rays, which needs embreex.

    Raises:
        DataError: if one is not installed.
    """
    try:
        import trimesh

        from sapiens2.synth.render.rays import Caster
    except ImportError as error:
        raise DataError(f'rendering meshes needs the packages trimesh and embreex ({error}): pip install '
                        '"sapiens2[render]"') from error
    return trimesh, Caster


def _smooth_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(V, 3) mean normals of the triangles at each place, weighted by their areas."""
    _, place = np.unique(vertices, axis=0, return_inverse=True)
    place = place.reshape(-1)
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    index = place[faces].reshape(-1)
    total = np.stack([np.bincount(index, np.repeat(across[:, axis], 3)) for axis in range(3)], axis=1)
    total /= np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-20)
    return total[place]
