"""Whether a photograph is sharp, well lit and little compressed, measured without a network."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.sizes import at_most
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES

_SIDE = 512  # pixels of the longer side, so that figures of large and small pictures compare
_DARK, _BRIGHT = 8, 247
_BLOCK = 8  # of JPEG


@CURATION_STAGES.register_module()
class Quality(Stage):
    """Figures that people agree on more than on beauty; a score of beauty is the work of another stage."""

    inputs = ('picture',)
    outputs = {
        'sharpness': Column('float32', 'logarithm of the variance of the Laplacian (Pech-Pacheco et al., 2000) of the '
                                       'sharpest ninth of the picture, at a longer side of 512 pixels'),
        'clipped': Column('float32', 'share of pixels that are black or white, 0 to 1'),
        'brightness': Column('float32', 'mean grey value, 0 to 1'),
        'colourfulness': Column('float32', 'of Hasler and Suesstrunk (2003); 0 is grey, 100 very colourful'),
        'blockiness': Column('float32', 'steps across the borders of JPEG blocks over those inside; 1 shows none'),
    }

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            record.update(_measured(record['picture']))


def _measured(picture: np.ndarray) -> Record:
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    small = at_most(grey, _SIDE)
    edges = cv2.Laplacian(small, cv2.CV_32F)
    ninths = [part for rows in np.array_split(edges, 3) for part in np.array_split(rows, 3, axis=1) if part.size]
    blue, green, red = (picture[..., channel].astype(np.float32) for channel in range(3))
    red_green, yellow_blue = red - green, (red + green) / 2 - blue
    return {
        'sharpness': float(np.log1p(max(part.var() for part in ninths))),
        'clipped': float(((grey < _DARK) | (grey > _BRIGHT)).mean()),
        'brightness': float(grey.mean() / 255),
        'colourfulness': float(np.hypot(red_green.std(), yellow_blue.std())
                               + 0.3 * np.hypot(red_green.mean(), yellow_blue.mean())),
        'blockiness': _blockiness(grey)}


def _blockiness(grey: np.ndarray) -> float:
    """Steps between pixels on both sides of block borders over those elsewhere, of columns and rows together."""
    values = []
    for turned in (grey, grey.T):
        steps = np.abs(np.diff(turned.astype(np.int16), axis=1)).mean(axis=0)
        at_border = np.arange(1, len(steps) + 1) % _BLOCK == 0
        if at_border.any() and not at_border.all():
            values.append((steps[at_border].mean() + 0.1) / (steps[~at_border].mean() + 0.1))
    return float(np.mean(values)) if values else 1.0
