"""What is to be written of each result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from sapiens2.apis.arguments import check_score
from sapiens2.apis.outputs.camera import Camera
from sapiens2.utils.choices import DEFAULT_FORMATS, KEYPOINT_SETS, OUTPUT_FORMATS
from sapiens2.utils.suggest import check_names

# Task -> its field in a data sample.
FIELD_OF_TASK = {'seg': 'sem_seg', 'normal': 'normal', 'pointmap': 'pointmap', 'albedo': 'albedo'}
# Task -> endings of its files of numbers, as they are by default.
NUMBER_ENDINGS: dict[str, tuple[str, ...]] = {
    task: tuple(ending for name, ending in formats.items() if name in DEFAULT_FORMATS)
    for task, formats in OUTPUT_FORMATS.items()}
PICTURE_ENDING = '.picture.jpg'


@dataclass(frozen=True)
class OutputOptions:
    """Which files are written, and how.

    Args:
        pose, seg, normal, pointmap, albedo: formats of each task, keys of ``OUTPUT_FORMATS[task]``.
        picture: also write a picture for people to look at.
        score_thr: key points with a lower score are not drawn; in the files they are.
        keypoints: sets of ``KEYPOINT_SETS`` in which the pose JSON and the COCO results give the points, too.
        near_keypoints: in these sets, also fill points whose counterpart is only near by anatomy.
        camera: intrinsics of the source images, where they are known; for pointmaps.

    Raises:
        UnknownNameError: for a format or a set that there is not; the nearest are offered.
        ValueError: for 'coco' without 'json', of which it is made; for a threshold that is not in 0 to 1.
    """

    pose: tuple[str, ...] = ('json',)
    seg: tuple[str, ...] = ('png', 'npz')
    normal: tuple[str, ...] = ('png', 'npz')
    pointmap: tuple[str, ...] = ('png', 'npz')
    albedo: tuple[str, ...] = ('png', 'npz')
    picture: bool = True
    score_thr: float = 0.3
    keypoints: tuple[str, ...] = ()
    near_keypoints: bool = True
    camera: Optional[Camera] = None

    def __post_init__(self) -> None:
        for task, known in OUTPUT_FORMATS.items():
            check_names(self.formats(task), known, task, 'format')
        check_names(self.keypoints, KEYPOINT_SETS, 'keypoints', 'set of key points')
        check_score(self.score_thr, 'score_thr')
        if 'coco' in self.pose and 'json' not in self.pose:
            raise ValueError('pose: the COCO results of a run are made of its JSON files: ask for json, too')

    def formats(self, task: str) -> tuple[str, ...]:
        """Formats of ``task``, in the order in which their files are written."""
        return getattr(self, task)
