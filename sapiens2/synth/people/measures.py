"""Lengths of one body that poses need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.skeleton import Skeleton


@dataclass(frozen=True)
class Measures:
    """Lengths of one body that poses need, metres.

    Attributes:
        ankle: height of the ankle above the sole.
        leg, thigh: hip to ankle, hip to knee.
        arm: shoulder to wrist; hand: wrist to knuckles.
        hip_half, hip_gap: half the width of the hips; half the distance of the hip joints.
        shoulder_half: half the distance of the shoulder joints.
        chest_front, belly_front: how far chest and belly stand before the spine's joints.
        head_front: how far the face stands before the head's joint.
    """

    ankle: float
    leg: float
    thigh: float
    arm: float
    hand: float
    hip_half: float
    hip_gap: float
    shoulder_half: float
    chest_front: float
    belly_front: float
    head_front: float


def measure(skeleton: Skeleton, vertices: np.ndarray, weights: np.ndarray) -> Measures:
    """Measure the unposed body; ``vertices`` (V, 3) and ``weights`` (V, B) of its skin only."""

    def length(*names: str) -> float:
        points = [skeleton.head(name) for name in names]
        return float(sum(np.linalg.norm(b - a) for a, b in zip(points, points[1:])))

    def skin_of(*names: str) -> np.ndarray:
        return vertices[weights[:, [skeleton.index(name) for name in names]].sum(1) > 0.5]

    sole = skin_of('foot.L', 'toes.L')[:, 1].min()
    trunk = skin_of('root', 'spine05', 'upperleg01.L')
    chest, belly = skin_of('spine02', 'spine01'), skin_of('root', 'spine05', 'spine04')
    return Measures(ankle=float(skeleton.head('foot.L')[1] - sole),
                    leg=length('upperleg01.L', 'lowerleg01.L', 'foot.L'),
                    thigh=length('upperleg01.L', 'lowerleg01.L'),
                    arm=length('upperarm01.L', 'lowerarm01.L', 'wrist.L'),
                    hand=length('wrist.L', 'finger3-1.L'),
                    hip_half=float(trunk[:, 0].max()),
                    hip_gap=float(skeleton.head('upperleg01.L')[0]),
                    shoulder_half=float(skeleton.head('upperarm01.L')[0]),
                    chest_front=float(chest[:, 2].max() - skeleton.head('spine01')[2]),
                    belly_front=float(belly[:, 2].max() - skeleton.head('spine04')[2]),
                    head_front=float(skin_of('head')[:, 2].max() - skeleton.head('head')[2]))
