"""What is made of one task of a film: its lines of numbers, its film, and files of frames if asked for."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Optional

from sapiens2.apis.outputs import OutputOptions, write_result
from sapiens2.apis.video.film import Film, Part
from sapiens2.apis.video.inputs import VideoInput
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.painting import film_picture
from sapiens2.apis.video.frames import Frame, Reader
from sapiens2.apis.video.records import Records, frame_record
from sapiens2.apis.video.smoothing import ResultSmoother
from sapiens2.apis.video.sound import Sound


class Outcome:
    """Results of one task, from frame to frame.

    Args:
        folder: for all results.
        settings_id: what the file of numbers is known by; None where it cannot be gone on with.
        state: of an earlier run that is gone on with.
    """

    def __init__(self, task: str, folder: Path, video: VideoInput, reader: Reader, options: VideoOptions,
                 outputs: OutputOptions, settings_id: Optional[str], state: Optional[Mapping[str, Any]] = None) -> None:
        self.task, self._folder, self._video, self._reader = task, folder, video, reader
        self._options, self._outputs, self._settings_id = options, outputs, settings_id
        self.numbers, self.film_path, self.parts = outcome_paths(folder, task, video.stem)
        self._smoother = ResultSmoother(options)
        self._records: Optional[Records] = None
        self._film: Optional[Film] = None
        self._state = state
        if state is not None:
            self._smoother.restore(state['smoother'])
            self._records = Records(self.numbers, {}, state['bytes'])

    def add(self, frame: Frame, stem: str, result: dict[str, Any]) -> None:
        """Smooth, note, draw and write the result of one frame."""
        if self._options.smooth and result['error'] is None:
            self._smoother(result, float(frame.time))
        if self._records is None:
            self._records = Records(self.numbers, self._header(frame, result))
        self._records.add(frame_record(result, self._outputs))
        if self._options.frame_files and result['error'] is None:
            result['files'] = [str(file) for file in write_result(
                self._folder, stem, frame.pixels, result, self._outputs)]
        if self._options.film:
            self._ready_film().add(film_picture(frame.pixels, result, self._outputs.score_thr, self._smoother,
                                                self._options.side_by_side), frame.time - self._origin)

    @property
    def _origin(self) -> Fraction:
        return Fraction(self._options.start)

    def _ready_film(self) -> Film:
        if self._film is None:
            state = self._state or {'parts': [], 'size': None}
            rate = self._reader.rate / self._options.every if self._reader.rate else None
            self._film = Film(self.parts, rate, self._reader.tick, self._reader.aspect,
                              [Part(name, Fraction(start)) for name, start in state['parts']],
                              tuple(state['size']) if state['size'] else None)
        return self._film

    def _header(self, frame: Frame, result: Mapping[str, Any]) -> dict[str, Any]:
        height, width = frame.pixels.shape[:2]
        meta = result['dataset_meta']
        tables = {'pose': ('keypoint_names', 'skeleton_links'), 'seg': ('classes', 'palette')}.get(self.task, ())
        return {
            'video': self._video.name, 'width': width, 'height': height,
            'frames_per_second': float(self._reader.rate) if self._reader.rate else None,
            'task': self.task, 'model': result['model'], 'weights': result['weights'],
            'boxes_from': result.get('boxes_from'), 'settings_id': self._settings_id,
            'options': {name: getattr(self._options, name) for name in (
                'every', 'start', 'end', 'smooth', 'cutoff', 'speed_cutoff', 'max_gap')},
            **{name.removesuffix('_links'): meta[name] for name in tables if name in meta},
        }

    def save(self) -> dict[str, Any]:
        """Bring all to the disk; return what is needed to go on, in JSON's types."""
        film = self._ready_film() if self._options.film else None
        if film is not None:
            film.close_part()
        return {'bytes': self._records.save(), 'smoother': self._smoother.state(),
                'parts': [(part.name, str(part.start)) for part in film.parts] if film else [],
                'size': film.size if film else None}

    def finish(self, frames: int, problems: list[str]) -> list[str]:
        """Join the film and end the numbers; return the files."""
        files = [str(self.numbers)]
        if self._options.film:
            sound = Sound(self._video.name, self._options.start, self._options.end) \
                if self._options.audio and self._video.is_file and self._reader.has_audio else None
            self._ready_film().finish(self.film_path, sound)
            problems += sound.problems if sound else []
            files.append(str(self.film_path))
        self._records.add({'kind': 'end', 'frames': frames, 'problems': problems})
        return files

    def close(self) -> None:
        """Let go of files; what was not saved is lost."""
        if self._records is not None:
            self._records.close()
        if self._film is not None:
            self._film.close_part()


def outcome_paths(folder: Path, task: str, stem: str) -> tuple[Path, Path, Path]:
    """The file of numbers, the film, and the folder of its parts while it is made."""
    path = folder / task / stem
    return tuple(path.with_name(path.name + ending) for ending in ('.jsonl', '.mp4', '.parts'))
