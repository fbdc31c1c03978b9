"""Exact ground truth of a view."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapiens2.synth.render.cameras import pixel_grid
from sapiens2.synth.render.keypoints import modal_box, see_keypoints, whole_box
from sapiens2.synth.render.vectors import rows, turned
from sapiens2.synth.render.view import View


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

    depth = view.surface.distance[points] * (view.rays[pixels] @ rotation[2])
    through = np.concatenate([pixel_grid(size)[pixels], np.ones((len(pixels), 1))], 1) @ np.linalg.inv(camera.K).T
    instance = picture((view.surface.mesh[points] + 1).astype(np.uint8))
    pointmap = picture((through * depth[:, None]).astype(np.float32))
    persons = []
    for number, person in enumerate(view.persons):
        seen, local, visibility = see_keypoints(person, number, camera, view.caster, instance, pointmap)
        persons.append({'keypoints': seen, 'keypoints_3d': local, 'visibility': visibility,
                        'bbox': modal_box(instance == number + 1), 'bbox_whole': whole_box(person, camera)})
    return {'sem_seg': picture(view.surface.label[points].astype(np.uint8)), 'instance': instance, 'mask': instance > 0,
            'depth': picture(depth), 'pointmap': pointmap,
            'normal': picture(turned(rows(view.surface.exact, points), rotation)),
            'albedo': picture(rows(view.finish.albedo, points)), 'K': camera.K.copy(), 'persons': persons}
