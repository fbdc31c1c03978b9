"""From where a hand or a foot should go to the turns of the bones on the way: two-bone inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.rotations import about, angle_between, between, frame, twist_about_y, unit
from sapiens2.synth.people.skeleton import DOWN, FRONT, Skeleton, joint_positions

# Degrees; larger ones do not happen in people, so the pose is drawn anew.
MAX_ELBOW, MAX_KNEE = 148.0, 150.0
MAX_PRONATION, MAX_WRIST = 85.0, 55.0


class ImpossiblePose(ValueError):
    """A pose beyond the limits of a joint; whoever drew it draws again."""


@dataclass
class Posing:
    """A pose being made: ``turns`` (B, 3, 3) of every bone from the canonical stance, and the pelvis ``root`` (3,)."""

    skeleton: Skeleton
    turns: np.ndarray
    root: np.ndarray

    @classmethod
    def canonical(cls, skeleton: Skeleton) -> 'Posing':
        """The canonical stance, pelvis at the origin."""
        return cls(skeleton, np.tile(np.eye(3), (len(skeleton.bones), 1, 1)), np.zeros(3))

    def turn(self, name: str) -> np.ndarray:
        """(3, 3) turn of the bone ``name``."""
        return self.turns[self.skeleton.index(name)]

    def set(self, name: str, turn: np.ndarray) -> None:
        """Set the turn of the bone ``name``, and of everything that hangs on it."""
        bone = self.skeleton.index(name)
        change = turn @ self.turns[bone].T
        moved = {bone}
        for child in range(bone + 1, len(self.skeleton.bones)):
            if self.skeleton.parents[child] in moved:
                moved.add(child)
        for index in moved:
            self.turns[index] = change @ self.turns[index]

    def place(self, name: str) -> np.ndarray:
        """(3,) present place of the head of the bone ``name``."""
        return joint_positions(self.skeleton, self.turns, self.root)[self.skeleton.index(name)]


def bend_chain(posing: Posing, names: tuple[str, ...], rotation: tuple[float, float, float],
               shares: tuple[float, ...]) -> None:
    """Bend a chain by (flexion to the front, bend to the left, twist to the left), degrees, split into ``shares``."""
    flexion, bend, twist = rotation
    for name, share in zip(names, shares):
        step = about('y', twist * share) @ about('z', -bend * share) @ about('x', flexion * share)
        posing.set(name, posing.turn(name) @ step)


def _two_bones(start: np.ndarray, target: np.ndarray, pole: np.ndarray, first: float, second: float,
               max_bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Directions of two bones, ``first`` and ``second`` long, from ``start`` to ``target``, bent toward ``pole``."""
    reach = target - start
    distance = np.linalg.norm(reach)
    closest = np.sqrt(first**2 + second**2 + 2 * first * second * np.cos(np.deg2rad(max_bend)))
    if distance < closest:
        raise ImpossiblePose('the target is too near')
    distance = min(distance, 0.998 * (first + second))
    along = unit(reach)
    side = unit(pole - (pole @ along) * along)
    cosine = np.clip((first**2 + distance**2 - second**2) / (2 * first * distance), -1, 1)
    upper = cosine * along + np.sqrt(1 - cosine**2) * side
    return upper, unit(distance * along - first * upper)


def reach_arm(posing: Posing, side: str, target: np.ndarray, pole: np.ndarray, palm: np.ndarray,
              wrist: tuple[float, float]) -> None:
    """Bring a wrist to ``target`` (world), elbow toward ``pole``, the palm toward ``palm`` as far as the forearm turns.

    ``wrist``: flexion toward the palm and deviation toward the thumb, degrees.
    """
    skeleton = posing.skeleton
    shoulder, elbow, hand = (skeleton.head(f'{name}.{side}') for name in ('upperarm01', 'lowerarm01', 'wrist'))
    first, second = np.linalg.norm(elbow - shoulder), np.linalg.norm(hand - elbow)
    chest = posing.turn('spine01')
    outward = chest @ np.array([1.0 if side == 'L' else -1.0, 0, 0])
    upper, fore = _two_bones(posing.place(f'upperarm01.{side}'), target, pole, first, second, MAX_ELBOW)
    # The shoulder blade follows a raised arm.
    elevation = angle_between(upper, chest @ DOWN)
    lift = np.clip((elevation - 40) * 0.25, 0, 28)
    forward = np.clip(20 * (upper @ (chest @ FRONT)), -10, 14)
    sign = 1 if side == 'L' else -1
    posing.set(f'clavicle.{side}', chest @ about('z', sign * lift) @ about('y', -sign * forward))
    upper, fore = _two_bones(posing.place(f'upperarm01.{side}'), target, pole, first, second, MAX_ELBOW)
    if upper @ outward < -0.62 or upper @ (chest @ FRONT) < -0.75:
        raise ImpossiblePose('the upper arm would cross the chest or the back')
    bend = angle_between(upper, fore)
    front = fore if bend > 3 else posing.turn(f'clavicle.{side}') @ FRONT
    arm = frame(upper, front)
    base = chest @ between(DOWN, chest.T @ upper)
    twist = twist_about_y(base.T @ arm)
    if abs(twist) > 105:
        raise ImpossiblePose('the upper arm would be twisted too far')
    posing.set(f'upperarm01.{side}', base @ about('y', 0.5 * twist))
    posing.set(f'upperarm02.{side}', arm)
    forearm = arm @ about('x', -bend)
    posing.set(f'lowerarm01.{side}', forearm)
    # The turn about the forearm that brings the palm, which faces the thigh before it, toward ``palm``.
    wanted = forearm.T @ palm
    turn = np.rad2deg(np.arctan2(sign * wanted[2], -sign * wanted[0]))
    turn = float(np.clip(turn, -MAX_PRONATION, MAX_PRONATION))
    posing.set(f'lowerarm02.{side}', forearm @ about('y', turn / 2))
    flexion, deviation = np.clip(wrist, -MAX_WRIST, MAX_WRIST)
    deviation = np.clip(deviation, -25, 15)
    posing.set(f'wrist.{side}', forearm @ about('y', turn) @ about('z', -sign * flexion) @ about('x', -deviation))


def reach_leg(posing: Posing, side: str, ankle: np.ndarray, foot: np.ndarray, knee_out: float) -> None:
    """Bring an ankle to ``ankle`` (world), the foot turned by ``foot`` (3, 3), the knee ``knee_out`` degrees out."""
    skeleton = posing.skeleton
    hip, knee, heel = (skeleton.head(f'{name}.{side}') for name in ('upperleg01', 'lowerleg01', 'foot'))
    sign = 1 if side == 'L' else -1
    pelvis = posing.turn('root')
    pole = about('y', sign * knee_out) @ (0.35 * pelvis @ FRONT + 0.65 * foot @ FRONT) + pelvis @ (0.4 * FRONT)
    upper, lower = _two_bones(posing.place(f'upperleg01.{side}'), ankle, pole, np.linalg.norm(knee - hip),
                              np.linalg.norm(heel - knee), MAX_KNEE)
    bend = angle_between(upper, lower)
    leg = frame(upper, -lower if bend > 3 else pole)
    in_pelvis = pelvis.T @ upper
    if in_pelvis[2] < -0.5 or sign * in_pelvis[0] > 0.85 or sign * in_pelvis[0] < -0.45 or in_pelvis[1] > 0.45:
        raise ImpossiblePose('the thigh would leave its range')
    base = pelvis @ between(DOWN, in_pelvis)
    twist = twist_about_y(base.T @ leg)
    if abs(twist) > 70:
        raise ImpossiblePose('the thigh would be twisted too far')
    posing.set(f'upperleg01.{side}', base @ about('y', 0.5 * twist))
    posing.set(f'upperleg02.{side}', leg)
    posing.set(f'lowerleg01.{side}', leg @ about('x', bend))
    ankle_turn = posing.turn(f'lowerleg01.{side}').T @ foot
    if angle_between(ankle_turn @ FRONT, FRONT) > 60:
        raise ImpossiblePose('the ankle would bend too far')
    posing.set(f'foot.{side}', foot)


def curl_fingers(posing: Posing, side: str, curls: np.ndarray, spread: float, thumb: tuple[float, float]) -> None:
    """Bend the fingers of a hand.

    Args:
        curls: (4, 3) degrees of flexion of the three joints of fore, middle, ring and little finger.
        spread: degrees between neighbouring fingers.
        thumb: degrees of flexion of its joints, and of its swing toward the palm.
    """
    sign = 1 if side == 'L' else -1
    hand = posing.turn(f'wrist.{side}')
    for row, finger in enumerate(range(2, 6)):
        turn = hand @ about('x', -(1.5 - row) * spread)
        for joint in range(3):
            turn = turn @ about('z', -sign * float(np.clip(curls[row, joint], -8, (88, 105, 75)[joint])))
            posing.set(f'finger{finger}-{joint + 1}.{side}', turn)
    flexion, swing = thumb
    axis = np.array([0.35, sign * -0.8, sign * 0.5])
    turn = hand @ about(np.array([0, sign * 1.0, 0.0]), -swing)
    for joint in range(3):
        turn = turn @ about(axis, sign * float(np.clip(flexion * (0.25, 0.7, 1.0)[joint], -10, 60)))
        posing.set(f'finger1-{joint + 1}.{side}', turn)
