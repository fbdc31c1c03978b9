"""What each pixel of a picture shows: surfaces, their looks, and what lies behind lenses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapiens2.synth.render.cameras import pixel_grid, pixel_rays
from sapiens2.synth.render.features import find_features
from sapiens2.synth.render.finish import Finish
from sapiens2.synth.render.painting import paint
from sapiens2.synth.render.rays import Caster, Hits
from sapiens2.synth.render.surface import Geometry, Surface
from sapiens2.synth.render.vectors import put_rows, rows
from sapiens2.synth.scene import Camera, Material, Mesh, Person, Surroundings

# Points that are worked on at a time: their numbers stay in the processor's cache.
PIECE = 32768


@dataclass(frozen=True)
class SeenThrough:
    """What n points on lenses show: m of them a surface.

    Attributes:
        points: (n,) indices of the points on lenses.
        found: (m,) indices among those.
        tint: (n, 3) share of the light that comes through.
        surface, finish: of the m points behind.
    """

    points: np.ndarray
    found: np.ndarray
    tint: np.ndarray
    surface: Surface
    finish: Finish


class View:
    """A scene as a camera sees it.

    Args:
        persons, camera, surroundings: the scene; the surroundings' mesh comes after those of the people.

    Attributes:
        caster, geometry: of the scene.
        rays: (H * W, 3) float32 unit vectors through the pixel centres, world frame.
        hits: of these rays.
        pixels: (N,) pixels, as indices in H * W, that show a surface.
        surface, finish: what these show; the albedo of lenses is that of what is behind them, tinted.
        seen_through: what is behind lenses, None without lenses.
    """

    def __init__(self, persons: Sequence[Person], camera: Camera, surroundings: Surroundings) -> None:
        self.persons, self.camera, self.surroundings = persons, camera, surroundings
        meshes = [person.mesh for person in persons] + [surroundings.props]
        owners = [person.materials for person in persons] + [surroundings.materials]
        self._materials = [material for owner in owners for material in owner]
        features = [find_features(person) for person in persons] + [None]
        self._features = [feature for owner, feature in zip(owners, features) for _ in owner]
        self.caster = Caster(meshes, [_lens_faces(mesh, owner) for mesh, owner in zip(meshes, owners)])
        self.geometry = Geometry(meshes, [len(owner) for owner in owners])
        self.rays = pixel_rays(camera, pixel_grid(camera.size))
        self.hits, behind = self.caster.first(np.repeat(camera.position[None], len(self.rays), 0), self.rays)
        self.pixels = np.flatnonzero(self.hits.mesh >= 0)
        parts = [self._painted(self.hits, pixels)
                 for pixels in np.split(self.pixels, range(PIECE, len(self.pixels), PIECE))]
        self.surface = Surface.join([surface for surface, _ in parts])
        self.finish = Finish.join([finish for _, finish in parts])
        self.seen_through = None if behind is None else self._look_through_lenses(behind)

    @property
    def distance(self) -> np.ndarray:
        """(H, W) float32 metres along the rays, infinite for none."""
        return self.hits.distance.reshape(self.camera.size)

    @property
    def identity(self) -> np.ndarray:
        """(H, W) int32, see ``Geometry.identity``."""
        return self.geometry.identity(self.hits).reshape(self.camera.size)

    @property
    def catcher(self) -> int:
        """Index, among all materials, of the one that only catches shadows; -2 for none."""
        return len(self._materials) - len(self.surroundings.materials) if self.surroundings.catcher else -2

    def of_people(self) -> np.ndarray:
        """(n,) indices of the points that belong to people."""
        return np.flatnonzero(self.surface.mesh < len(self.persons))

    def _painted(self, hits: Hits, pixels: np.ndarray) -> tuple[Surface, Finish]:
        """Surface and looks where the rays of some pixels hit."""
        pixel_angle = 1 / float(self.camera.K[0, 0])
        surface = self.geometry.surface(hits.select(pixels), np.asfortranarray(self.rays[pixels]), pixel_angle)
        return surface, paint(surface, self._materials, self._features)

    def _look_through_lenses(self, behind: Hits) -> SeenThrough:
        """What is behind lenses, given the hits of all but lenses."""
        points = np.flatnonzero(behind.distance[self.pixels] > self.hits.distance[self.pixels])
        mesh = behind.mesh[self.pixels[points]]
        # A ground that only catches shadows is not there to be seen.
        seen = (mesh >= 0) & (self.geometry.identity(behind.select(self.pixels[points])) != self.catcher)
        found = np.flatnonzero(seen)
        surface, finish = self._painted(behind, self.pixels[points[found]])
        tint = rows(self.finish.albedo, points)
        put_rows(self.finish.albedo, points[found], rows(tint, found) * finish.albedo)
        return SeenThrough(points, found, tint, surface, finish)


def pieces(index: np.ndarray) -> list[np.ndarray | slice]:
    """An index (n,) of increasing integers in pieces of ``PIECE``; without gaps, as slices, which copy nothing."""
    parts = [part for part in np.split(index, range(PIECE, len(index), PIECE)) if len(part)]
    return [slice(part[0], part[-1] + 1) if part[-1] - part[0] == len(part) - 1 else part for part in parts]


def _lens_faces(mesh: Mesh, materials: Sequence[Material]) -> np.ndarray:
    return np.array([material.kind == 'lens' for material in materials], bool)[mesh.materials]
