"""Small films, and networks that cost nothing, for tests of video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import numpy as np

from sapiens2.apis.box_finder import BoxFinder
from sapiens2.apis.image_sources import ImageSource
from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.apis.journal import content_id
from sapiens2.apis.outputs import OutputOptions
from sapiens2.apis.person_boxes import PersonBoxes, usable_people
from sapiens2.datasets.metainfo import load_metainfo

TICK, SOUND_RATE = Fraction(1, 10_000), 48_000
NAMES = load_metainfo('coco')


def frame_pixels(number: int, size: tuple[int, int]) -> np.ndarray:
    """Red at the top left, green at the top right, a white bar at the bottom that grows with the frame's number."""
    height, width = size
    pixels = np.zeros((height, width, 3), dtype=np.uint8)
    pixels[:height // 4, :width // 4] = (0, 0, 255)
    pixels[:height // 4, -width // 4:] = (0, 255, 0)
    pixels[-height // 4:, :4 + number] = 255
    return pixels


def make_film(path: Path, count: int = 12, size: tuple[int, int] = (48, 64), times: Optional[Sequence[float]] = None,
              sound: Optional[str] = None, rotation: int = 0, codec: str = 'mpeg4') -> Path:
    """A film of ``count`` frames of ``size`` (H, W), at 10 a second or at ``times``, and a tone as long."""
    import av
    times = [number / 10 for number in range(count)] if times is None else times
    with av.open(str(path), 'w') as film:
        stream = film.add_stream(codec, rate=10)
        stream.height, stream.width, stream.pix_fmt = *size, 'yuv420p'
        stream.codec_context.time_base = TICK
        if rotation:
            stream.set_display_rotation(rotation)
        tone = film.add_stream(sound, rate=SOUND_RATE, layout='stereo') if sound else None
        for number, at in enumerate(times):
            frame = av.VideoFrame.from_ndarray(frame_pixels(number, size), format='bgr24')
            frame.time_base = TICK
            frame.pts = round(at / TICK)
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
        if tone is not None:
            _add_tone(film, tone, len(times) / 10)
    return path


def make_sound(path: Path) -> Path:
    """A file with a second of sound and no picture."""
    import av
    with av.open(str(path), 'w') as film:
        _add_tone(film, film.add_stream('aac', rate=SOUND_RATE, layout='stereo'), 1.0)
    return path


def _add_tone(film: Any, stream: Any, seconds: float) -> None:
    import av
    wave = np.sin(2 * np.pi * 440 * np.arange(round(seconds * SOUND_RATE)) / SOUND_RATE).astype(np.float32) / 4
    for begin in range(0, len(wave) - 1023, 1024):
        frame = av.AudioFrame.from_ndarray(np.stack([wave[begin:begin + 1024]] * 2), format='fltp', layout='stereo')
        frame.rate, frame.pts = SOUND_RATE, begin
        film.mux(stream.encode(frame))
    film.mux(stream.encode(None))


class FakeInferencer:
    """Looks like an inferencer; its key points jitter around the middle of each box.

    Args:
        weights: a file, by which runs are told apart; None stands for random weights.
        stop: number of the frame at which ``error`` is raised.
    """

    settings, _settings = Sapiens2Inferencer.settings, {'dtype': 'fp32'}

    def __init__(self, tasks: Sequence[str] = ('pose',), weights: Optional[Path] = None, stop: Optional[int] = None,
                 error: type[BaseException] = KeyboardInterrupt) -> None:
        known = None if weights is None else {'weights': content_id(weights)}
        self.networks = {task: SimpleNamespace(settings=known) for task in tasks}
        self.stop, self.error, self.seen = stop, error, []

    def iterate(self, sources: Iterator[ImageSource], boxes: Optional[BoxFinder], batch_size: Optional[int] = None,
                outputs: OutputOptions = OutputOptions()) -> Iterator[dict[str, Any]]:
        for index, source in enumerate(sources):
            if source.details['frame'] == self.stop:
                raise self.error
            self.seen.append(source.details['frame'])
            for task in self.networks:
                size = source.pixels.shape[:2]
                yield {'task': task, 'model': 'fake', 'weights': 'fake', 'path': None, 'image_size': size, 'files': [],
                       'error': None, **source.details, **getattr(self, f'_{task}')(index, source, boxes)}

    def _pose(self, index: int, source: ImageSource, boxes: BoxFinder) -> dict[str, Any]:
        size = source.pixels.shape[:2]
        found, texts = usable_people(boxes.find(index, None, source.pixels), boxes.source, size)
        middle = (found.boxes[:, None, :2] + found.boxes[:, None, 2:]) / 2
        noise = np.random.default_rng(source.details['frame']).normal(0, 2, (len(found.boxes), 17, 2))
        return {'dataset_meta': NAMES, 'keypoints': (middle + noise).astype(np.float32),
                'keypoint_scores': np.ones((len(middle), 17), np.float32), 'bboxes': found.boxes,
                'bbox_scores': found.scores, 'boxes_from': boxes.source, **texts}

    def _seg(self, index: int, source: ImageSource, boxes: Optional[BoxFinder]) -> dict[str, Any]:
        return {'dataset_meta': load_metainfo('seg29'), 'sem_seg': (source.pixels[..., 2] > 128).astype(np.uint8)}

    def _pointmap(self, index: int, source: ImageSource, boxes: Optional[BoxFinder]) -> dict[str, Any]:
        scale = np.float32([1 + 0.2 * (source.details['frame'] % 2)])
        return {'dataset_meta': {}, 'scale': scale,
                'pointmap': np.ones((*source.pixels.shape[:2], 3), np.float32) * 3 / scale}


def moving_person(index: int, path: Optional[Path], pixels: np.ndarray) -> PersonBoxes:
    """One person who walks to the right, by the frame's number."""
    return PersonBoxes(np.array([[4.0 + index, 5, 24 + index, 45]]), np.ones(1))


def moving_finder() -> BoxFinder:
    return BoxFinder(moving_person, 'test', {'source': 'test'})


class FakeCamera:
    """Stands for OpenCV's capture: gives ``count`` frames, and is lost; with a count below 0 it cannot be opened."""

    count = 3

    def __init__(self, index: int) -> None:
        self.left = self.count

    def isOpened(self) -> bool:
        return self.count >= 0

    def get(self, what: int) -> float:
        return 0.0

    def read(self) -> tuple[bool, np.ndarray]:
        self.left -= 1
        return self.left >= 0, np.full((20, 30, 3), max(self.left, 0), np.uint8)

    def release(self) -> None:
        """Nothing is held."""
