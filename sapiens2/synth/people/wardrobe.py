"""The clothes of one person, as they are put on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sapiens2.synth.people.garments import Cut, Fit, cut_suit
from sapiens2.synth.people.palette import fabric
from sapiens2.synth.people.parts import Part, label_of
from sapiens2.synth.people.surfaces import Place, Surfaces, place_of
from sapiens2.synth.scene import Material

# Natural logarithm of the ratio of two albedos below which they look alike.
NEAR_SKIN = 0.6
# Distance of two colours' shares of red, green and blue below which tight cloth looks like skin in another light.
SKIN_HUE = 0.15


@dataclass
class Wardrobe:
    """What is put on one body, as it is put on.

    Attributes:
        rng, surfaces, vertices: source of chance; surfaces of the template; the unposed body (V, 3).
        materials: of the person, to which those of clothes are added.
        parts: the clothes; covers: fields that say which skin they hide; names: what is worn, for the manifest.
        tucked: whether the waistband of the lower clothing shows.
    """

    rng: np.random.Generator
    surfaces: Surfaces
    vertices: np.ndarray
    materials: list[Material]
    parts: list[Part] = field(default_factory=list)
    covers: list[Callable[[Place], np.ndarray]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    tucked: bool = False

    @functools.cached_property
    def suit(self) -> Part:
        """The body suit on this body."""
        return self.surfaces.suit.part(self.vertices)

    def material(self, material: Material) -> int:
        """Add a material; returns its index."""
        self.materials.append(material)
        return len(self.materials) - 1

    def fabric(self, patterns: dict[str, float], tight: bool = False) -> int:
        """Add cloth in one of ``patterns`` (name -> share) whose colour nobody takes for the wearer's skin.

        ``tight``: it follows the body closely, so that it must not have the hue of skin either.
        """
        skin = next(material.color for material in self.materials if material.kind == 'skin')
        while True:
            cloth = fabric(self.rng, patterns)
            apart = np.abs(cloth.color / cloth.color.sum() - skin / skin.sum()).max()
            if np.abs(np.log(cloth.color / skin)).max() > NEAR_SKIN and (not tight or apart > SKIN_HUE):
                return self.material(cloth)

    def hide_under(self, cover: Callable[[Place], np.ndarray], margin: float) -> None:
        """Take away what was put on so far where it lies ``margin`` metres or more inside the edge of ``cover``."""
        shown = []
        for part in self.parts:
            depth = cover(place_of(part.base, part.weights))
            shown.append(part.keep_faces((depth[part.faces] < margin).any(1)))
        self.parts = [part for part in shown if len(part.faces)]

    def wear(self,
             name: str,
             cut: Cut,
             fit: Fit,
             label: str,
             material: int,
             below: float = 1.0,
             hanging: bool = True) -> None:
        """Put on a garment cut out of the body suit; ``below``: only its part under this height shows."""
        shown = replace(cut, top=min(cut.top, below))
        self.parts.append(
            cut_suit(self.suit, self.surfaces.suit.place, shown, fit, self.rng, label_of(label), material, hanging))
        self.covers.append(cut.field)
        self.names.append(name)
