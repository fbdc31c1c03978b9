"""The light that reaches the camera through each pixel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapiens2.synth.render.edges import soften
from sapiens2.synth.render.environment import Ambient
from sapiens2.synth.render.shading import shade
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import dot, rows
from sapiens2.synth.render.view import View, pieces
from sapiens2.synth.render.visibility import Sampler, smooth


class Radiance:
    """The light in a view.

    Args:
        view: what is seen.
        rng: of the pattern in which shadows are sampled.
    """

    def __init__(self, view: View, rng: np.random.Generator) -> None:
        self._view = view
        self._lights = view.surroundings.lights
        self._sampler = Sampler(view.caster, rng)
        self._ambient = Ambient(view.surroundings.environment)

    def picture(self) -> np.ndarray:
        """(H, W, 3) float32 linear RGB, with smooth outlines."""
        view = self._view
        arriving = self._arriving(view.surface, view.pixels)
        image = self._behind_everything(view.hits.mesh < 0)
        points = np.arange(len(view.pixels))
        if view.surroundings.catcher:
            catches = view.surface.material == view.catcher
            ground, points = np.flatnonzero(catches), np.flatnonzero(~catches)
            image[view.pixels[ground]] *= self._caught(view.surface.select(ground), arriving[ground])[:, None]
        finish = view.finish
        if view.seen_through is not None:
            # Lenses send on no light of their own; what comes through them is added below.
            finish = replace(finish, albedo=finish.albedo.copy(order='F'))
            finish.albedo[view.seen_through.points] = 0
        for piece in pieces(points):
            image[view.pixels[piece]] = shade(view.surface.select(piece), finish.select(piece), self._ambient,
                                              self._lights, arriving[piece])
        if view.seen_through is not None:
            self._add_seen_through(image)
        return soften(image.reshape(*view.camera.size, 3), view.identity, view.distance, view.camera, view.caster,
                      view.geometry)

    def _arriving(self, surface: Surface, pixels: np.ndarray) -> np.ndarray:
        """(N, 1 + L) share of the light from all around and of each lamp that reaches points seen at ``pixels``."""
        width = self._view.camera.size[1]
        shares = np.full((len(pixels), 1 + len(self._lights)), np.nan, np.float32, order='F')
        # On the surroundings, a checkerboard of pixels is enough: their shadows are wide.
        around = surface.mesh == len(self._view.persons)
        asked = ~around | ((pixels // width + pixels % width) % 2 == 0)
        for piece in pieces(np.flatnonzero(asked)):
            places, normals = rows(surface.lifted, piece), rows(surface.normal, piece)
            tile = self._sampler.tile(pixels[piece], width)
            shares[piece, 0] = self._sampler.ambient(places, normals, tile)
            for i, light in enumerate(self._lights):
                shares[piece, 1 + i] = self._sampler.shadow(places, normals, tile, light)
        return smooth(shares, surface, pixels, self._view.camera.size, around)

    def _behind_everything(self, chosen: np.ndarray) -> np.ndarray:
        """(H * W, 3) what is seen where no surface is, at least at the ``chosen`` pixels (H * W,) bool."""
        view = self._view
        if view.surroundings.backdrop is not None:
            return view.surroundings.backdrop.reshape(-1, 3).astype(np.float32, copy=True)
        image = np.zeros((len(view.rays), 3), np.float32)
        image[chosen] = self._ambient.map.at(view.rays[chosen])
        return image

    def _caught(self, surface: Surface, arriving: np.ndarray) -> np.ndarray:
        """(N,) share of the light without people that the ground receives with them."""
        whole = self._ambient.irradiance(surface.normal).mean(1)
        rest = whole * arriving[:, 0]
        for light, share in zip(self._lights, arriving[:, 1:].T):
            to_light = light.position.astype(np.float32) - surface.position
            distance = np.sqrt(dot(to_light, to_light))
            received = np.maximum(dot(to_light, surface.normal), 0) / distance**3
            received *= float(light.intensity.mean() / np.pi)
            whole += received
            rest += received * share
        return rest / np.maximum(whole, 1e-6)

    def _add_seen_through(self, image: np.ndarray) -> None:
        """Add what is behind lenses to the pixels of an image (H * W, 3)."""
        view, seen = self._view, self._view.seen_through
        pixels = view.pixels[seen.points]
        is_lens = np.zeros(len(view.rays), bool)
        is_lens[pixels] = True
        behind = self._behind_everything(is_lens)[pixels]
        behind[seen.found] = shade(seen.surface, seen.finish, self._ambient, self._lights,
                                   self._arriving(seen.surface, pixels[seen.found]))
        image[pixels] += seen.tint * behind
