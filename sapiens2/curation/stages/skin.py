"""The colour of skin as it appears in a picture, measured: for balance, never to say who somebody is."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES

# Points of the mesh in the middle of cheeks and forehead.
_PLACES = (50, 205, 280, 425, 151, 108, 337)
_RADIUS = 0.05  # of discs around them, of the width of the face
# Between these shares of a face's pixels by lightness: not shaded, and no gloss.
_BAND = (0.4, 0.9)
_FEWEST = 30  # pixels
# Least angle, degrees -> name; Chardon, Cretois and Hourseau, "Skin colour typology and suntanning pathways" (1991).
TONES = ((55.0, 'very light'), (41.0, 'light'), (28.0, 'intermediate'), (10.0, 'tan'), (-30.0, 'brown'))
DARKEST = 'dark'


@CURATION_STAGES.register_module()
class SkinTone(Stage):
    """The individual typology angle (ITA) of the largest face: of cheeks and forehead, with CIE L* and b*.

    It is of the light as much as of the skin: exposure, white balance, make-up and shade move it by tens of degrees in
    one person. So it serves to keep a set from lacking a range of appearances, and says nothing of any person.
    """

    inputs = ('picture', 'face_mesh')
    outputs = {
        'skin_ita': Column('float32', 'individual typology angle of the largest face, degrees; large is light; empty '
                                      'without a face, or where it is grey'),
        'skin_tone': Column('string', "bin of Chardon et al.: 'very light', 'light', 'intermediate', 'tan', 'brown', "
                                      "'dark'"),
    }

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            mesh = record['face_mesh']
            angle = None if mesh is None else typology_angle(record['picture'], mesh)
            record['skin_ita'], record['skin_tone'] = angle, None if angle is None else tone(angle)


def tone(angle: float) -> str:
    """Chardon's bin of an angle in degrees."""
    return next((name for least, name in TONES if angle > least), DARKEST)


def typology_angle(picture: np.ndarray, mesh: np.ndarray) -> float | None:
    """Degrees, of a (H, W, 3) uint8 BGR picture and (468, 2) points of a face; None if too little is seen, or grey."""
    skin = np.zeros(picture.shape[:2], dtype=np.uint8)
    radius = max(1, round(_RADIUS * float(np.ptp(mesh[:, 0]))))
    for x, y in np.rint(mesh[list(_PLACES)]).astype(int).tolist():
        cv2.circle(skin, (x, y), radius, 1, -1)
    pixels = picture[skin > 0]
    if len(pixels) < _FEWEST:
        return None
    lab = cv2.cvtColor(pixels[None].astype(np.float32) / 255, cv2.COLOR_BGR2LAB)[0]
    low, high = np.quantile(lab[:, 0], _BAND)
    lightness, _, blue_yellow = np.median(lab[(lab[:, 0] >= low) & (lab[:, 0] <= high)], axis=0)
    if blue_yellow < 1:  # a picture without colour, or blue light: the angle would mean nothing
        return None
    return float(np.degrees(np.arctan2(lightness - 50, blue_yellow)))
