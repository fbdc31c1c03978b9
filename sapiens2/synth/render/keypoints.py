"""Key points and boxes as the camera sees them."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.cameras import pixel_rays, project
from sapiens2.synth.render.rays import Caster
from sapiens2.synth.scene import Camera, Person

OUTSIDE, OCCLUDED, VISIBLE = 0, 1, 2
# How far in front of or behind a point on the surface the ray may hit: thin clothes lie over skin.
SURFACE_TOLERANCE = 0.02
# How far behind the surface a point inside the body may be.
INNER_TOLERANCE = 0.15
# Sides of a pixel within which the ground truth shows a visible point, where that is more than 2 cm.
SURFACE_PIXELS = 3
# Within these steps of pixels the ground truth shows a point that is called visible.
_NEAR = np.array([[x, y] for y in range(-2, 3) for x in range(-2, 3) if x * x + y * y <= 4])
# A ray to a point at the outline may just miss it: rays this many pixels beside are tried too.
_BESIDE = 0.25 * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])


def see_keypoints(person: Person, number: int, camera: Camera, caster: Caster, instance: np.ndarray,
                  pointmap: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where a person's key points are and whether they are seen, tested by rays.

    A point outside the picture or behind the camera is outside. A point on the surface is visible if a ray through it,
    or a quarter of a pixel beside it, first hits this person within 2 cm of it. A point inside the body is visible if
    what is hit first is this person, at most 15 cm in front of it or 2 cm behind. All others are occluded; what is more
    than 2 cm behind lenses is, too.

    What is visible is shown by the ground truth, too: one of the pixels at most 2 away is of this person, and for
    points on the surface the pointmap there is within 2 cm, or three pixels' sides where that is more. A lid, a lip or
    an iris that is seen so much from the side that no pixel shows it is occluded.

    Args:
        person: whose points.
        number: index of the person's mesh in the caster.
        camera: pinhole.
        caster: of the whole scene.
        instance: (H, W) uint8, number of the person that each pixel shows plus 1.
        pointmap: (H, W, 3) float32 metres, camera frame.

    Returns:
        (K, 2) float32 pixels (x, y); (K, 3) float32 metres, camera frame; (K,) uint8, 0 outside, 1 occluded, 2 visible.
    """
    points = person.keypoints.astype(np.float64)
    pixels, depth = project(camera, points)
    height, width = camera.size
    inside = ((depth > 0) & (pixels > -0.5).all(1) & (pixels[:, 0] < width - 0.5) & (pixels[:, 1] < height - 0.5))
    visibility = np.where(inside, OCCLUDED, OUTSIDE).astype(np.uint8)
    asked = np.flatnonzero(inside)
    if len(asked):
        rays = pixel_rays(camera, (pixels[asked, None] + _BESIDE).reshape(-1, 2))
        hits, _ = caster.first(np.repeat(camera.position[None], len(rays), 0), rays)
        ahead = np.repeat(np.linalg.norm(points[asked] - camera.position, axis=1), len(_BESIDE)) - hits.distance
        limit = np.where(np.repeat(person.on_surface[asked], len(_BESIDE)), SURFACE_TOLERANCE, INNER_TOLERANCE)
        seen = (hits.mesh == number) & (ahead < limit) & (ahead > -SURFACE_TOLERANCE)
        visibility[asked[seen.reshape(-1, len(_BESIDE)).any(1)]] = VISIBLE
    local = (points - camera.position) @ camera.rotation.T
    shown = np.flatnonzero(visibility == VISIBLE)
    reach = np.maximum(SURFACE_TOLERANCE, SURFACE_PIXELS * local[shown, 2] / camera.K[0, 0])
    reach[~person.on_surface[shown]] = np.inf
    visibility[shown[~_is_shown(pixels[shown], local[shown], reach, instance == number + 1, pointmap)]] = OCCLUDED
    return pixels.astype(np.float32), local.astype(np.float32), visibility


def _is_shown(pixels: np.ndarray, local: np.ndarray, reach: np.ndarray, mask: np.ndarray,
              pointmap: np.ndarray) -> np.ndarray:
    """(n,) whether a pixel of the mask at most 2 away from ``pixels`` (n, 2) shows a point within ``reach`` (n,) metres
    of ``local`` (n, 3)."""
    height, width = mask.shape
    x, y = (np.rint(pixels)[:, None] + _NEAR).astype(int).transpose(2, 0, 1)
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height) & (np.hypot(x - pixels[:, :1], y - pixels[:, 1:]) <= 2)
    x, y = x.clip(0, width - 1), y.clip(0, height - 1)
    apart = np.linalg.norm(pointmap[y, x] - local[:, None], axis=2)
    return (inside & mask[y, x] & (apart <= reach[:, None])).any(1)


def modal_box(mask: np.ndarray) -> np.ndarray:
    """(4,) float32 x0, y0, x1, y1 around the pixels of a mask (H, W); edges, half a pixel outside the centres.

    The mask must have a pixel.
    """
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return np.array([columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5], np.float32)
