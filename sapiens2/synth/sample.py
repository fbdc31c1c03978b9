"""One generated sample, and the files it is stored as."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

JPEG_QUALITY = 95
# Folder of each file -> its ending. The picture comes last: a data set lists pictures, so their ground truth is there.
FOLDERS = {'labels': '.png', 'instances': '.png', 'masks': '.png', 'normals': '.png', 'albedos': '.png',
           'depths': '.npz', 'cameras': '.json', 'people': '.json', 'images': '.jpg'}


@dataclass(frozen=True)
class Sample:
    """One picture with its ground truth, pixel centres at integers, camera frame x right, y down, z forward.

    Attributes:
        image: (H, W, 3) uint8 BGR.
        labels: (H, W) uint8, one of the 29 classes.
        instances: (H, W) uint8, 1 for the first of ``people``, 0 for nobody.
        normal: (H, W, 3) float32 unit vectors, zero off people.
        depth: (H, W) float32 metres along the optical axis, zero off people.
        albedo: (H, W, 3) float32 linear RGB in [0, 1], zero off people.
        K: (3, 3) float64, pixels.
        people: of each person plain values: bbox [x, y, w, h] and area, of what is seen of it, pixels; keypoints
            308 [x, y, v], pixels, v 2 seen, 1 hidden, 0 outside the picture; keypoints_3d 308 [x, y, z], metres;
            description of phenotype, pose and clothes.
        scene: what the picture was made of, plain values.
    """

    image: np.ndarray
    labels: np.ndarray
    instances: np.ndarray
    normal: np.ndarray
    depth: np.ndarray
    albedo: np.ndarray
    K: np.ndarray
    people: list[dict[str, Any]]
    scene: dict[str, Any]

    def files(self) -> dict[str, bytes]:
        """Content of the file in each of ``FOLDERS``; the same bytes for the same sample."""
        return {
            'labels': _png(self.labels),
            'instances': _png(self.instances),
            'masks': _png(np.where(self.instances > 0, np.uint8(255), np.uint8(0))),
            'normals': _png(_levels((self.normal + 1) / 2)),
            'albedos': _png(_levels(self.albedo)),
            'depths': _npz(depth=self.depth),
            'cameras': _json({'K': self.K.tolist()}),
            'people': _json({'people': self.people, 'scene': self.scene}),
            'images': cv2.imencode('.jpg', self.image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes(),
        }


def _levels(values: np.ndarray) -> np.ndarray:
    """(H, W, 3) RGB in [0, 1] as 16-bit BGR."""
    return np.rint(np.clip(values[..., ::-1], 0, 1) * np.float32(65535)).astype(np.uint16)


def _png(pixels: np.ndarray) -> bytes:
    return cv2.imencode('.png', np.ascontiguousarray(pixels))[1].tobytes()


def _npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _json(values: Any) -> bytes:
    return json.dumps(values, separators=(',', ':'), allow_nan=False).encode()
