"""Clothes: cut out of the body suit and the skirt of the helper geometry, lifted off the skin, wrinkled, hemmed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.noise import waves
from sapiens2.synth.people.parts import Part, clip_all, hem
from sapiens2.synth.people.surfaces import Place, Surfaces, place_of

# Metres per unit of the places along arms and legs on the template, so that fields are about metres.
ARM_UNIT, LEG_UNIT = 0.25, 0.42
Field = Callable[[Place], np.ndarray]


@dataclass(frozen=True)
class Cut:
    """How a garment is cut; lengths in places along limbs and heights (metres) on the template's body.

    Attributes:
        bottom, top: heights between which it lies; the feet are at -0.84, the crotch at -0.06, the waist at 0.12, the
            pit of the neck at 0.55.
        sleeve: place along the arms where it ends (0 shoulder, 1 elbow, 2 wrist).
        leg: place along the legs where it ends (0 hip, 1 knee, 2 ankle).
        neck: 'crew', 'scoop', 'vee', 'high', 'straps' or 'none'; depth: of the neck line, metres.
        open_front: half the width of a gap down the front, metres; 0 for none.
    """

    bottom: float = -1.0
    top: float = 1.0
    sleeve: float = 9.0
    leg: float = 9.0
    neck: str = 'none'
    depth: float = 0.0
    open_front: float = 0.0

    def fields(self, place: Place) -> list[np.ndarray]:
        """Fields (N,) that are all positive inside the garment, about the distances to its edges in metres."""
        x, y, z = place.base.T
        arms = place.arms
        # Hands hang lower than the hem of a shirt; only the trunk and the legs count for heights.
        trunk = np.clip(1 - 6 * np.maximum(arms, 0), 0, 1)
        found = [
            np.where(trunk > 0, y - self.bottom, 1) + (1 - trunk), self.top - y, ARM_UNIT * (self.sleeve - arms),
            LEG_UNIT * (self.leg - place.legs)
        ]
        if self.neck != 'none':
            found += _neck(self, place.base)
        if self.open_front:
            found.append(np.maximum(np.abs(x) - self.open_front, 0.02 - z))
        return found

    def field(self, place: Place) -> np.ndarray:
        """(N,) the least of ``fields``."""
        return np.min(self.fields(place), axis=0).astype(np.float32)


def neck_ring(base: np.ndarray) -> np.ndarray:
    """(N,) metres below the ring where the neck leaves the trunk, lower in front; high on the shoulders."""
    x, y, z = base.T
    return 0.578 - 0.5 * z - y + 5 * x**2


def _neck(cut: Cut, base: np.ndarray) -> list[np.ndarray]:
    """Fields that are positive below the neck line."""
    x, y, z = base.T
    ring = neck_ring(base)
    if cut.neck == 'high':
        return [ring + 0.05]
    # Behind the shoulders the hole of the front fades.
    behind = 0.1 * (1 - np.clip(z / 0.03, 0, 1)) + np.where(z > 0, 0, 1)
    if cut.neck == 'scoop':
        return [ring, 0.09 * (np.hypot(x / 0.085, (y - 0.56) / (0.045 + cut.depth)) - 1) + behind]
    if cut.neck == 'vee':
        return [ring, np.abs(x) - 0.5 * (y - 0.535 + cut.depth) + behind]
    if cut.neck == 'straps':
        return [
            ring, 0.09 * (np.hypot(x / 0.085, (y - 0.575) / (0.06 + cut.depth)) - 1),
            0.135 - np.abs(x) + 0.8 * np.maximum(0.46 - y, 0)
        ]
    return [ring]


@dataclass(frozen=True)
class Fit:
    """How a garment sits, metres: ``gap`` off the skin, looseness toward its edges, depth of wrinkles, thickness."""

    gap: float = 0.006
    loose: float = 0.01
    wrinkle: float = 0.003
    thickness: float = 0.004


def _worn(part: Part, field: np.ndarray, normals: np.ndarray, fit: Fit, rng: np.random.Generator,
          hanging: bool) -> Part:
    """Lift a cut part off the skin and wrinkle it."""
    place = place_of(part.base, part.weights)
    # Cloth is tight at the shoulders and hangs off below; along limbs it is loosest at the far end.
    limb = np.clip(np.maximum(place.arms, place.legs), 0, 2) / 2
    # At the waist trousers are narrow, so that a shirt fits over them.
    waist = np.ones(len(part.rest)) if hanging else np.clip(0.15 + 3 * limb, 0, 1)
    hang = np.clip((0.50 - part.base[:, 1]) / 0.5, 0, 1) * (place.arms < 0.05)
    lift = fit.gap + fit.loose * waist * np.maximum(0.35 + 0.65 * limb, hang if hanging else 0.3 * hang)
    # Long folds: across limbs, slanting over the trunk.
    folds = waves(part.rest, 0.16, rng, 6,
                  (1.0, 0.5, 1.0), ridged=True) + 0.4 * waves(part.rest, 0.07, rng, 5, (0.7, 1.2, 0.7))
    edge = np.clip(field / 0.04, 0.25, 1)
    lift = lift + fit.wrinkle * edge * waist * np.clip(folds, -1.2, 2.0)
    # Wrinkles never reach the skin.
    lift = np.maximum(lift, 0.5 * fit.gap)
    return hem(part.with_rest(part.rest + lift[:, None] * normals), fit.thickness, normals)


def cut_suit(suit: Part,
             place: Place,
             cut: Cut,
             fit: Fit,
             rng: np.random.Generator,
             label: int,
             material: int,
             hanging: bool = True) -> Part:
    """A garment cut out of the body suit, whose points lie at ``place``; ``hanging``: it hangs off the chest."""
    part, field, normals = clip_all(suit, cut.fields(place))
    return _worn(part, field, normals, fit, rng, hanging).painted(label, material)


def cut_skirt(surfaces: Surfaces, vertices: np.ndarray, bottom: float, top: float, flare: float, fit: Fit,
              rng: np.random.Generator, label: int, material: int) -> Part:
    """A skirt from height ``top`` down to ``bottom``, on the template; ``flare`` scales its width below the hips."""
    sheet = surfaces.skirt
    place = sheet.place
    part = sheet.part(vertices)
    below = np.clip((0.0 - place.base[:, 1]) / 0.75, 0, 1)
    # The axis of the skirt: the middle of the body at each height.
    centre = part.rest.mean(0) * (1, 0, 1) + part.rest * (0, 1, 0)
    wide = centre + (part.rest - centre) * (1 +
                                            (flare - 1) * below)[:, None] * (1, 0, 1) + (part.rest - centre) * (0, 1, 0)
    angle = np.arctan2(part.rest[:, 0] - centre[:, 0], part.rest[:, 2] - centre[:, 2])
    pleats = np.sin(angle * int(rng.integers(7, 15)) + rng.uniform(0, 6) + 1.5 * np.sin(2 * angle + rng.uniform(0, 6)))
    outward = (part.rest - centre) * (1, 0, 1)
    outward /= np.maximum(np.linalg.norm(outward, axis=1, keepdims=True), 1e-6)
    wide = wide + outward * (0.022 * below * max(flare, 0.8) * pleats)[:, None]
    cut, field, normals = clip_all(part.with_rest(wide), [place.base[:, 1] - bottom, top - place.base[:, 1]])
    worn = _worn(cut, field, normals, fit, rng, False)
    return worn.painted(label, material)


def cover_depth(place: Place, covers: list[Field]) -> np.ndarray:
    """(N,) how many metres inside the edge of a garment points at ``place`` lie; negative where none covers them."""
    return np.max([cover(place) for cover in covers], axis=0) if covers else np.full(len(place.base), -1.0)


def collar(suit: Part, place: Place, label: int, material: int, gap: float) -> Part:
    """A standing collar: a band around the neck that leans outward, ``gap`` metres off the skin."""
    x, _, z = place.base.T
    ring = neck_ring(place.base)
    fields = [0.01 - ring, ring + 0.05, 0.11 - np.abs(x), np.maximum(np.abs(x) - 0.012, 0.03 - z)]
    part, _, normals = clip_all(suit, fields)
    rise = np.clip(-neck_ring(part.base) / 0.05, 0, 1)
    lifted = part.rest + (gap + 0.010 * np.sin(np.pi * rise))[:, None] * normals
    return hem(part.with_rest(lifted), 0.004, normals).painted(label, material)
