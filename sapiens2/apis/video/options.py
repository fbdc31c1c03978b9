"""How a video is read, smoothed and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class VideoOptions:
    """Settings of a run over a video.

    Attributes:
        every: take each N-th frame.
        start, end: take frames from and before these times, seconds from the beginning of the film.
        film: write a film of the pictures.
        side_by_side: in the film, show the frame beside its picture.
        audio: keep the sound of a file in its film.
        frame_files: also write the files that an image would have, for each frame.
        smooth: smooth key points, boxes and the scale of pointmaps over time.
        cutoff: of the smoothing, Hz, for what hardly moves: lower is calmer. See ``sapiens2.apis.video.one_euro``.
        speed_cutoff: how much that rises, Hz, for a point that moves by one size of its person a second: higher lags
            less. The size of a person is the square root of the area of its box.
        box_overlap: boxes of one frame whose intersection over union is larger are one person; 1 keeps all.
        new_track: least score of a box that begins a track. Boxes with a lower score only continue one.
        max_gap: seconds for which nobody may be seen before the id is given up.
        save_every: seconds of work after which what is done is made safe against being killed.
    """

    every: int = 1
    start: float = 0.0
    end: Optional[float] = None
    film: bool = True
    side_by_side: bool = False
    audio: bool = True
    frame_files: bool = False
    smooth: bool = True
    cutoff: float = 1.5
    speed_cutoff: float = 12.0
    box_overlap: float = 0.7
    new_track: float = 0.5
    max_gap: float = 1.0
    save_every: float = 30.0

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f'every: take each N-th frame, N at least 1; this is {self.every}')
        if not self.start >= 0 or (self.end is not None and not self.end > self.start):
            raise ValueError(f'start and end must be times in seconds, the end after the start; these are {self.start} '
                             f'and {self.end}')
        for name in ('cutoff', 'max_gap'):
            if not getattr(self, name) > 0:
                raise ValueError(f'{name} must be more than 0, this is {getattr(self, name)}')
        if not self.speed_cutoff >= 0:
            raise ValueError(f'speed_cutoff must be at least 0, this is {self.speed_cutoff}')
