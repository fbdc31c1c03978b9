"""Pose families: how people stand, sit, walk, reach and hold their arms and hands, each with random detail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapiens2.synth.people.arms import ARMS
from sapiens2.synth.people.hands import draw_hand
from sapiens2.synth.people.limbs import Posing
from sapiens2.synth.people.measures import Measures
from sapiens2.synth.people.pose_draft import PoseDraft
from sapiens2.synth.people.skeleton import Skeleton
from sapiens2.utils.suggest import UnknownNameError, unknown_name


def _arms(draft: PoseDraft, choices: dict[str, float], same: float = 0.45) -> str:
    """Draw what the arms do; with chance ``same`` both do the same. Returns its name."""
    names, weights = list(choices), np.asarray(list(choices.values()))
    first = str(draft.rng.choice(names, p=weights / weights.sum()))
    both = draft.rng.random() < same or first in ('crossed', 'swing')
    second = first if both else str(draft.rng.choice(names, p=weights / weights.sum()))
    if second in ('crossed', 'swing') and second != first:
        second = 'hang' if 'hang' in choices else 'present'
    for name, action in (('b', second), ('a', first)):
        ARMS[action](draft, name)
    return first if first == second else f'{first}+{second}'


def _stand(draft: PoseDraft) -> str:
    size, rng = draft.size, draft.rng
    width, yaw = size.hip_gap * rng.uniform(0.7, 2.0), draft.normal(0, 10)
    draft.trunk(size.ankle + size.leg * rng.uniform(0.96, 0.992) + 0.0,
                flexion=draft.normal(2, 5),
                lean=draft.normal(0, 4),
                yaw=yaw,
                shift=draft.normal(0, 0.25) * width,
                pelvis_pitch=draft.normal(0, 3))
    for name in 'ab':
        draft.leg(name, width, draft.normal(0, 0.05), yaw=draft.normal(9, 6), knee_out=draft.normal(5, 4))
    return _arms(draft, {'hang': 3, 'akimbo': 1, 'crossed': 1, 'present': 1, 'behind': 0.6, 'face': 0.8})


def _reaching(draft: PoseDraft) -> str:
    size, rng = draft.size, draft.rng
    width = size.hip_gap * rng.uniform(0.9, 2.3)
    draft.trunk(size.ankle + size.leg * rng.uniform(0.9, 0.98),
                flexion=draft.normal(6, 10),
                lean=draft.normal(0, 8),
                yaw=draft.normal(0, 14))
    for name, z in (('a', 0.1), ('b', -0.08)):
        draft.leg(name, width, draft.normal(z, 0.05), yaw=draft.normal(12, 7))
    return _arms(draft, {'raised': 2, 'reach': 3, 'face': 0.5, 'hang': 0.6, 'present': 0.5}, same=0.3)


def _walk(draft: PoseDraft) -> str:
    size, rng = draft.size, draft.rng
    stride = size.leg * rng.uniform(0.22, 0.42)
    draft.trunk(size.ankle + size.leg * rng.uniform(0.9, 0.95), flexion=draft.normal(4, 3), yaw=draft.normal(-7, 3))
    draft.leg('a',
              size.hip_gap * rng.uniform(0.4, 0.9),
              stride,
              yaw=draft.normal(5, 3),
              pitch=-draft.rng.uniform(0, 18))
    lift = draft.rng.uniform(25, 48)
    draft.leg('b',
              size.hip_gap * rng.uniform(0.4, 0.9),
              -stride * 0.9,
              yaw=draft.normal(5, 3),
              pitch=lift,
              toes=0.8 * lift)
    return _arms(draft, {'swing': 4, 'present': 0.6, 'face': 0.3, 'reach': 0.3}, same=0.6)


def _sit(draft: PoseDraft) -> str:
    size, rng = draft.size, draft.rng
    seat = size.ankle + (size.leg - size.thigh) * rng.uniform(0.9, 1.04)
    draft.trunk(seat + 0.03,
                flexion=draft.normal(10, 9),
                lean=draft.normal(0, 4),
                yaw=draft.normal(0, 4),
                pelvis_pitch=draft.normal(-8, 6))
    for name in 'ab':
        draft.leg(name,
                  size.hip_gap * rng.uniform(0.9, 2.0),
                  size.thigh * rng.uniform(0.75, 1.2),
                  yaw=draft.normal(6, 6),
                  knee_out=draft.normal(8, 6))
    return _arms(draft, {'lap': 4, 'crossed': 0.6, 'face': 0.8, 'present': 1.0, 'reach': 0.5, 'raised': 0.3})


def _crouch(draft: PoseDraft) -> str:
    size, rng = draft.size, draft.rng
    draft.trunk(size.ankle + size.leg * rng.uniform(0.36, 0.62),
                flexion=draft.normal(28, 10),
                lean=draft.normal(0, 5),
                yaw=draft.normal(0, 8),
                pelvis_pitch=draft.normal(22, 8),
                forward=-size.leg * rng.uniform(0.1, 0.22))
    for name, z in (('a', 0.1), ('b', -0.06)):
        lift = rng.uniform(15, 40) if name == 'b' else 0.0
        draft.leg(name,
                  size.hip_gap * rng.uniform(1.2, 2.2),
                  draft.normal(z, 0.04),
                  yaw=draft.normal(14, 7),
                  knee_out=draft.normal(20, 8),
                  pitch=lift,
                  toes=0.8 * lift)
    return _arms(draft, {'lap': 2, 'reach': 2, 'present': 1, 'face': 0.3})


def _bend(draft: PoseDraft) -> str:
    size, rng = draft.size, draft.rng
    flexion = rng.uniform(20, 50)
    draft.trunk(size.ankle + size.leg * rng.uniform(0.86, 0.96),
                flexion=flexion,
                lean=draft.normal(0, 6),
                yaw=draft.normal(0, 10),
                pelvis_pitch=rng.uniform(10, 35),
                forward=-0.1)
    for name in 'ab':
        draft.leg(name, size.hip_gap * rng.uniform(0.9, 1.8), draft.normal(0, 0.05), yaw=draft.normal(9, 6))
    return _arms(draft, {'reach': 2, 'present': 1.5, 'hang': 1})


FAMILIES: dict[str, tuple[Callable[[PoseDraft], str], float]] = {
    'stand': (_stand, 0.36),
    'reach': (_reaching, 0.18),
    'walk': (_walk, 0.16),
    'sit': (_sit, 0.16),
    'crouch': (_crouch, 0.07),
    'bend': (_bend, 0.07)
}


def draw_pose(rng: np.random.Generator,
              skeleton: Skeleton,
              size: Measures,
              family: str | None = None) -> tuple[Posing, dict]:
    """Draw a pose of the ``family`` (any, if None), and its description.

    Raises:
        ImpossiblePose: if the draw is beyond a joint's limits; draw again.
        UnknownNameError: if there is no such family.
    """
    if family is None:
        shares = np.asarray([share for _, share in FAMILIES.values()])
        family = str(rng.choice(list(FAMILIES), p=shares / shares.sum()))
    if family not in FAMILIES:
        raise UnknownNameError(unknown_name(family, FAMILIES, 'pose family'))
    draft = PoseDraft(rng, Posing.canonical(skeleton), size, bool(rng.integers(2)))
    arms = FAMILIES[family][0](draft)
    hands = {f'hand_{side}': draw_hand(draft, side) for side in 'LR'}
    return draft.posing, {'family': family, 'arms': arms, 'mirrored': draft.flip, **hands}
