"""Where a person's face and hair are, from key points and mesh, so that albedo can be painted there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.scene import Person

# Further from the middle of the body than this share of the stature, upper clothing is a sleeve.
SLEEVE = 0.115
UPPER_CLOTHING = load_metainfo('seg29')['classes'].index('Upper_Clothing')


@lru_cache(maxsize=1)
def keypoint_index() -> dict[str, int]:
    """Index of each of the 308 key points by name."""
    return {name: i for i, name in enumerate(load_metainfo('sapiens308')['keypoint_names'])}


@dataclass(frozen=True)
class Iris:
    """The coloured part of an eye: centre (3,), two half axes (3,) to the right and upwards, and the pupil's share."""

    centre: np.ndarray
    right: np.ndarray
    up: np.ndarray
    pupil: float


@dataclass(frozen=True)
class Stroke:
    """A line of K points (K, 3) with half widths (K,), metres."""

    points: np.ndarray
    half_widths: np.ndarray


@dataclass(frozen=True)
class Features:
    """What is painted on a person, world frame.

    Attributes:
        irises: of the eyes.
        brows, lashes: lines on the skin.
        blush: (n, 4) places of redder skin and their radii, metres.
        face: (3,) a point of the face.
        size: metres between the eyes.
        stature: metres from top to toe at rest.
        sleeve: metres across the arm and in depth of the middle of the sleeves at rest, see ``across_arm``.
        hair_centre: (3,) rest place of the middle of the head inside the hair.
        hair_turn: (3, 3) rotation from the rest place of the hair to the world.
        hair_color: (3,) linear RGB of hair and brows.
    """

    irises: tuple[Iris, ...]
    brows: tuple[Stroke, ...]
    lashes: tuple[Stroke, ...]
    blush: np.ndarray
    face: np.ndarray
    size: float
    stature: float
    sleeve: tuple[float, float]
    hair_centre: np.ndarray
    hair_turn: np.ndarray
    hair_color: np.ndarray


def find_features(person: Person) -> Features:
    """The features of a person."""
    index = keypoint_index()
    points = person.keypoints.astype(np.float32)

    def at(name: str) -> np.ndarray:
        return points[index[name]]

    hair_centre, hair_turn = _hair_frame(person)
    colors = [material.color for material in person.materials if material.kind == 'hair']
    hair_color = np.asarray(colors[0] if colors else (0.03, 0.02, 0.014), np.float32)
    stature = float(np.ptp(person.mesh.rest[:, 1]))
    sleeve = _middle_of_sleeves(person, stature)
    size = float(np.linalg.norm(at('left_eye') - at('right_eye')))
    irises = tuple(_iris(at, side) for side in 'lr')
    brows = tuple(_brow(at, side) for side in 'lr')
    lashes = tuple(_lash(points, index, side, lid, size) for side in 'lr' for lid in ('upper', 'lower'))
    down = at('tip_of_nose') - at('center_of_nose_root')
    blush = [np.append(at(f'{side}_eye') + 0.75 * down + 0.12 * (at(f'{side}_ear') - at('nose')), 0.5 * size)
             for side in ('left', 'right')]
    blush += [np.append(at('tip_of_nose'), 0.28 * size), np.append(at('left_ear'), 0.5 * size),
              np.append(at('right_ear'), 0.5 * size)]
    blush += [np.append(at(f'{side}_{joint}'), 0.045) for side in ('left', 'right') for joint in ('olecranon', 'knee')]
    blush += [np.append(points[i], 0.014) for name, i in index.items() if name.endswith(('finger3', 'finger2'))]
    return Features(irises, brows, lashes, np.array(blush, np.float32), at('nose'), size, stature, sleeve,
                    hair_centre, hair_turn, hair_color)


def _iris(at: Callable[[str], np.ndarray], side: str) -> Iris:
    centre = at(f'{side}_center_of_iris')
    right = (at(f'{side}_border_of_iris_3') - at(f'{side}_border_of_iris_9')) / 2
    up = (at(f'{side}_border_of_iris_12') - at(f'{side}_border_of_iris_6')) / 2
    pupil = np.linalg.norm(at(f'{side}_border_of_pupil_12') - at(f'{side}_border_of_pupil_6')) / 2
    return Iris(centre, right, up, float(pupil / max(np.linalg.norm(up), 1e-6)))


def _brow(at: Callable[[str], np.ndarray], side: str) -> Stroke:
    names = ['startpoint', 'midpoint_1', 'midpoint_2', 'midpoint_3']
    upper = np.array([at(f'upper_{name}_of_{side}_eyebrow') for name in names])
    lower = np.array([at(f'lower_{name}_of_{side}_eyebrow') for name in names])
    # The numbers of the middle points do not run along the brow, and differ between the sides.
    along = upper.mean(0) - upper[0]
    upper, lower = (line[np.argsort((line - line[0]) @ along)] for line in (upper, lower))
    end = at(f'end_of_{side}_eyebrow')
    half = np.linalg.norm(upper - lower, axis=1) / 2
    return Stroke(np.vstack([(upper + lower) / 2, end]), np.append(half, 0.3 * half[-1]))


def _lash(points: np.ndarray, index: dict[str, int], side: str, lid: str, size: float) -> Stroke:
    line = np.array([points[i] for name, i in index.items()
                     if name.startswith(f'{side}_') and name.endswith(f'of_{lid}_lash_line')])
    inner = points[index[f'{side}_inner_end_of_{lid}_lash_line']]
    outer = points[index[f'{side}_outer_end_of_{lid}_lash_line']]
    line = line[np.argsort((line - inner) @ (outer - inner))]
    width = size * (0.022 if lid == 'upper' else 0.011)
    return Stroke(line, np.linspace(0.5 * width, width, len(line)))


def on_sleeve(rest: np.ndarray, label: np.ndarray, stature: float) -> np.ndarray:
    """(N,) whether points at a rest place (N, 3) with a class (N,) lie on a sleeve."""
    return (np.abs(rest[:, 0]) > SLEEVE * stature) & (label == UPPER_CLOTHING)


def across_arm(rest: np.ndarray) -> np.ndarray:
    """(N,) metres across the arms, which hang at 45 degrees at rest, and upwards; equal for both arms."""
    return (rest[:, 1] + np.abs(rest[:, 0])) * np.float32(np.sqrt(0.5))


def _middle_of_sleeves(person: Person, stature: float) -> tuple[float, float]:
    corners = person.mesh.faces[:, 0]
    place = person.mesh.rest[corners]
    place = place[on_sleeve(place, person.mesh.labels, stature)]
    if not len(place):
        return 0.0, 0.0
    return float(np.median(across_arm(place))), float(np.median(place[:, 2]))


def _hair_frame(person: Person) -> tuple[np.ndarray, np.ndarray]:
    """Middle of the head at rest and rotation to the world, both from the vertices of the hair."""
    of_hair = np.array([material.kind == 'hair' for material in person.materials] or [False])
    mesh = person.mesh
    used = np.unique(mesh.faces[of_hair[mesh.materials]])
    if not len(used):
        return np.zeros(3, np.float32), np.eye(3, dtype=np.float32)
    rest = mesh.rest[used].astype(np.float64)
    top = rest[:, 1].max()
    head = rest[:, 1] > top - 0.2
    rest, world = rest[head], mesh.vertices[used][head].astype(np.float64)
    middle = rest.mean(0)
    left, _, right = np.linalg.svd((world - world.mean(0)).T @ (rest - middle))
    turn = left @ np.diag([1, 1, np.sign(np.linalg.det(left @ right))]) @ right
    return np.array([middle[0], top - 0.1, middle[2]], np.float32), turn.astype(np.float32)
