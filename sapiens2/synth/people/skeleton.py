"""Bones of one person: canonical stance, posing, skinning.

Poses are said in the canonical stance: standing upright, arms hanging straight down with the palms to the thighs,
legs and fingers straight. There every bone's axes are x left, y up, z front, so that the same rotation means the same
movement in every body, whatever its rest pose (MakeHuman's has the arms half raised).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.rotations import about, between, frame, twist_about_y, unit
from sapiens2.synth.people.template import Template

DOWN = np.array([0, -1.0, 0])
FRONT = np.array([0, 0, 1.0])


@dataclass(frozen=True)
class Skeleton:
    """Joints of one unposed body.

    Attributes:
        bones, parents: as in ``Template``.
        heads, tips: (B, 3) ends of the bones at rest, metres.
        canonical: (B, 3, 3) rotation of each bone from rest to the canonical stance.
    """

    bones: tuple[str, ...]
    parents: np.ndarray
    heads: np.ndarray
    tips: np.ndarray
    canonical: np.ndarray

    def index(self, name: str) -> int:
        """Index of the bone ``name``."""
        return self.bones.index(name)

    def head(self, name: str) -> np.ndarray:
        """(3,) head of the bone ``name`` at rest."""
        return self.heads[self.bones.index(name)]


def make_skeleton(template: Template, vertices: np.ndarray) -> Skeleton:
    """The skeleton of the unposed body ``vertices`` (V, 3)."""
    heads = np.stack([vertices[index].mean(0) for index in template.joints]).astype(float)
    tips = np.stack([vertices[index].mean(0) for index in template.tips]).astype(float)
    bones = template.bones
    at = {name: heads[i] for i, name in enumerate(bones)}
    tip = {name: tips[i] for i, name in enumerate(bones)}
    canonical = np.tile(np.eye(3), (len(bones), 1, 1))

    def set_canonical(name: str, rotation: np.ndarray) -> None:
        canonical[bones.index(name)] = rotation

    for side in 'LR':
        shoulder, elbow, wrist = (at[f'{name}.{side}'] for name in ('upperarm01', 'lowerarm01', 'wrist'))
        upper, fore = elbow - shoulder, wrist - elbow
        # The rest pose bends the elbow a little: that shows where it bends to.
        arm = frame(upper, unit(fore) - unit(upper)).T
        forearm = between(arm @ fore, DOWN) @ arm
        knuckles = [at[f'finger{finger}-1.{side}'] for finger in range(2, 6)]
        hand = frame(np.mean(knuckles, axis=0) - at[f'wrist.{side}'], knuckles[0] - knuckles[3]).T
        twist = twist_about_y(hand @ forearm.T)
        half = about('y', twist / 2) @ forearm
        for name, rotation in (('upperarm01', arm), ('upperarm02', arm), ('lowerarm01', forearm), ('lowerarm02', half),
                               ('wrist', hand)):
            set_canonical(f'{name}.{side}', rotation)
        for finger in range(1, 6):
            for joint in range(1, 4):
                name = f'finger{finger}-{joint}.{side}'
                # The thumb keeps its rest direction in the hand; the fingers are straightened.
                straight = np.eye(3) if finger == 1 else between(hand @ (tip[name] - at[name]), DOWN)
                set_canonical(name, straight @ hand)
        hip, knee, ankle = (at[f'{name}.{side}'] for name in ('upperleg01', 'lowerleg01', 'foot'))
        thigh, shank, toward = knee - hip, ankle - knee, at[f'toes.{side}'] - ankle
        foot = frame(DOWN, toward).T
        leg = between(foot @ thigh, DOWN) @ foot
        lower = between(foot @ shank, DOWN) @ foot
        for name, rotation in (('upperleg01', leg), ('upperleg02', leg), ('lowerleg01', lower), ('lowerleg02', lower),
                               ('foot', foot), ('toes', foot)):
            set_canonical(f'{name}.{side}', rotation)
    return Skeleton(bones, template.parents, heads, tips, canonical)


def joint_positions(skeleton: Skeleton, turns: np.ndarray, root: np.ndarray) -> np.ndarray:
    """(B, 3) heads of the posed bones.

    ``turns``: (B, 3, 3) of each bone from the canonical stance to the pose, not relative to its parent; ``root``: (3,)
    place of the pelvis.
    """
    whole = turns @ skeleton.canonical
    places = np.zeros_like(skeleton.heads)
    places[0] = root
    for bone in range(1, len(skeleton.bones)):
        parent = skeleton.parents[bone]
        places[bone] = places[parent] + whole[parent] @ (skeleton.heads[bone] - skeleton.heads[parent])
    return places


def transforms(skeleton: Skeleton, turns: np.ndarray, root: np.ndarray) -> np.ndarray:
    """(B, 3, 4) matrices that take a point at rest to the pose; arguments as in ``joint_positions``."""
    whole = turns @ skeleton.canonical
    places = joint_positions(skeleton, turns, root)
    shift = places - np.einsum('bij,bj->bi', whole, skeleton.heads)
    return np.concatenate([whole, shift[..., None]], axis=2)


def skin(points: np.ndarray, weights: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Linear blend skinning: (N, 3) points at rest, (N, B) weights, (B, 3, 4) matrices -> (N, 3) float32."""
    blended = (weights @ matrices.reshape(len(matrices), 12).astype(np.float32)).reshape(-1, 3, 4)
    return np.einsum('nij,nj->ni', blended[..., :3], points.astype(np.float32)) + blended[..., 3]
