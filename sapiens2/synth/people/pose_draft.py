"""A pose while it is made: trunk, feet and hands are put somewhere, and the bones follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.limbs import Posing, bend_chain, reach_arm, reach_leg
from sapiens2.synth.people.measures import Measures
from sapiens2.synth.people.rotations import about

_SPINE = ('spine05', 'spine04', 'spine03', 'spine02', 'spine01')
_SPINE_SHARES = (0.12, 0.26, 0.26, 0.2, 0.16)
_NECK = ('neck01', 'neck02', 'neck03', 'head')
_NECK_SHARES = (0.25, 0.2, 0.2, 0.35)


@dataclass
class PoseDraft:
    """A pose while a family makes it; ``flip`` exchanges left and right in everything a family says of a side."""

    rng: np.random.Generator
    posing: Posing
    size: Measures
    flip: bool

    def side(self, name: str) -> str:
        """'L' or 'R' for 'a' (the side that leads) or 'b'."""
        return ('L' if name == 'a' else 'R') if not self.flip else ('R' if name == 'a' else 'L')

    def sign(self, name: str) -> float:
        """+1 where the side ``name`` is the person's left."""
        return 1.0 if self.side(name) == 'L' else -1.0

    def normal(self, mean: float, spread: float) -> float:
        """A normal deviate cut at two spreads."""
        return float(mean + spread * np.clip(self.rng.normal(), -2, 2))

    def trunk(self,
              height: float,
              flexion: float = 0.0,
              lean: float = 0.0,
              yaw: float = 0.0,
              shift: float = 0.0,
              forward: float = 0.0,
              pelvis_pitch: float = 0.0) -> None:
        """Place the pelvis at ``height`` (metres) and bend spine and neck; sides follow ``flip``."""
        sign = self.sign('a')
        posing = self.posing
        posing.root = np.array([sign * shift, height, forward])
        posing.set('root', about('y', sign * yaw) @ about('z', sign * self.normal(0, 2)) @ about('x', pelvis_pitch))
        bend_chain(posing, _SPINE, (flexion, sign * lean, -0.5 * sign * yaw + self.normal(0, 6)), _SPINE_SHARES)
        # People keep their eyes near the horizon.
        nod = self.normal(4, 9) - 0.6 * (flexion + pelvis_pitch)
        bend_chain(posing, _NECK,
                   (float(np.clip(nod, -45, 40)), self.normal(-0.5 * sign * lean, 7), self.normal(0, 22)), _NECK_SHARES)

    def leg(self,
            name: str,
            x: float,
            z: float,
            height: float = 0.0,
            yaw: float = 8.0,
            pitch: float = 0.0,
            knee_out: float = 6.0,
            toes: float = 0.0) -> None:
        """Put a foot down: ``x`` outward from the middle, ``z`` to the front, sole ``height`` above the floor, metres.

        ``yaw``: toes outward, ``pitch``: toes down, ``toes``: toes bent up, degrees.
        """
        sign, side = self.sign(name), self.side(name)
        foot = about('y', sign * yaw) @ about('x', pitch)
        skeleton = self.posing.skeleton
        arm = skeleton.head(f'toes.{side}') - skeleton.head(f'foot.{side}')
        ankle = np.array([sign * x, self.size.ankle + height, z])
        if pitch > 0:
            # The heel rises about the ball of the foot.
            flat = np.array([0, arm[1], np.hypot(arm[0], arm[2])])
            ankle += about('y', sign * yaw) @ (flat - about('x', pitch) @ flat)
        reach_leg(self.posing, side, ankle, foot, knee_out)
        if toes:
            self.posing.set(f'toes.{side}', self.posing.turn(f'foot.{side}') @ about('x', -toes))

    def arm(self,
            name: str,
            offset: np.ndarray,
            pole: np.ndarray,
            palm: np.ndarray,
            frame: str = 'spine01',
            origin: str = '',
            wrist: tuple[float, float] = (0, 0)) -> None:
        """Bring the wrist of a side to ``offset`` (x outward) from a joint, all in the frame of the bone ``frame``."""
        side, sign = self.side(name), self.sign(name)
        mirror = np.array([sign, 1.0, 1.0])
        base = self.posing.turn(frame)
        start = self.posing.place(origin or f'upperarm01.{side}')
        jitter = (self.normal(wrist[0], 8), self.normal(wrist[1], 5))
        reach_arm(self.posing, side, start + base @ (mirror * offset), base @ (mirror * pole), base @ (mirror * palm),
                  jitter)
