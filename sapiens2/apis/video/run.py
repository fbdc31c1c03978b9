"""A video through networks: one film and one file of numbers for each task, and nothing lost when it is interrupted."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Protocol, Union

import numpy as np

from sapiens2.apis.box_finder import BoxFinder, Boxes, box_finder
from sapiens2.apis.image_sources import ImageSource
from sapiens2.apis.inference_run import tasks_with_people
from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.apis.outputs import OutputOptions
from sapiens2.apis.video.earlier import check_owner, finished_files, settings_id
from sapiens2.apis.video.frames import Frame, Reader
from sapiens2.apis.video.inputs import VideoInput, video_input
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.outcome import Outcome, outcome_paths
from sapiens2.apis.video.people import FramePeople
from sapiens2.apis.video.reader import open_video
from sapiens2.utils.atomic import atomic_path, check_folder
from sapiens2.utils.regular_file import IRREGULAR, is_irregular

_STATE = 'state.json'


class Report(Protocol):
    """Who is told how a run goes on."""

    def follow(self, name: str, results: Iterable[Mapping[str, Any]], total: Optional[int]
               ) -> Iterator[Mapping[str, Any]]:
        """Pass ``results`` on and show how many of ``total`` are done."""

    def add_problem(self, text: str) -> None:
        """Name something that is skipped."""


@dataclass
class VideoSummary:
    """What has come of a video.

    Attributes:
        frames: how many have results.
        files: one of numbers and one film a task.
        problems: what is wrong with the video.
        continued_from: number of frames that an earlier run had done.
        finished_before: whether there was nothing to do.
    """

    frames: int = 0
    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    continued_from: int = 0
    finished_before: bool = False


def run_video(
        inferencer: Sapiens2Inferencer, video: Union[VideoInput, str, Path], out_dir: Union[str, Path],
        options: VideoOptions = VideoOptions(), report: Optional[Report] = None, boxes: Optional[Boxes] = None,
        whole_image: bool = False, box_thr: float = 0.3, batch_size: Optional[int] = None,
        outputs: OutputOptions = OutputOptions(), resume: bool = True) -> VideoSummary:
    """Run the tasks of ``inferencer`` on all frames; below ``out_dir`` write TASK/NAME.jsonl and TASK/NAME.mp4.

    Memory does not grow with the length of the video. What was done when a run ends early is kept, and the same call
    goes on with it, unless the weights are random or the video is a camera or a stream. A camera or a stream that
    is lost or interrupted (Ctrl-C) has a film of what came until then.

    Args:
        video: a file, an address, or ``camera:N``.
        report: is shown results and problems.
        boxes, whole_image, box_thr, batch_size: as in ``Sapiens2Inferencer.iterate``; a file of boxes names frames as
            ``FramePeople`` says.
        outputs: of the files of frames, if these are asked for; and which key points are drawn.
        resume: whether an earlier run is gone on with. Then results of another video are not overwritten.

    Raises:
        FileNotFoundError, ValueError: naming the video and what is wrong with it.
        ImportError: if PyAV or SciPy are missing.
        OSError: if results cannot be written.
        KeyboardInterrupt: for a file; it says how to go on.
    """
    video = video if isinstance(video, VideoInput) else video_input(video)
    if video.is_file and is_irregular(video.name):
        raise ValueError(f'{video.name}: {IRREGULAR}. Give a file with the film')
    folder = Path(out_dir)
    check_folder(out_dir)
    made = outputs if options.frame_files else OutputOptions()
    finder = box_finder(boxes, whole_image, [], box_thr) if tasks_with_people(inferencer.networks, made) else None
    settings = None if video.is_live else settings_id(inferencer, video, finder, options, outputs, made)
    if resume and settings is not None:
        found = finished_files(inferencer, folder, video, options, settings)
        if found is not None:
            _report_problems(report, found[1])
            return VideoSummary(files=found[0], problems=found[1], finished_before=True)
    if resume:
        check_owner(inferencer, folder, video)
    with ExitStack() as opened:
        reader = opened.enter_context(closing(open_video(video)))
        run = opened.enter_context(closing(_VideoRun(
            inferencer, video, reader, finder, folder, options, outputs, settings, resume)))
        return run(report, batch_size, made)


class _VideoRun:
    """One run over one video."""

    def __init__(self, inferencer: Sapiens2Inferencer, video: VideoInput, reader: Reader, finder: Optional[BoxFinder],
                 folder: Path, options: VideoOptions, outputs: OutputOptions, settings: Optional[str],
                 resume: bool) -> None:
        self._inferencer, self._video, self._reader, self._options = inferencer, video, reader, options
        self._settings, self._people = settings, None
        if finder is not None:
            self._people = FramePeople(finder, video.stem, options)
        tasks = list(inferencer.networks)
        self._parts = [outcome_paths(folder, task, video.stem)[-1] for task in tasks]
        state = self._earlier() if resume else None
        for parts in self._parts if state is None else ():
            shutil.rmtree(parts, ignore_errors=True)
        self._outcomes = {task: Outcome(task, folder, video, reader, options, outputs, settings,
                                        state['tasks'][task] if state else None) for task in tasks}
        self._next, self._frames = (state['next'], state['frames']) if state else (0, 0)
        self._continued = self._frames
        self._people_state = state['people'] if state else None
        if self._people is not None and state:
            self._people.restore(state['people'])
        # Frames that are on their way: the frame, the ids of its people, what the tracker remembered after it.
        self._waiting: dict[int, tuple[Frame, np.ndarray, Any]] = {}
        self._came = 0
        self._saved = time.monotonic()

    def __call__(self, report: Optional[Report], batch_size: Optional[int], made: OutputOptions) -> VideoSummary:
        """Run to the end; ``made`` says what the networks are to give."""
        results = self._inferencer.iterate(
            self._sources(), self._people.as_finder() if self._people else None, batch_size=batch_size, outputs=made)
        noted = map(self._noted, results)
        total = self._total()
        try:
            with closing(results):
                for _ in noted if report is None else report.follow(self._video.stem, noted, total):
                    if time.monotonic() - self._saved >= self._options.save_every and self._came == 0:
                        self._save()
        except KeyboardInterrupt as stop:
            if not self._video.is_live:
                self._save()
                raise KeyboardInterrupt(f'interrupted: {self._frames} frames of {self._video.name} are done and kept'
                                        + ('; the same command goes on' if self._settings else '')) from stop
        except BaseException:
            if self._came == 0 and self._frames:
                self._save()
            raise
        return self._finish(report)

    def _total(self) -> Optional[int]:
        """How many results are to come, about."""
        count, rate, options = self._reader.count, self._reader.rate, self._options
        if count is None and (options.end is None or not rate):
            return None
        last = count if count is not None else round(options.end * rate)
        if options.end is not None and rate:
            last = min(last, round(options.end * rate))
        first = max(self._next, round(options.start * rate) if rate else 0)
        return max(0, -(-(last - first) // options.every)) * len(self._outcomes)

    def _sources(self) -> Iterator[ImageSource]:
        options = self._options
        frames = self._reader.frames(self._next, options.every, options.start, options.end)
        for index, frame in enumerate(frames):
            ids = self._people.find(index, frame) if self._people else np.zeros(0, dtype=np.int64)
            self._waiting[frame.number] = frame, ids, self._people.state() if self._people else None
            yield ImageSource(self._stem(frame), pixels=frame.pixels,
                              details={'frame': frame.number, 'time_s': round(float(frame.time), 6)})

    def _stem(self, frame: Frame) -> str:
        return f'{self._video.stem}/{frame.number:06d}'

    def _noted(self, result: dict[str, Any]) -> dict[str, Any]:
        """One result, with what the film adds to it, written."""
        frame, ids, people = self._waiting[result['frame']]
        result['path'] = self._video.name
        if 'bboxes' in result and result['error'] is None:
            result['track_ids'] = ids
        self._outcomes[result['task']].add(frame, self._stem(frame), result)
        self._came += 1
        if self._came == len(self._outcomes):
            del self._waiting[frame.number]
            self._came, self._next, self._people_state = 0, frame.number + 1, people
            self._frames += 1
        return result

    def _save(self) -> None:
        """Make safe what is done: parts and lines first, then the state that names them."""
        if self._frames:
            state = {'settings': self._settings, 'next': self._next, 'frames': self._frames,
                     'people': self._people_state,
                     'tasks': {task: outcome.save() for task, outcome in self._outcomes.items()}}
            with atomic_path(self._parts[0] / _STATE) as partial:
                partial.write_text(json.dumps(state))
        self._saved = time.monotonic()

    def _earlier(self) -> Optional[dict[str, Any]]:
        """The state of an earlier run with these settings, if all that it names is there."""
        try:
            state = json.loads((self._parts[0] / _STATE).read_text())
        except (OSError, ValueError):
            return None
        if self._settings is None or state['settings'] != self._settings:
            return None
        for parts, entry in zip(self._parts, state['tasks'].values()):
            if not all((parts / name).is_file() for name, _ in entry['parts']):
                return None
        return state

    def _finish(self, report: Optional[Report]) -> VideoSummary:
        problems = list(self._reader.problems)
        if not self._frames:
            raise ValueError(f'{self._video.name}: no frame from {self._options.start:g} s on'
                             + (f' and before {self._options.end:g} s' if self._options.end else '')
                             + '; choose times within the film')
        if self._people and self._frames > self._continued and not self._people.known_frames:
            problems.append(f'{self._video.name}: the boxes are of none of its frames: they must name images '
                            f'000000.jpg, 000001.jpg and so on, or have the number of the frame as image_id')
        self._save()
        files = [file for outcome in self._outcomes.values() for file in outcome.finish(self._frames, problems)]
        for parts in self._parts:
            shutil.rmtree(parts, ignore_errors=True)
        _report_problems(report, problems)
        return VideoSummary(self._frames, files, problems, self._continued)

    def close(self) -> None:
        for outcome in self._outcomes.values():
            outcome.close()


def _report_problems(report: Optional[Report], problems: Iterable[str]) -> None:
    for text in problems if report else ():
        report.add_problem(text)
