"""Eyeballs: spheres that turn with the gaze; irises and pupils are painted on them around their key points."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.parts import Part, label_of
from sapiens2.synth.people.rotations import about
from sapiens2.synth.people.shapes import rigid_part
from sapiens2.synth.people.template import Template

# Of the eyeball's radius: the lids are modelled for an iris of this size.
IRIS, PUPIL = 0.345, 0.13


@dataclass(frozen=True)
class Eye:
    """One eyeball at rest: centre (3,), radius, and the turn (3, 3) from looking ahead to its gaze."""

    centre: np.ndarray
    radius: float
    turn: np.ndarray

    def point(self, clock: float, share: float) -> np.ndarray:
        """(3,) a point of the eyeball, toward ``clock`` (hours, seen from the front) from the middle of the iris.

        ``share``: how far, in radii of the eyeball.
        """
        # Three o'clock is right in the picture: the person's left.
        angle = np.deg2rad(90 - 30 * clock)
        ahead = np.array([share * np.cos(angle), share * np.sin(angle), np.sqrt(1 - share**2)])
        return self.centre + self.radius * self.turn @ ahead


def make_eye(template: Template, vertices: np.ndarray, side: str, gaze: tuple[float, float]) -> Eye:
    """The eyeball of ``side`` ('L' or 'R') in the unposed body ``vertices``; ``gaze``: degrees to the left and up."""
    name = f'{side.lower()}-eye'
    centre = vertices[np.unique(template.groups[f'joint-{name}'])].mean(0).astype(float)
    ball = vertices[np.unique(template.groups[f'helper-{name}'])]
    radius = float(np.linalg.norm(ball - centre, axis=1).mean())
    return Eye(centre, radius, about('y', gaze[0]) @ about('x', -gaze[1]))


@functools.lru_cache(maxsize=1)
def _sphere() -> tuple[np.ndarray, np.ndarray]:
    """Points and faces of a unit sphere, finer around +z, where the eye looks."""
    polar = np.concatenate([np.linspace(0, 0.9, 13), np.linspace(1.0, np.pi, 9)])
    azimuth = 2 * np.pi * np.arange(32) / 32
    sine = np.sin(polar)[:, None]
    points = np.stack(
        [sine * np.cos(azimuth), sine * np.sin(azimuth),
         np.broadcast_to(np.cos(polar)[:, None], (len(polar), 32))], -1).reshape(-1, 3)
    row, column = (index.ravel() for index in np.meshgrid(np.arange(len(polar) - 1), np.arange(32), indexing='ij'))
    after = (column + 1) % 32
    a, b, c, d = row * 32 + column, row * 32 + after, (row + 1) * 32 + after, (row + 1) * 32 + column
    faces = np.concatenate([np.stack([a, c, b], 1), np.stack([a, d, c], 1)])
    corners = points[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return points, faces[area > 1e-9].astype(np.int32)


def eye_part(eye: Eye, head: int, bone_count: int, material: int) -> Part:
    """The eyeball as a part that moves with the bone ``head``."""
    points, faces = _sphere()
    part = rigid_part(eye.centre + eye.radius * points @ eye.turn.T, faces, head, bone_count)
    return part.painted(label_of('Face_Neck'), material)
