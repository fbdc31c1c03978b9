"""How a head is turned: one way to write it down, and networks that tell.

A pose is a rotation matrix in the project's camera frame (x right, y down, z away from the camera): its columns are the
head's axes, from its right eye to its left one, from the forehead to the chin, and from the face to the back of the
head. The identity looks straight into the camera. Perspective is left out, so this holds for a head in the middle of
the picture; elsewhere the pose is relative to the line of sight to the head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import Optional, Union

import cv2
import numpy as np

from sapiens2.detectors.onnx_file import OnnxNetwork
from sapiens2.registry import DETECTORS
from sapiens2.utils.suggest import unknown_name

_MEAN, _STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
# Axes that 300W-LP turns round, to the project's.
_FLIP = np.diag([1.0, -1.0, -1.0])
ORDERS = ('yaw', 'pitch', 'roll')


def angles_of(rotation: np.ndarray) -> tuple[float, float, float]:
    """Yaw, pitch and roll, degrees, of a (3, 3) pose: it is roll, then pitch, then yaw.

    Yaw is 0 for a face that looks at the camera, and positive if it looks to the right of the picture; pitch is
    positive upwards; roll is positive clockwise in the picture. Yaw and roll are within 180, pitch within 90.
    """
    return (float(np.degrees(np.arctan2(-rotation[0, 2], rotation[2, 2]))),
            float(np.degrees(np.arcsin(np.clip(rotation[1, 2], -1, 1)))),
            float(np.degrees(np.arctan2(rotation[1, 0], rotation[1, 1]))))


def rotation_of(yaw: float, pitch: float, roll: float) -> np.ndarray:
    """(3, 3) pose with these angles, degrees; the inverse of ``angles_of``."""
    return _about(1, -yaw) @ _about(0, -pitch) @ _about(2, roll)


def rotation_of_6d(values: np.ndarray) -> np.ndarray:
    """(3, 3) rotation of 6 numbers, its first two columns before they are made orthonormal (Zhou et al., 2019)."""
    first = values[:3] / np.linalg.norm(values[:3])
    third = np.cross(first, values[3:])
    third /= np.linalg.norm(third)
    return np.column_stack((first, np.cross(third, first), third))


def from_300w_lp(rotation: np.ndarray) -> np.ndarray:
    """The pose that a (3, 3) rotation of 300W-LP means, the convention of 6DRepNet, HopeNet and most others.

    There Rz(roll) Ry(yaw) Rx(pitch) is used with positive yaw to the left of the picture and positive pitch upwards.
    """
    return _FLIP @ rotation.T @ _FLIP


class HeadPose(ABC):
    """Tells how heads are turned."""

    def setup(self, device: str = 'cpu') -> None:
        """Load what is needed.

        Raises:
            ImportError: naming the package that is missing, and how to install it.
        """

    @abstractmethod
    def __call__(self, picture: np.ndarray, box: np.ndarray) -> np.ndarray:
        """(3, 3) pose, see above, of the head whose face has a box (4,) x1, y1, x2, y2 in a (H, W, 3) BGR picture."""


@DETECTORS.register_module()
class OnnxHeadPose(HeadPose):
    """A network like 6DRepNet in an ONNX file.

    Hempel et al., "6D rotation representation for unconstrained head pose estimation" (2022). It sees the face with a
    margin, RGB, with mean and deviation of ImageNet; its first output is of a face (3, 3) or (9,), a rotation; (6,),
    the first two columns of one; or (3,), angles in degrees.

    Args:
        weights: path of the file.
        convention: '300w-lp', see ``from_300w_lp``, or 'camera', that of this project.
        order: which angles, for networks that give these.
        margin: around the face's box on each side, of its height and width.
        size: side of the input, pixels, where the file leaves it open.
    """

    def __init__(self, weights: Union[str, PathLike[str]], convention: str = '300w-lp',
                 order: tuple[str, str, str] = ORDERS, margin: float = 0.2, size: int = 224) -> None:
        if convention not in ('300w-lp', 'camera'):
            raise ValueError(
                'OnnxHeadPose.convention: ' + unknown_name(convention, ('300w-lp', 'camera'), 'convention'))
        if sorted(order) != sorted(ORDERS):
            raise ValueError(f'OnnxHeadPose.order must have {", ".join(ORDERS)} in some order, got {order!r}')
        self.weights, self.convention, self.order = weights, convention, tuple(order)
        self.margin, self.size = margin, size
        self._network: Optional[OnnxNetwork] = None

    def setup(self, device: str = 'cpu') -> None:
        if self._network is None:
            self._network = OnnxNetwork(self.weights, device)

    def __call__(self, picture: np.ndarray, box: np.ndarray) -> np.ndarray:
        self.setup()
        outputs = self._network(self._input(picture, box))
        values = np.asarray(next(iter(outputs.values())), dtype=np.float64).squeeze()
        if values.shape == (3,):
            return self._of_angles(dict(zip(self.order, values.tolist())))
        if values.shape in ((3, 3), (9,)):
            rotation = values.reshape(3, 3)
        elif values.shape == (6,):
            rotation = rotation_of_6d(values)
        else:
            raise TypeError(f'{self.weights}: OnnxHeadPose cannot read its outputs, {self._network.describe(outputs)}; '
                            'the first must be a rotation (3, 3), 6 numbers or 3 angles')
        return from_300w_lp(rotation) if self.convention == '300w-lp' else rotation

    def _of_angles(self, angles: dict[str, float]) -> np.ndarray:
        if self.convention == 'camera':
            return rotation_of(**angles)
        return from_300w_lp(_about(2, angles['roll']) @ _about(1, angles['yaw']) @ _about(0, angles['pitch']))

    def _input(self, picture: np.ndarray, box: np.ndarray) -> np.ndarray:
        """(1, 3, size, size): the face with its margin, cut at the edges of the picture."""
        size = self._network.side(2, self.size)
        room = self.margin * (box[2:] - box[:2])
        limits = np.tile(picture.shape[1::-1], 2)
        left, top, right, bottom = np.clip(np.rint((*(box[:2] - room), *(box[2:] + room))), 0, limits).astype(int)
        crop = picture[top:max(bottom, top + 1), left:max(right, left + 1)]
        pixels = cv2.resize(crop, (size, size), interpolation=cv2.INTER_AREA if crop.shape[0] > size
                            else cv2.INTER_LINEAR)[..., ::-1].astype(np.float32) / 255
        return ((pixels - _MEAN) / _STD).transpose(2, 0, 1)[None]


def _about(axis: int, degrees: float) -> np.ndarray:
    """(3, 3) rotation about an axis by the right-hand rule."""
    turn = np.eye(3)
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    turn[first, first] = turn[second, second] = cosine
    turn[first, second], turn[second, first] = -sine, sine
    return turn
