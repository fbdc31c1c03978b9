"""What tells whether two images are the same: one value for equal files, one for pictures that look alike.

The perceptual hash has the signs of the lowest frequencies of the discrete cosine transform (Zauner, "Implementation
and benchmarking of perceptual image hash functions", 2010). Where imagehash compares with the median, which is nearly
0 for all but the first, this compares with 0: then the hash of the mirrored picture is the hash itself with every
second column turned over, and costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import cv2
import numpy as np

from sapiens2.curation.columns import CONTENT, Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES

# Frequencies along each side, and pixels that they are computed from.
SIDE, PIXELS = 16, 64
# Of each side of a picture, for the second hash; so much more may be cut off a copy.
INNER = 0.03
_BITS = SIDE * SIDE


@CURATION_STAGES.register_module()
class Hashes(Stage):
    """SHA-256 of the file, and perceptual hashes of the picture and of its inner part.

    A copy that was cut a little resembles the inner part of the whole more than the whole.
    """

    inputs = (CONTENT, 'picture')
    outputs = {
        'sha256': Column('binary', 'of the content of the file, 32 bytes'),
        'phash': Column('binary', f'signs of {SIDE} x {SIDE} frequencies, rows from the lowest, {_BITS // 8} bytes'),
        'phash_inner': Column('binary', f'the same without {INNER:.0%} of the picture at each edge'),
    }

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            grey = cv2.cvtColor(record['picture'], cv2.COLOR_BGR2GRAY)
            top, left = (round(side * INNER) for side in grey.shape)
            record['sha256'] = hashlib.sha256(record[CONTENT]).digest()
            record['phash'] = perceptual_hash(grey)
            record['phash_inner'] = perceptual_hash(grey[top:grey.shape[0] - top, left:grey.shape[1] - left])


def perceptual_hash(grey: np.ndarray) -> bytes:
    """Of a (H, W) uint8 picture."""
    small = cv2.resize(grey, (PIXELS, PIXELS), interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.packbits(cv2.dct(small)[:SIDE, :SIDE] > 0).tobytes()


def mirrored(hashes: np.ndarray) -> np.ndarray:
    """Hashes (N, bytes) uint8 of the mirrored pictures: odd frequencies along rows change sign."""
    return hashes ^ np.uint8(0b01010101)


def key_bits(hashes: np.ndarray) -> np.ndarray:
    """(N,) uint64: of hashes (N, bytes) uint8, the signs of the lowest 8 x 8 frequencies, which change least."""
    per_row = SIDE // 8
    return np.ascontiguousarray(hashes[:, 0:8 * per_row:per_row]).view('>u8').ravel().astype(np.uint64)
