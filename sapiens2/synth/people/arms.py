"""What arms do: hang, swing, rest on hips or lap, cross, reach, rise, touch the face, gesture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapiens2.synth.people.limbs import reach_arm
from sapiens2.synth.people.pose_draft import PoseDraft
from sapiens2.synth.people.rotations import unit

_UP = np.array([0, 1.0, 0])


def _hang(draft: PoseDraft, name: str) -> None:
    size = draft.size
    out = np.arctan2(max(size.hip_half + 0.05 - size.shoulder_half, 0.02), size.arm) + np.deg2rad(draft.normal(5, 4))
    bend = np.deg2rad(draft.normal(2, 9))
    length = size.arm * draft.rng.uniform(0.93, 0.99)
    draft.arm(
        name, length *
        np.array([np.sin(out), -np.cos(out) * np.cos(bend), np.sin(bend)]), np.array([0.5, 0, -1.0]),
        np.array([-1.0, 0, draft.normal(-0.5, 0.4)]))


def _swing(draft: PoseDraft, name: str) -> None:
    size = draft.size
    swing = np.deg2rad(draft.normal(-28 if name == 'a' else 30, 8))
    out = np.deg2rad(draft.normal(16, 3))
    length = size.arm * draft.rng.uniform(0.85, 0.97)
    draft.arm(
        name, length *
        np.array([np.sin(out), -np.cos(swing) * np.cos(out), np.sin(swing)]), np.array([0.4, 0, -1.0]),
        np.array([-1.0, 0, -0.3]))


def _akimbo(draft: PoseDraft, name: str) -> None:
    size = draft.size
    draft.arm(name,
              np.array([
                  size.hip_half + draft.normal(0.055, 0.008),
                  draft.normal(0.62, 0.06) * size.hand + 0.05,
                  draft.normal(0.02, 0.015)
              ]),
              np.array([1.0, 0.1, draft.normal(-0.45, 0.2)]),
              np.array([-1.0, -0.5, 0.2]),
              frame='root',
              origin='root',
              wrist=(15, -10))


def _crossed(draft: PoseDraft, name: str) -> None:
    size = draft.size
    over = 0.055 if name == 'a' else 0.0
    draft.arm(name,
              np.array([
                  -0.42 * size.shoulder_half,
                  draft.normal(-0.14, 0.015) + (0.035 if name == 'a' else -0.02), size.chest_front + 0.035 + over
              ]),
              np.array([1.0, -0.9, 0.25]),
              np.array([0, 0.2, -1.0]),
              origin='spine01')


def _raised(draft: PoseDraft, name: str) -> None:
    elevation, plane = np.deg2rad(draft.rng.uniform(115, 168)), np.deg2rad(draft.rng.uniform(5, 75))
    length = draft.size.arm * draft.rng.uniform(0.7, 0.98)
    draft.arm(
        name,
        length * np.array([np.sin(elevation) * np.cos(plane), -np.cos(elevation),
                           np.sin(elevation) * np.sin(plane)]), np.array([1.0, -0.2, -0.3]),
        np.array([draft.normal(0, 0.5), 0, 1.0]))


def _reach(draft: PoseDraft, name: str) -> None:
    elevation, plane = np.deg2rad(draft.rng.uniform(55, 110)), np.deg2rad(draft.rng.uniform(-10, 100))
    length = draft.size.arm * draft.rng.uniform(0.75, 0.99)
    draft.arm(
        name,
        length * np.array([np.sin(elevation) * np.cos(plane), -np.cos(elevation),
                           np.sin(elevation) * np.sin(plane)]), np.array([0.6, -1.0, -0.5]),
        np.array([-0.6, draft.normal(-0.4, 0.7), 0.2]))


def _face(draft: PoseDraft, name: str) -> None:
    size = draft.size
    # Where the fingers go: chin, cheek, ear, brow, in heights of the face from the head's joint.
    spot = draft.rng.integers(4)
    x, y, z = ((0.15, -0.15, 1.12), (0.6, 0.1, 0.95), (0.95, 0.25, 0.2), (0.6, 0.8, 0.9))[spot]
    unit_size = size.head_front
    finger = np.array([x * unit_size, y * unit_size, z * unit_size])
    away = unit(np.array([draft.normal(0.55, 0.15), draft.normal(-0.85, 0.1), draft.normal(0.42, 0.1)]))
    draft.arm(name,
              finger + away * (size.hand * 1.75),
              np.array([1.0, -1.0, draft.normal(0.2, 0.2)]),
              np.array([-0.7, 0.3, -0.8]),
              frame='head',
              origin='head',
              wrist=(10, 0))


def _present(draft: PoseDraft, name: str) -> None:
    size = draft.size
    draft.arm(name,
              np.array([
                  draft.normal(0.02, 0.06), -0.62 * size.arm + draft.normal(0, 0.07),
                  draft.rng.uniform(0.4, 0.62) * size.arm
              ]),
              np.array([0.7, -1.0, -0.9]),
              unit(np.array([draft.normal(-0.7, 0.3), draft.normal(0.2, 0.6), 0])),
              wrist=(-5, 0))


def _behind(draft: PoseDraft, name: str) -> None:
    size = draft.size
    draft.arm(name,
              np.array([size.hip_half * 0.62, 0.06, -size.belly_front * draft.rng.uniform(0.9, 1.1) - 0.06]),
              np.array([1.0, 0.2, -0.7]),
              np.array([0, 0, -1.0]),
              frame='root',
              origin='root')


def _lap(draft: PoseDraft, name: str) -> None:
    size, side = draft.size, draft.side(name)
    hip, knee = draft.posing.place(f'upperleg01.{side}'), draft.posing.place(f'lowerleg01.{side}')
    share = draft.rng.uniform(0.55, 0.85)
    up = draft.posing.turn(f'upperleg01.{side}') @ np.array([0, 0, 1.0])
    target = hip + share * (knee - hip) + up * (1.15 * (size.hip_half - size.hip_gap) + 0.05) + _UP * 0.015
    reach_arm(draft.posing, side, target,
              draft.posing.turn('spine01') @ np.array([draft.sign(name), -0.3, -0.5]), -up, (draft.normal(-5, 6), 0))


ARMS: dict[str, Callable[[PoseDraft, str], None]] = {
    'hang': _hang,
    'swing': _swing,
    'akimbo': _akimbo,
    'crossed': _crossed,
    'raised': _raised,
    'reach': _reach,
    'face': _face,
    'present': _present,
    'behind': _behind,
    'lap': _lap
}
