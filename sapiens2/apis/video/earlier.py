"""What an earlier run of the same settings has left."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Optional

from sapiens2.apis.box_finder import BoxFinder
from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.apis.journal import file_mark
from sapiens2.apis.outputs import OutputOptions
from sapiens2.apis.video.inputs import VideoInput
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.outcome import outcome_paths
from sapiens2.apis.video.records import is_finished


def settings_id(inferencer: Sapiens2Inferencer, video: VideoInput, finder: Optional[BoxFinder],
                 options: VideoOptions, outputs: OutputOptions, made: OutputOptions) -> Optional[str]:
    """A digest of all that decides the results; None if that cannot be told, as with random weights.

    Args:
        outputs: that were asked for.
        made: what the networks are to give.
    """
    tasks = {task: inferencer.settings(task, made, finder) for task in inferencer.networks}
    if None in tasks.values():
        return None
    text = json.dumps({
        'video': video.name, 'source': file_mark(Path(video.name)) if video.is_file else None, 'tasks': tasks,
        'options': {**dataclasses.asdict(options), 'save_every': None}, 'outputs': dataclasses.asdict(outputs),
    }, sort_keys=True)
    return hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:16]


def finished_files(inferencer: Sapiens2Inferencer, folder: Path, video: VideoInput, options: VideoOptions,
                   settings: str) -> Optional[list[str]]:
    """The files of an earlier run that has left nothing to do."""
    paths = [outcome_paths(folder, task, video.stem) for task in inferencer.networks]
    if not all(is_finished(numbers, settings) and (film.is_file() or not options.film) for numbers, film, _ in paths):
        return None
    return [str(path) for numbers, film, _ in paths for path in ((numbers, film) if options.film else (numbers,))]
