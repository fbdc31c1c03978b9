"""Renders people by casting rays: pictures that look like photographs, with exact ground truth."""

from sapiens2.synth.render.framing import sample_camera, sample_shot
from sapiens2.synth.render.photo import Photo, sample_photo
from sapiens2.synth.render.renderer import render
from sapiens2.synth.render.surroundings import sample_surroundings

__all__ = ['Photo', 'render', 'sample_camera', 'sample_photo', 'sample_shot', 'sample_surroundings']
