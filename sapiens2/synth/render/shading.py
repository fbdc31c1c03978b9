"""Light that surfaces send to the camera: from lamps, from all around, and once reflected by what is near."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render.environment import Ambient
from sapiens2.synth.render.finish import Finish
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import dot, outer, put_rows, rows, unit
from sapiens2.synth.scene import Light

# How far light creeps around skin: red furthest. What the eye reads as skin is the red edge of shadows on it.
CREEP = np.array([0.38, 0.16, 0.10], np.float32)


def shade(surface: Surface, finish: Finish, ambient: Ambient, lights: Sequence[Light],
          arriving: np.ndarray) -> np.ndarray:
    """Radiance of N points.

    Args:
        surface, finish: the points and their looks.
        ambient: light from all around.
        lights: L lamps.
        arriving: (N, 1 + L) share of the light from all around and of each lamp that arrives.

    Returns:
        (N, 3) float32 linear RGB.
    """
    open_share = arriving[:, 0]
    normal = unit(surface.normal + finish.bump)
    alpha = np.maximum(finish.roughness * finish.roughness, 1e-3)
    facing = np.clip(-dot(normal, surface.view), 0.02, 1)
    hairy = np.flatnonzero(dot(finish.strand, finish.strand))
    strands = tuple(rows(part, hairy) for part in (finish.strand, finish.bump, surface.normal, surface.view))
    radiance = finish.albedo * _ambient_light(surface, finish, ambient, normal, open_share)
    radiance += _ambient_gloss(surface, finish, ambient, normal, facing, open_share)
    for light, share in zip(lights, arriving.T[1:]):
        to_light = light.position.astype(np.float32) - surface.position
        square = dot(to_light, to_light)
        to_light *= (1 / np.sqrt(square))[:, None]
        incoming = outer(1 / square, light.intensity)
        cosine = dot(normal, to_light)
        radiance += finish.albedo * incoming * _diffuse(cosine, share, finish.scatter) * np.float32(1 / np.pi)
        gloss = _gloss(surface, finish, normal, to_light, cosine, facing, alpha)
        if len(hairy):
            gloss[hairy] = rows(finish.specular, hairy) * 1.8 * _strand_lobe(strands, to_light, hairy, -0.08, 6)
        radiance += incoming * (gloss * share)[:, None]
        if len(hairy):
            # The second lobe of hair has gone through the strand and taken its colour.
            through = share[hairy] * _strand_lobe(strands, to_light, hairy, 0.12, 3)
            put_rows(radiance, hairy, rows(radiance, hairy)
                     + rows(incoming, hairy) * rows(finish.albedo, hairy) * through[:, None])
    return radiance


def _ambient_light(surface: Surface, finish: Finish, ambient: Ambient, normal: np.ndarray,
                   open_share: np.ndarray) -> np.ndarray:
    """(N, 3) radiance of a white matt surface; closed places are brightened by what their own colour reflects.

    J. Jimenez et al., Practical real-time strategies for accurate indirect occlusion, 2016.
    """
    albedo, share = finish.albedo, open_share[:, None]
    reflected = ((share * (2.0404 * albedo - 0.3324) + (-4.7951 * albedo + 0.6417)) * share
                 + (2.7552 * albedo + 0.6903)) * share
    return ambient.irradiance(normal) * np.maximum(share, reflected)


def _ambient_gloss(surface: Surface, finish: Finish, ambient: Ambient, normal: np.ndarray, facing: np.ndarray,
                   open_share: np.ndarray) -> np.ndarray:
    """(N, 3) reflection of the surroundings, by B. Karis' fit of the split sum (Unreal on mobile, 2014)."""
    rough = finish.roughness
    mirrored = surface.view + (2 * facing)[:, None] * normal
    a = np.minimum((1 - rough)**2, np.exp2(-9.28 * facing)) * (1 - rough) + (-0.0275 * rough + 0.0425)
    scale, bias = -1.04 * a + (-0.572 * rough + 1.04), 1.04 * a + (0.022 * rough - 0.04)
    # Strands reflect to all sides around them, so that a surface of hair has no bright rim.
    amount = finish.specular * scale
    amount = np.where(dot(finish.strand, finish.strand) > 0, 0.5 * amount, amount + bias)
    return ambient.reflection(mirrored, rough) * (np.maximum(amount, 0) * open_share * open_share)[:, None]


def _diffuse(cosine: np.ndarray, share: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """(N, 3) share of a lamp's light that a matt surface sends on; skin lets it creep around, red the furthest."""
    if not scatter.any():
        return (np.maximum(cosine, 0) * share)[:, None]
    creep = outer(scatter, CREEP)
    around = np.maximum((cosine[:, None] + creep) / (1 + creep), 0)
    # Where the light creeps, it also creeps into cast shadows: their half-lit rim turns red.
    rim = (share * (1 - share))[:, None] * creep
    # Between around and its square, the more the light creeps: the wrapped cosine sends on no more than the plain one.
    return around * (1 + creep * (around - 1)) * (share[:, None] + rim)


def _gloss(surface: Surface, finish: Finish, normal: np.ndarray, to_light: np.ndarray, cosine: np.ndarray,
           facing: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """(N,) GGX reflection of a lamp: B. Walter et al., 2007, with Schlick's Fresnel and a cheap visibility term."""
    half = unit(to_light - surface.view)
    along = np.clip(dot(normal, half), 0, 1)
    square = alpha * alpha
    spread = along * along * (square - 1) + 1
    lobe = square / (np.pi * spread * spread)
    miss = 1 - np.clip(dot(to_light, half), 0, 1)
    fresnel = finish.specular + (1 - finish.specular) * miss**5
    sun = np.maximum(cosine, 0)
    k = 0.5 * alpha
    masking = 1 / ((facing * (1 - k) + k) * (np.maximum(sun, 1e-3) * (1 - k) + k))
    return np.minimum(lobe, 60) * fresnel * masking * (0.25 * sun)


def _strand_lobe(strands: tuple[np.ndarray, ...], to_light: np.ndarray, index: np.ndarray, shift: float,
                 doublings: int) -> np.ndarray:
    """(n,) J. Kajiya and T. Kay's highlight of hair (1989), strands tilted along the normal by ``shift``.

    Args:
        strands: direction, bump, normal and view (n, 3) each of the points ``index`` that are hair.
        to_light: (N, 3) of all points.
        index: (n,).
        shift: tangent of the tilt.
        doublings: how often the lobe is squared.
    """
    strand, bump, normal, view = strands
    to_light = rows(to_light, index)
    tilted = unit(strand + (shift + 0.5 * dot(bump, normal))[:, None] * normal)
    along = dot(tilted, unit(to_light - view))
    lobe = np.maximum(1 - along * along, 0)
    for _ in range(doublings):
        lobe = lobe * lobe
    return lobe * np.clip(dot(normal, to_light) * 1.4 + 0.2, 0, 1) * np.float32(0.25)
