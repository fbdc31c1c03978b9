"""The looks of points, each painted by its kind of material."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render import eye, fabric, hair, matter, skin
from sapiens2.synth.render.features import Features
from sapiens2.synth.render.finish import Finish, plain
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.scene import Material
from sapiens2.utils.suggest import UnknownNameError, unknown_name


def paint(surface: Surface, materials: Sequence[Material], features: Sequence[Features | None]) -> Finish:
    """The looks of points.

    Args:
        surface: N points.
        materials: those of all meshes, one after the other.
        features: of the person that each material belongs to, None for surroundings.
    """
    whole = Finish.empty(len(surface.mesh))
    order = np.argsort(surface.material, kind='stable')
    present, starts = np.unique(surface.material[order], return_index=True)
    for i, index in zip(present, np.split(order, starts[1:])):
        material = materials[i]
        if material.kind not in PAINTERS:
            raise UnknownNameError(unknown_name(material.kind, PAINTERS, 'kind of material'))
        whole.put(index, PAINTERS[material.kind](surface.select(index), material, features[i]))
    np.clip(whole.albedo, 0.002, 0.95, out=whole.albedo)
    np.clip(whole.roughness, 0.05, 1, out=whole.roughness)
    return whole


def _paint_plain(surface: Surface, material: Material, _: Features | None) -> Finish:
    return plain(material, len(surface.mesh))


PAINTERS = {'skin': skin.paint, 'lip': skin.paint_lip, 'nail': skin.paint_nail, 'tongue': skin.paint_tongue,
            'hair': hair.paint, 'eye': eye.paint, 'fabric': fabric.paint, 'leather': fabric.paint_leather,
            'matter': matter.paint} | dict.fromkeys(('rubber', 'metal', 'lens', 'teeth'), _paint_plain)
