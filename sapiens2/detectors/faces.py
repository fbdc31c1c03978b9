"""Faces and the way they look, by the networks of MediaPipe.

Bazarevsky et al., "BlazeFace: Sub-millisecond neural face detection on mobile GPUs" (2019), in its version for faces up
to 5 m away; Kartynnik et al., "Real-time facial surface geometry from monocular video on mobile GPUs" (2019). They say
where a face is and how the head is turned, never whose it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from sapiens2.detectors.head_pose import angles_of
from sapiens2.detectors.lite import LiteNetwork

_CELLS = 48  # of the detector, along each side
_RIGHT_EYE, _LEFT_EYE = 0, 1  # of the detector's six points; the person's own sides
_OVERLAP = 0.3
# A square around a face for the second network, as it was trained.
_MARGIN = 1.5
# Points of the mesh: the outer corners of the right and the left eye, the top of the forehead, the chin.
_MESH_RIGHT, _MESH_LEFT, _MESH_TOP, _MESH_CHIN = 33, 263, 10, 152


@dataclass(frozen=True)
class Face:
    """A face in a picture.

    Attributes:
        box: (4,) x1, y1, x2, y2, pixels.
        score: 0 to 1, that of the mesh network, which says whether it sees a face.
        pose: (3, 3) how the head is turned, see ``sapiens2.detectors.head_pose``.
        mesh: (468, 2) points of the face, x and y, pixels.
    """

    box: np.ndarray
    score: float
    pose: np.ndarray
    mesh: np.ndarray

    @property
    def angles(self) -> tuple[float, float, float]:
        """Yaw, pitch and roll, degrees, see ``angles_of``."""
        return angles_of(self.pose)


class FaceFinder:
    """Finds faces in whole pictures, and again in their quarters, where they are larger for the network.

    Args:
        threshold: least score of both networks.
        tiles: rows and columns of overlapping tiles that are searched besides the whole.
    """

    def __init__(self, threshold: float = 0.6, tiles: int = 2) -> None:
        self.threshold, self.tiles = threshold, tiles
        self._detector = LiteNetwork('face_detection_full_range')
        self._mesh = LiteNetwork('face_landmark')
        centres = (np.arange(_CELLS) + 0.5) / _CELLS
        self._anchors = np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)

    def __call__(self, picture: np.ndarray) -> list[Face]:
        """Faces in a (H, W, 3) uint8 BGR picture, the largest first."""
        found = [self._detect(picture[top:bottom, left:right], (left, top))
                 for top, bottom, left, right in self._windows(*picture.shape[:2])]
        boxes, points, scores = (np.concatenate(parts) for parts in zip(*found))
        order = np.array(cv2.dnn.NMSBoxes(
            np.column_stack((boxes[:, :2], boxes[:, 2:] - boxes[:, :2])).tolist(), scores.tolist(), 0.0, _OVERLAP)
            if len(boxes) else [], dtype=int).ravel()
        faces = [face for index in order if (face := self._look(picture, boxes[index], points[index])) is not None]
        return sorted(faces, key=lambda face: -(face.box[2] - face.box[0]))

    def _windows(self, height: int, width: int) -> list[tuple[int, int, int, int]]:
        """top, bottom, left, right of the whole and of tiles that overlap by half."""
        windows = [(0, height, 0, width)]
        if self.tiles > 1:
            size = [2 * side // (self.tiles + 1) for side in (height, width)]
            starts = [[round(number * (side - extent) / (self.tiles - 1)) for number in range(self.tiles)]
                      for side, extent in zip((height, width), size)]
            windows += [(top, top + size[0], left, left + size[1]) for top in starts[0] for left in starts[1]]
        return windows

    def _detect(self, picture: np.ndarray, offset: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Boxes (N, 4), points (N, 6, 2) in pixels of the whole picture, and scores (N,)."""
        size = self._detector.size
        if min(picture.shape[:2]) * size <= max(picture.shape[:2]):
            # So narrow that less than a pixel of it is left, or a tile of nothing: no face is in it.
            return np.zeros((0, 4)), np.zeros((0, 6, 2)), np.zeros(0)
        scale = size / max(picture.shape[:2])
        small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA if scale < 1
                           else cv2.INTER_LINEAR)[:size, :size]
        canvas = np.zeros((size, size, 3), dtype=np.float32)
        canvas[:small.shape[0], :small.shape[1]] = small[..., ::-1] / 127.5 - 1
        values, logits = sorted(self._detector(canvas), key=lambda output: -output.shape[-1])
        scores = 1 / (1 + np.exp(-np.clip(logits[:, 0], -80, 80)))
        kept = scores >= self.threshold
        values, anchors = values[kept].reshape(-1, 8, 2) / size, self._anchors[kept]
        centre, extent, points = values[:, 0] + anchors, values[:, 1], values[:, 2:] + anchors[:, None]
        boxes = np.concatenate((centre - extent / 2, centre + extent / 2), axis=1) * size / scale
        return boxes + np.tile(offset, 2), points * size / scale + np.array(offset), scores[kept]

    def _look(self, picture: np.ndarray, box: np.ndarray, points: np.ndarray) -> Face | None:
        """The face in a box by the second network; None if it sees none."""
        size = self._mesh.size
        side = _MARGIN * (box[2:] - box[:2]).max()
        centre = (box[:2] + box[2:]) / 2
        across = points[_LEFT_EYE] - points[_RIGHT_EYE]
        angle = np.degrees(np.arctan2(across[1], across[0]))
        turn = cv2.getRotationMatrix2D(tuple(map(float, centre)), float(angle), size / side)
        turn[:, 2] += size / 2 - centre
        crop = cv2.warpAffine(picture, turn, (size, size), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        mesh, logit = sorted(self._mesh(crop[..., ::-1].astype(np.float32) / 255), key=lambda output: -output.size)
        score = float(1 / (1 + np.exp(-np.clip(logit.ravel()[0], -80, 80))))
        if score < self.threshold:
            return None
        surface = mesh.reshape(-1, 3)
        back = cv2.invertAffineTransform(turn)
        # The network sees the head after it was turned upright in the picture.
        tilt = np.eye(3)
        tilt[:2, :2] = back[:, :2] / np.linalg.norm(back[:, 0])
        return Face(box, score, tilt @ head_pose(surface), surface[:, :2] @ back[:, :2].T + back[:, 2])


def head_pose(mesh: np.ndarray) -> np.ndarray:
    """(3, 3) pose, see ``Face``, of (468, 3) points: x right, y down, z away from the camera."""
    across = mesh[_MESH_LEFT] - mesh[_MESH_RIGHT]
    down = mesh[_MESH_CHIN] - mesh[_MESH_TOP]
    across = across / np.linalg.norm(across)
    down = down - across * (down @ across)
    down = down / np.linalg.norm(down)
    return np.column_stack((across, down, np.cross(across, down)))
