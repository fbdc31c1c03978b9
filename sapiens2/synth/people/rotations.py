"""Rotation matrices. Angles in degrees; axes as everywhere in the people part: x left, y up, z front."""

from __future__ import annotations

import numpy as np


def about(axis: str | np.ndarray, degrees: float) -> np.ndarray:
    """(3, 3) rotation by ``degrees`` about 'x', 'y', 'z' or any (3,) axis, right-handed."""
    vector = np.eye(3)['xyz'.index(axis)] if isinstance(axis, str) else unit(np.asarray(axis, float))
    angle = np.deg2rad(degrees)
    x, y, z = vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def unit(vector: np.ndarray) -> np.ndarray:
    """``vector`` (..., 3) at length 1; a zero vector stays zero."""
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    return vector / np.maximum(length, 1e-12)


def between(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The smallest rotation that turns direction ``source`` to ``target``, both (3,)."""
    source, target = unit(source), unit(target)
    cross = np.cross(source, target)
    if np.linalg.norm(cross) < 1e-9:
        if source @ target > 0:
            return np.eye(3)
        return about(np.cross(source, np.eye(3)[np.abs(source).argmin()]), 180.0)
    return about(cross, angle_between(source, target))


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    """Angle in degrees between two (3,) directions."""
    return float(np.rad2deg(np.arccos(np.clip(unit(first) @ unit(second), -1, 1))))


def frame(down: np.ndarray, front: np.ndarray) -> np.ndarray:
    """The rotation that takes -y to ``down`` and +z as near as possible to ``front``."""
    y = -unit(down)
    z = unit(front - (front @ y) * y)
    return np.stack([np.cross(y, z), y, z], axis=1)


def twist_about_y(rotation: np.ndarray) -> float:
    """The turn about y, in degrees, that is left of ``rotation`` once its swing of -y is taken away."""
    swing = between(np.array([0, -1.0, 0]), rotation @ np.array([0, -1.0, 0]))
    rest = swing.T @ rotation
    return float(np.rad2deg(np.arctan2(rest[0, 2], rest[0, 0])))
