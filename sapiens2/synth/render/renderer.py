"""Pictures of people with exact ground truth, by casting rays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from sapiens2.synth.render.photo import Photo, defocus, develop
from sapiens2.synth.render.radiance import Radiance
from sapiens2.synth.render.truth import ground_truth
from sapiens2.synth.render.view import View
from sapiens2.synth.scene import Camera, Person, Surroundings


def render(persons: Sequence[Person], camera: Camera, surroundings: Surroundings, rng: np.random.Generator,
           photo: Optional[Photo] = None) -> dict[str, Any]:
    """A photograph of people and everything about it that can be known.

    Ground truth is taken at pixel centres, from the same rays as the picture, without antialiasing. Of the
    surroundings only the picture shows anything: labels, instances, depth and the rest are 0 there.

    Args:
        persons: at most 255.
        camera: pinhole, at integer pixel centres.
        surroundings: lights and everything but the people.
        rng: of the sampling pattern and the sensor noise; the same state gives the same bytes.
        photo: how the picture is taken, None for sharp and without noise.

    Returns:
        Dictionary of

        - 'image': (H, W, 3) uint8 sRGB.
        - 'sem_seg': (H, W) uint8, the 29 classes. Lenses of glasses are Eyeglass.
        - 'instance': (H, W) uint8, 1 for the first person and so on, 0 for none.
        - 'mask': (H, W) bool, the people.
        - 'depth': (H, W) float32 metres along the optical axis, of the round surface that the triangles and their
          normals stand for: at most 3 mm from them along the ray, mostly far less, so that normals and depth agree.
        - 'normal': (H, W, 3) float32 unit vectors, camera frame, of that same round surface, on the camera's side; the
          bumps that the shading adds for cloth, pores and hair are not part of it.
        - 'albedo': (H, W, 3) float32 linear RGB. Through lenses it is that of what is behind, tinted.
        - 'K': (3, 3) float64.
        - 'persons': list of one dictionary a person with 'keypoints' (K, 2) float32 pixels, 'keypoints_3d' (K, 3)
          float32 metres in the camera frame, 'visibility' (K,) uint8 (0 outside, 1 occluded, 2 visible, see
          ``see_keypoints``), 'area' in pixels of what is seen and 'bbox' (4,) float32 x0, y0, x1, y1 around it, None
          for nothing.

    Raises:
        ValueError: there are more than 255 people.
    """
    if len(persons) > 255:
        raise ValueError(f'instance ids are 8-bit: at most 255 people fit in a picture, there are {len(persons)}')
    photo = photo or Photo()
    view = View(persons, camera, surroundings)
    truth, radiance = ground_truth(view), Radiance(view, rng).picture()
    if photo.aperture:
        radiance = defocus(radiance, view.distance, truth['mask'], photo.aperture)
    return {'image': develop(radiance, truth['mask'], photo, rng), **truth}
