"""Simple shapes: grids, tubes, boxes, and parts made of them that move as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapiens2.synth.people.parts import Part
from sapiens2.synth.people.rotations import unit


def rigid_part(rest: np.ndarray, faces: np.ndarray, bone: int, bone_count: int) -> Part:
    """A part that moves with one ``bone`` as a whole, such as glasses; its class and material are still to be set."""
    weights = np.zeros((len(rest), bone_count), np.float32)
    weights[:, bone] = 1
    nothing = np.zeros(len(faces), np.uint8)
    return Part(rest.astype(np.float32), rest.astype(np.float32), weights, faces.astype(np.int32), nothing, nothing)


def grid_faces(rows: int, columns: int, closed: bool = False) -> np.ndarray:
    """Triangles of a grid of ``rows`` x ``columns`` points, row by row; ``closed``: the last column meets the first."""
    row, column = np.meshgrid(np.arange(rows - 1), np.arange(columns if closed else columns - 1), indexing='ij')
    row, column = row.ravel(), column.ravel()
    after = (column + 1) % columns
    a, b, c, d = row * columns + column, row * columns + after, (row + 1) * columns + after, (row +
                                                                                              1) * columns + column
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32)


def tube(path: np.ndarray,
         radius: float | np.ndarray,
         sides: int = 6,
         closed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a tube around ``path`` (n, 3); ``radius``: one, or (n,); ``closed``: the path is a loop."""
    ahead = np.roll(path, -1, 0) - np.roll(path, 1, 0)
    if not closed:
        ahead[0], ahead[-1] = path[1] - path[0], path[-1] - path[-2]
    ahead = unit(ahead)
    reference = np.eye(3)[np.abs(ahead).mean(0).argmin()]
    side = unit(np.cross(ahead, reference))
    other = np.cross(ahead, side)
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.cos(angle)[:, None, None] * side + np.sin(angle)[:, None, None] * other
    points = path + np.asarray(radius).reshape(-1, 1) * ring
    points = points.transpose(1, 0, 2).reshape(-1, 3)
    if closed:
        points = np.concatenate([points, points[:sides]])
    rows = len(path) + closed
    return points, grid_faces(rows, sides, closed=True)


def box(centre: np.ndarray, axes: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A box with round edges: ``axes`` (3, 3) in its rows, ``half`` sizes."""
    polar, azimuth = np.linspace(0, np.pi, 13), 2 * np.pi * np.arange(24) / 24
    ball = np.stack([
        np.sin(polar)[:, None] * np.cos(azimuth),
        np.broadcast_to(np.cos(polar)[:, None], (13, 24)),
        np.sin(polar)[:, None] * np.sin(azimuth)
    ], -1)
    square = np.sign(ball) * np.abs(ball)**0.35
    return centre + (square.reshape(-1, 3) * half) @ axes, grid_faces(13, 24, closed=True)


def outward(part: Part) -> Part:
    """The part with its faces turned outward, judged by the volume that they enclose."""
    a, b, c = (part.rest[part.faces[:, corner]] - part.rest.mean(0) for corner in range(3))
    return replace(part, faces=part.faces[:, ::-1]) if (np.cross(a, b) * c).sum() < 0 else part
