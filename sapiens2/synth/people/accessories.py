"""Belts, scarves, ties, watches and bags, and who wears what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapiens2.synth.people.eyes import Eye
from sapiens2.synth.people.garments import ARM_UNIT, neck_ring
from sapiens2.synth.people.headwear import glasses
from sapiens2.synth.people.noise import waves
from sapiens2.synth.people.outfit import WAIST
from sapiens2.synth.people.palette import leather, plain
from sapiens2.synth.people.parts import Part, clip_all, hem, label_of
from sapiens2.synth.people.rotations import about
from sapiens2.synth.people.shapes import box, rigid_part
from sapiens2.synth.people.surfaces import Place
from sapiens2.synth.people.template import Template
from sapiens2.synth.people.wardrobe import Wardrobe


def _band(wardrobe: Wardrobe, fields: list[np.ndarray], lift: float, thickness: float, bumps: float = 0.0) -> Part:
    """A band of the body suit where all ``fields`` (N,) are positive, ``lift`` metres off the skin."""
    part, inside, normals = clip_all(wardrobe.suit, fields)
    folds = waves(part.rest, 0.05, wardrobe.rng, 6, ridged=True) if bumps else np.zeros(len(part.rest))
    height = lift + bumps * folds * np.clip(inside / 0.015, 0, 1)
    return hem(part.with_rest(part.rest + height[:, None] * normals), thickness, normals)


def belt(wardrobe: Wardrobe) -> None:
    """A belt with a buckle."""
    place = wardrobe.surfaces.suit.place
    beside, y = 0.05 - place.arms, place.base[:, 1] - WAIST + 0.012
    fields = [beside, y + 0.019, 0.019 - y]
    strap = wardrobe.material(leather(wardrobe.rng))
    wardrobe.parts.append(_band(wardrobe, fields, 0.024, 0.006).painted(label_of('Apparel'), strap))
    buckle = fields + [0.022 - np.abs(place.base[:, 0]), place.base[:, 2]]
    metal = wardrobe.material(plain(wardrobe.rng, 'metal', np.array([0.55, 0.5, 0.42]), 0.3, 0.6))
    wardrobe.parts.append(_band(wardrobe, buckle, 0.028, 0.006).painted(label_of('Apparel'), metal))
    wardrobe.names.append('belt')


def scarf(wardrobe: Wardrobe) -> None:
    """A scarf around the neck."""
    base = wardrobe.surfaces.suit.place.base
    ring = neck_ring(base)
    fields = [0.13 - np.abs(base[:, 0]), ring + 0.026, 0.05 - ring]
    material = wardrobe.fabric({'knit': 3, 'checks': 2, 'plain': 2, 'stripes': 2})
    wardrobe.parts.append(_band(wardrobe, fields, 0.036, 0.012, 0.004).painted(label_of('Apparel'), material))
    wardrobe.names.append('scarf')


def tie(wardrobe: Wardrobe) -> None:
    """A tie down the front."""
    x, y, z = wardrobe.surfaces.suit.place.base.T
    wide = 0.012 + 0.05 * np.clip((0.5 - y) / 0.5, 0, 1)
    fields = [z, wide - np.abs(x), y - 0.14, 0.527 - y]
    material = wardrobe.fabric({'plain': 3, 'stripes': 3, 'dots': 1})
    wardrobe.parts.append(_band(wardrobe, fields, 0.024, 0.004).painted(label_of('Apparel'), material))
    wardrobe.names.append('tie')


def watch(wardrobe: Wardrobe, template: Template) -> None:
    """A watch on one wrist."""
    rng = wardrobe.rng
    side = 'L' if rng.random() < 0.8 else 'R'
    skin = wardrobe.surfaces.skin
    along = ARM_UNIT * (skin.place.arm[side] - 1.93)
    part, _, normals = clip_all(skin.part(wardrobe.vertices), [along + 0.011, 0.011 - along])
    part = part.with_rest(part.rest + 0.0025 * normals)
    strap = wardrobe.material(leather(rng))
    wardrobe.parts.append(hem(part, 0.002, normals).painted(label_of('Apparel'), strap))
    # The face lies on the back of the wrist: away from the palm, whose side the thumb and the little finger tell.
    centre = part.rest.mean(0)
    rig = {
        name: wardrobe.vertices[np.unique(template.groups[f'joint-{side.lower()}-{cube}'])].mean(0)
        for name, cube in (('wrist', 'hand'), ('middle', 'finger-3-1'), ('fore', 'finger-2-1'), ('little',
                                                                                                 'finger-5-1'))
    }
    along_hand = rig['middle'] - rig['wrist']
    across = rig['fore'] - rig['little']
    back = np.cross(across, along_hand) * (1 if side == 'L' else -1)
    back /= np.linalg.norm(back)
    along_hand = along_hand - (along_hand @ back) * back
    along_hand /= np.linalg.norm(along_hand)
    axes = np.stack([along_hand, back, np.cross(along_hand, back)])
    depth = ((part.rest - centre) @ back).max()
    points, faces = box(centre + (depth + 0.001) * back, axes, np.array([0.017, 0.0045, 0.017]))
    weights = np.repeat(part.weights.mean(0)[None], len(points), 0)
    face = replace(rigid_part(points, faces, 0, weights.shape[1]), weights=weights.astype(np.float32))
    metal = wardrobe.material(
        plain(rng, 'metal', np.asarray(
            ((0.55, 0.55, 0.55), (0.6, 0.42, 0.15), (0.02, 0.02, 0.02))[int(rng.integers(3))]), 0.3, 0.5))
    wardrobe.parts.append(face.painted(label_of('Apparel'), metal))
    wardrobe.names.append('watch')


def shoulder_bag(wardrobe: Wardrobe, lift: float) -> None:
    """A bag at the hip, its strap over the other shoulder; ``lift``: metres that the strap lies off the skin."""
    rng = wardrobe.rng
    sign = 1.0 if rng.random() < 0.5 else -1.0
    place = wardrobe.surfaces.suit.place
    x, y, _ = place.base.T
    high, low = np.array([-0.09 * sign, 0.56]), np.array([0.175 * sign, 0.03])
    along = (low - high) / np.linalg.norm(low - high)
    beside = (x - high[0]) * along[1] - (y - high[1]) * along[0]
    fields = [0.02 - place.arms, beside + 0.015, 0.015 - beside, y]
    of_leather = rng.random() < 0.6
    material = wardrobe.material(leather(rng)) if of_leather else wardrobe.fabric({'plain': 3, 'denim': 1, 'print': 1})
    wardrobe.parts.append(_band(wardrobe, fields, lift, 0.004).painted(label_of('Apparel'), material))
    suit = wardrobe.surfaces.suit
    anchor = int(np.argmin(np.linalg.norm(place.base - np.array([0.15 * sign, -0.02, -0.1]), axis=1)))
    size = np.array([0.05, rng.uniform(0.09, 0.13), rng.uniform(0.1, 0.15)])
    # Behind the hip, where no hanging arm is.
    centre = wardrobe.suit.rest[anchor] + np.array([0.4 * sign * size[0], -0.3 * size[1], -size[0] - lift])
    axes = about('y', sign * 60).T
    points, faces = box(centre, axes, size)
    weights = np.repeat(suit.weights[anchor][None], len(points), 0)
    bag = replace(rigid_part(points, faces, 0, weights.shape[1]), weights=weights)
    wardrobe.parts.append(bag.painted(label_of('Apparel'), material))
    wardrobe.names.append('shoulder bag')


def backpack(wardrobe: Wardrobe, lift: float, template: Template) -> None:
    """A backpack with two straps."""
    rng = wardrobe.rng
    place = wardrobe.surfaces.suit.place
    x, y, z = place.base.T
    material = wardrobe.fabric({'plain': 4, 'camouflage': 0.5, 'checks': 0.3})
    # In front the straps bend under the arms, to the bottom of the bag.
    off = np.abs(x) - 0.092 - np.where(z > 0, 0.8 * np.maximum(0.40 - y, 0), 0)
    fields = [0.2 - place.arms, off + 0.021, 0.021 - off, y - 0.26]
    wardrobe.parts.append(_band(wardrobe, fields, lift, 0.005).painted(label_of('Apparel'), material))
    anchor = int(np.argmin(np.linalg.norm(place.base - np.array([0, 0.36, -0.12]), axis=1)))
    half = np.array([rng.uniform(0.12, 0.16), rng.uniform(0.17, 0.22), rng.uniform(0.06, 0.09)])
    centre = wardrobe.suit.rest[anchor] - np.array([0, 0, half[2] + lift - 0.01])
    points, faces = box(centre, np.eye(3), half)
    wardrobe.parts.append(
        rigid_part(points, faces, template.bone('spine02'), len(template.bones)).painted(label_of('Apparel'), material))
    wardrobe.names.append('backpack')


def accessorize(wardrobe: Wardrobe, template: Template, eyes: dict[str, Eye], child: bool) -> None:
    """Put on some accessories that go with what is worn."""
    rng, names = wardrobe.rng, wardrobe.names
    lift = 0.052 if 'jacket' in names else 0.032
    if rng.random() < 0.24:
        glasses(wardrobe, template, eyes)
    if 'bare chest' not in names:
        draw = rng.random()
        if draw < 0.1 and 'shirt' not in names and 'jacket' not in names:
            scarf(wardrobe)
        elif draw < 0.25 and 'shirt' in names and 'jacket' not in names and not child:
            tie(wardrobe)
        draw = rng.random()
        if draw < 0.07:
            shoulder_bag(wardrobe, lift)
        elif draw < 0.13:
            backpack(wardrobe, lift, template)
    if wardrobe.tucked and 'jacket' not in names and rng.random() < 0.5:
        belt(wardrobe)
    if rng.random() < 0.15 and not _wrists_covered(wardrobe):
        watch(wardrobe, template)


def _wrists_covered(wardrobe: Wardrobe) -> bool:
    """Whether sleeves reach the wrists."""
    place: Place = wardrobe.surfaces.skin.place
    wrist = np.abs(place.arm['L'] - 1.93) < 0.04
    return any((cover(place)[wrist] > 0).any() for cover in wardrobe.covers)
