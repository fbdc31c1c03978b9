"""What an earlier run of the same settings has left."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import Optional

from sapiens2.apis.box_finder import BoxFinder
from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.apis.journal import content_id, file_mark
from sapiens2.apis.outputs import OutputOptions
from sapiens2.apis.video.inputs import VideoInput
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.outcome import outcome_paths
from sapiens2.apis.video.records import finished_problems, read_header


def settings_id(inferencer: Sapiens2Inferencer, video: VideoInput, finder: Optional[BoxFinder],
                 options: VideoOptions, outputs: OutputOptions, made: OutputOptions) -> Optional[str]:
    """A digest of all that decides the results; None if that cannot be told, as with random weights.

    A file is known by its content, however it is named and wherever it lies.

    Args:
        outputs: that were asked for.
        made: what the networks are to give.
    """
    tasks = {task: inferencer.settings(task, made, finder) for task in inferencer.networks}
    if None in tasks.values():
        return None
    text = json.dumps({
        'video': [file_mark(Path(video.name)), content_id(video.name)] if video.is_file else video.name, 'tasks': tasks,
        'options': {**dataclasses.asdict(options), 'save_every': None}, 'outputs': dataclasses.asdict(outputs),
    }, sort_keys=True)
    return hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:16]


def finished_files(inferencer: Sapiens2Inferencer, folder: Path, video: VideoInput, options: VideoOptions,
                   settings: str) -> Optional[tuple[list[str], list[str]]]:
    """The files of an earlier run that has left nothing to do, and the problems that it has found."""
    paths = [outcome_paths(folder, task, video.stem) for task in inferencer.networks]
    problems = [finished_problems(numbers, settings) for numbers, *_ in paths]
    if None in problems or (options.film and not all(film.is_file() for _, film, _ in paths)):
        return None
    return [str(path) for numbers, film, _ in paths for path in ((numbers, film) if options.film else (numbers,))], \
        list(dict.fromkeys(itertools.chain(*problems)))


def check_owner(inferencer: Sapiens2Inferencer, folder: Path, video: VideoInput) -> None:
    """Look whether results are there of another video of this name.

    Raises:
        ValueError: if that video is another file that is still there.
    """
    for task in inferencer.networks:
        numbers = outcome_paths(folder, task, video.stem)[0]
        name = read_header(numbers).get('video')
        if isinstance(name, str) and name != video.name and os.path.isfile(name) and not _are_alike(name, video.name):
            raise ValueError(f'{video.name}: {numbers} holds results of another video, {name}, which would be '
                             'overwritten. Choose another folder for the results, or say that they may be: '
                             '--overwrite (resume=False)')


def _are_alike(first: str, second: str) -> bool:
    """Whether two paths lead to one file, or to copies of it."""
    return os.path.isfile(second) and (os.path.samefile(first, second) or content_id(first) == content_id(second))
