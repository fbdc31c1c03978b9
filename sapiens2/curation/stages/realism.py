"""Photograph, or drawing, chart and screenshot: told by how pixels differ from their neighbours.

A photograph has noise and soft edges nearly everywhere; what was drawn by hand or program has flat areas, few colours
and edges one pixel wide. A logistic regression of these figures was fitted to generated people, whose pictures go
through a model of a camera, against drawings that were made of them (``benchmarks/curation_realism.py``). Good
renderings pass: to tell those takes a network.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.sizes import at_most
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES

_SIDE = 384  # pixels of the longer side at which figures are taken
_BITS = 3  # of each channel that make a colour
_FLAT, _STEEP = 2.0, 60.0  # grey values between neighbours
# Figures: see ``figures_of``.
FIGURES = ('flat', 'palette', 'entropy', 'steep', 'thin')
MEANS = (0.5591, 0.8087, 0.5915, 0.1499, 0.6001)
SCALES = (0.1905, 0.1101, 0.2033, 0.1105, 0.2879)
WEIGHTS = (-0.4249, 0.8922, 2.9408, -2.4696, -3.6801)
BIAS = -4.4248


@CURATION_STAGES.register_module()
class Realism(Stage):
    """Whether a picture looks like a photograph."""

    inputs = ('picture',)
    outputs = {'realism': Column('float32', 'probability that it is a photograph, or looks like one, 0 to 1'),
               'flat_share': Column('float32', 'share of pixels that hardly differ from their neighbours, 0 to 1')}

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            figures = figures_of(record['picture'])
            logit = BIAS + float(((figures - MEANS) / SCALES) @ np.array(WEIGHTS))
            record['realism'] = float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))
            record['flat_share'] = float(figures[0])


def figures_of(picture: np.ndarray) -> np.ndarray:
    """(5,) figures of a (H, W, 3) uint8 BGR picture.

    flat: share of pixels whose neighbourhood is flat. palette: share of all pixels in the eight most frequent colours.
    entropy: of the grey values, bits over 8. steep: share of steps between neighbours that are steep, of all that are
    not flat. thin: of the steep ones, those that are done within one pixel.
    """
    picture = at_most(picture, _SIDE)
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    span = cv2.morphologyEx(grey, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).astype(np.float32)
    flat = float((span <= _FLAT).mean())
    codes = (picture >> (8 - _BITS)).astype(np.int64) @ np.array([1, 1 << _BITS, 1 << 2 * _BITS])
    counts = np.sort(np.bincount(codes.ravel()))[::-1]
    histogram = np.bincount(grey.ravel(), minlength=256) / grey.size
    entropy = -(histogram[histogram > 0] * np.log2(histogram[histogram > 0])).sum() / 8
    steps = np.abs(np.diff(grey.astype(np.float32), axis=1))
    steep = steps > _STEEP
    around = np.maximum(np.pad(steps, ((0, 0), (1, 0)))[:, :-1], np.pad(steps, ((0, 0), (0, 1)))[:, 1:])
    return np.array([flat, counts[:8].sum() / counts.sum(), entropy, steep.sum() / max((steps > _FLAT).sum(), 1),
                     (steep & (around < steps / 4)).sum() / max(steep.sum(), 1)])
