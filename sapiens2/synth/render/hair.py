"""Hair: strands from the crown downwards, told apart by colour and by the way they bend the light."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.features import Features
from sapiens2.synth.render.finish import Finish, plain
from sapiens2.synth.render.noise import noise, smoothstep
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import cross, dot, outer, turned, unit
from sapiens2.synth.scene import Material

STRAND = 0.0014
LOCK = 0.009


def paint(surface: Surface, material: Material, features: Features) -> Finish:
    """Hair; ``colors`` of any pattern but 'plain' are highlights in single locks."""
    part = plain(material, len(surface.mesh))
    away = surface.rest - features.hair_centre
    around = away.copy()
    around[:, 1] = 0
    # Strands lie in planes through the vertical axis of the head: place them by azimuth, on a circle of 10 cm.
    circle = 0.1 * unit(around)
    circle[:, 1] = 0.05 * surface.rest[:, 1]
    bent = circle + 0.004 * noise(surface.rest, 0.05, material.seed + 3)[:, :3]
    strand = noise(bent, STRAND, material.seed) * smoothstep(0.0035, 0.0008, surface.footprint)[:, None]
    lock = noise(bent, LOCK, material.seed + 1)
    tone = np.exp(0.5 * strand[:, 0] + 0.3 * lock[:, 0])
    part.albedo *= tone[:, None]
    if material.pattern != 'plain' and len(material.colors):
        light = smoothstep(0.0, 0.5, lock[:, 1])[:, None]
        part.albedo += light * (outer(tone, material.colors[0]) - part.albedo)
    radial = unit(away)
    down = radial[:, 1:2] * radial - np.array([0, 1, 0], np.float32)
    along = turned(unit(down + 0.12 * lock[:, 1:4] + 0.1 * strand[:, 1:4]), features.hair_turn)
    along -= dot(along, surface.normal)[:, None] * surface.normal
    part.strand[:] = unit(along)
    across = cross(surface.normal, part.strand)
    part.bump[:] = (0.35 * strand[:, 2] + 0.35 * lock[:, 2])[:, None] * across
    # Locks shine one by one; a highlight without gaps looks like plastic.
    part.specular *= np.clip(0.55 + 0.7 * lock[:, 3] + 0.35 * strand[:, 3], 0.1, 1.2)
    part.scatter[:] = 0.25
    return part
