"""Whether a posed body runs into itself: limbs as capsules, trunk and head as ellipsoids, measured at rest."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.skeleton import Skeleton
from sapiens2.synth.people.template import SKIN_COUNT, load_template

# Metres by which soft parts may overlap before a pose is drawn anew.
TOLERANCE = 0.015
_TRUNK = (('root', ), ('spine05', 'spine04'), ('spine03', ), ('spine02', 'spine01'), ('head', ))
# Limbs as chains of joints between which capsules lie; the last entry is a bone whose tip ends the chain.
_ARM = ('upperarm02', 'lowerarm01', 'lowerarm02', 'wrist', 'finger3-1', 'finger3-3')
_LEG = ('upperleg01', 'upperleg02', 'lowerleg01', 'lowerleg02', 'foot', 'toes')


@dataclass(frozen=True)
class CollisionBody:
    """Simple shapes of one unposed body.

    Attributes:
        bone: (E,) bone that each ellipsoid moves with.
        centre, half: (E, 3) its centre and half axes at rest, along the axes of the body.
        radius: (B,) radius of each limb bone.
    """

    bone: np.ndarray
    centre: np.ndarray
    half: np.ndarray
    radius: np.ndarray


@functools.lru_cache(maxsize=1)
def _owned() -> tuple[np.ndarray, ...]:
    """Of each bone the vertices of the skin that it moves most."""
    weights = load_template().weights[:SKIN_COUNT]
    owner = weights.argmax(1)
    return tuple(np.flatnonzero(owner == bone) for bone in range(weights.shape[1]))


def make_collision_body(skeleton: Skeleton, vertices: np.ndarray) -> CollisionBody:
    """Measure the unposed body ``vertices`` (V, 3)."""
    groups = _owned()
    bones, centres, halves = [], [], []
    for names in _TRUNK:
        own = vertices[np.concatenate([groups[skeleton.index(name)] for name in names])]
        # Fringes of a bone's skin, such as the collar, would make the ellipsoid too large.
        low, high = np.percentile(own, 1.5, axis=0), np.percentile(own, 98.5, axis=0)
        bones.append(skeleton.index(names[-1]))
        centres.append((low + high) / 2)
        halves.append((high - low) / 2 * (1.0, 1.25, 1.0))
    radius = np.zeros(len(skeleton.bones))
    for bone in range(len(skeleton.bones)):
        own = vertices[groups[bone]]
        if len(own):
            axis = skeleton.tips[bone] - skeleton.heads[bone]
            along = np.clip((own - skeleton.heads[bone]) @ axis / max(axis @ axis, 1e-9), 0, 1)
            radius[bone] = np.percentile(np.linalg.norm(own - skeleton.heads[bone] - along[:, None] * axis, axis=1), 60)
    return CollisionBody(np.asarray(bones), np.stack(centres), np.stack(halves), radius)


def _samples(skeleton: Skeleton,
             matrices: np.ndarray,
             names: tuple[str, ...],
             side: str,
             count: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Bones (n,) and posed points (n, 3) along a limb."""
    bones = np.repeat([skeleton.index(f'{name}.{side}') for name in names], count)
    share = np.tile((np.arange(count) + 0.5) / count, len(names))[:, None]
    rest = (1 - share) * skeleton.heads[bones] + share * skeleton.tips[bones]
    return bones, np.einsum('nij,nj->ni', matrices[bones, :, :3], rest) + matrices[bones, :, 3]


def penetration(body: CollisionBody, skeleton: Skeleton, matrices: np.ndarray) -> float:
    """The largest depth in metres by which arms run into trunk, head, legs or each other, and legs into each other.

    Upper arms against the chest and thighs against the belly are left out: there skin touches in every pose.
    """
    limbs = {
        name: _samples(skeleton, matrices, chain, name[-1])
        for name, chain in (('arm.L', _ARM), ('arm.R', _ARM), ('leg.L', _LEG), ('leg.R', _LEG))
    }
    deepest = 0.0
    for side in 'LR':
        bones, points = limbs[f'arm.{side}']
        free = bones != skeleton.index(f'upperarm02.{side}')
        bones, points = bones[free], points[free]
        for bone, centre, half in zip(body.bone, body.centre, body.half):
            # Back to rest, where the ellipsoid's axes are the body's.
            local = (points - matrices[bone, :, 3]) @ matrices[bone, :, :3] - centre
            grown = half + body.radius[bones][:, None]
            inside = 1 - np.linalg.norm(local / grown, axis=1)
            deepest = max(deepest, float((inside * grown.min(axis=1)).max()))
    for first, second in (('arm.L', 'arm.R'), ('arm.L', 'leg.L'), ('arm.L', 'leg.R'), ('arm.R', 'leg.L'),
                          ('arm.R', 'leg.R'), ('leg.L', 'leg.R')):
        (bones_a, points_a), (bones_b, points_b) = limbs[first], limbs[second]
        distance = np.linalg.norm(points_a[:, None] - points_b[None], axis=2)
        depth = body.radius[bones_a][:, None] + body.radius[bones_b][None] - distance
        if first[:3] == second[:3] == 'leg':
            # The insides of the thighs meet near the crotch.
            high = skeleton.index('upperleg01.L'), skeleton.index('upperleg01.R')
            depth[np.ix_(bones_a == high[0], bones_b == high[1])] = 0
        deepest = max(deepest, float(depth.max()))
    return deepest
