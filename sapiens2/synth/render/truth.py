"""Exact ground truth of a view."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapiens2.synth.render.keypoints import modal_box, see_keypoints
from sapiens2.synth.render.vectors import rows, turned
from sapiens2.synth.render.view import View
from sapiens2.utils.pinhole import unproject


def ground_truth(view: View) -> dict[str, Any]:
    """All fields but the image, see ``render``."""
    camera, size = view.camera, view.camera.size
    points = view.of_people()
    pixels = view.pixels[points]
    rotation = camera.rotation.astype(np.float32)

    def picture(values: np.ndarray) -> np.ndarray:
        result = np.zeros((size[0] * size[1], *values.shape[1:]), values.dtype)
        result[pixels] = values
        return result.reshape(*size, *values.shape[1:])

    depth = picture(view.surface.distance[points] * (view.rays[pixels] @ rotation[2]))
    instance = picture((view.surface.mesh[points] + 1).astype(np.uint8))
    pointmap = unproject(depth, camera.K)
    persons = []
    for number, person in enumerate(view.persons):
        seen, local, visibility = see_keypoints(person, number, camera, view.caster, instance, pointmap)
        mask = instance == number + 1
        persons.append({'keypoints': seen, 'keypoints_3d': local, 'visibility': visibility,
                        'area': int(np.count_nonzero(mask)), 'bbox': modal_box(mask) if mask.any() else None})
    return {'sem_seg': picture(view.surface.label[points].astype(np.uint8)), 'instance': instance, 'mask': instance > 0,
            'depth': depth, 'normal': picture(turned(rows(view.surface.exact, points), rotation)),
            'albedo': picture(rows(view.finish.albedo, points)), 'K': camera.K.copy(), 'persons': persons}
