"""Boxes, walls and floors as meshes, and their materials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.scene import Material, Mesh

# Corners of a box's sides, counter-clockwise from outside, as bits x, y, z of 0 (low) and 1 (high).
_SIDES = ((4, 6, 7, 5), (0, 1, 3, 2), (2, 3, 7, 6), (0, 4, 5, 1), (1, 5, 7, 3), (0, 2, 6, 4))


def matter(rng: np.random.Generator, color: Sequence[float], pattern: str, colors: Sequence[Sequence[float]] = (),
           scale: float = 0.2, roughness: float | None = None) -> Material:
    """A material of the surroundings with a seed of its own."""
    return Material('matter', np.clip(np.asarray(color, np.float32), 0.01, 0.85), pattern,
                    np.asarray(colors, np.float32).reshape(-1, 3), scale,
                    float(rng.uniform(0.5, 0.95)) if roughness is None else roughness, 0.04, int(rng.integers(2**31)))


class Props:
    """Collects flat pieces into one mesh."""

    def __init__(self) -> None:
        self._quads: list[np.ndarray] = []
        self._normals: list[np.ndarray] = []
        self._materials: list[int] = []

    def quad(self, corners: np.ndarray, material: int, normals: np.ndarray | None = None) -> None:
        """A piece of four corners (4, 3), counter-clockwise as seen from the front; flat without ``normals`` (4, 3)."""
        corners = np.asarray(corners, np.float32)
        if normals is None:
            normal = np.cross(corners[1] - corners[0], corners[3] - corners[0])
            normals = np.tile(normal / max(float(np.linalg.norm(normal)), 1e-12), (4, 1))
        self._quads.append(corners)
        self._normals.append(np.asarray(normals, np.float32))
        self._materials.append(material)

    def box(self, low: np.ndarray, high: np.ndarray, material: int, heading: float = 0.0,
            pivot: np.ndarray | None = None) -> None:
        """A box between two corners (3,), along the axes of the world, then turned from +z towards +x.

        Args:
            low, high: metres.
            material: index.
            heading: of the turn, radians.
            pivot: (3,) a point of the vertical axis of the turn, metres.
        """
        ends = np.array([low, high], np.float32)
        corners = np.array([[ends[i >> 2 & 1, 0], ends[i >> 1 & 1, 1], ends[i & 1, 2]] for i in range(8)])
        if heading:
            cos, sin = np.cos(heading), np.sin(heading)
            turn = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
            corners = (corners - pivot) @ turn.T + pivot
        for side in _SIDES:
            self.quad(corners[list(side)], material)

    def wall(self, start: np.ndarray, end: np.ndarray, height: float, material: int,
             hole: tuple[float, float, float, float] | None = None) -> None:
        """An upright wall on the ground from ``start`` (x, z) to ``end``, its front to the left of the way.

        Args:
            start, end: (2,) metres.
            height: metres.
            material: index.
            hole: a window: its ends in shares of the length, and its lower and upper edge in metres.
        """
        across, up = np.array([end[0] - start[0], 0, end[1] - start[1]]), np.array([0, 1, 0])
        foot = np.array([start[0], 0, start[1]])

        def piece(left: float, right: float, low: float, high: float) -> None:
            self.quad(foot + np.array([left * across + low * up, right * across + low * up,
                                       right * across + high * up, left * across + high * up]), material)

        if hole is None:
            piece(0, 1, 0, height)
            return
        left, right, low, high = hole
        piece(0, left, 0, height)
        piece(right, 1, 0, height)
        piece(left, right, 0, low)
        piece(left, right, high, height)

    def mesh(self) -> Mesh:
        """All pieces, two triangles each."""
        count = len(self._quads)
        vertices = np.array(self._quads, np.float32).reshape(-1, 3)
        faces = (np.arange(count)[:, None, None] * 4 + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
        return Mesh(vertices=vertices, faces=faces.astype(np.int32), normals=np.concatenate(self._normals),
                    rest=vertices, labels=np.zeros(2 * count, np.uint8),
                    materials=np.repeat(np.array(self._materials, np.uint8), 2))
