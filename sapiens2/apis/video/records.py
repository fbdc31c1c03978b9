"""The numbers of a film: one line of JSON a frame, written as it is done, in a file that can be gone on with.

``NAME.jsonl``, UTF-8. The first line describes the film (``kind`` 'header'), then comes one for each frame ('frame'),
and the last ('end') is there when all is done. The schema is in ``docs/en/user_guides/video.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.apis.outputs import OutputOptions, pose_document
from sapiens2.apis.outputs.files import json_line

SCHEMA, SCHEMA_VERSION = 'sapiens2/video', '1.0'
# What the header says once.
_ONCE = ('schema', 'schema_version', 'image', 'model', 'weights', 'boxes_from', 'keypoint_names', 'skeleton')
# Bytes at the end of a file in which its last line lies, if it is an 'end'.
_TAIL = 1 << 20


class Records:
    """A file of lines that grows.

    Args:
        path: of the file.
        header: first line of a new file.
        length: bytes of an earlier run's file to go on after; None begins anew.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], length: Optional[int] = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open('wb' if length is None else 'r+b')
        if length is None:
            self.add({'kind': 'header', 'schema': SCHEMA, 'schema_version': SCHEMA_VERSION, **header})
        else:
            self._file.truncate(length)
            self._file.seek(length)

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a line; it is in the file when this returns.

        Raises:
            OSError: if it cannot be written.
        """
        line = json_line(record)
        try:
            self._file.write(line + b'\n')
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def save(self) -> int:
        """Bring the file to the disk; return its length in bytes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


def frame_record(result: Mapping[str, Any], outputs: OutputOptions) -> dict[str, Any]:
    """The line of one frame: all numbers of a pose, of a map what says what it shows."""
    record = {'kind': 'frame', 'frame': result['frame'], 'time_s': result['time_s']}
    if result['error'] is not None:
        return {**record, 'error': result['error']}
    if result['task'] == 'pose':
        document = pose_document(result, outputs)
        return {**record, **{name: value for name, value in document.items() if name not in (*_ONCE, *record)}}
    height, width = result['image_size']
    record.update(width=width, height=height)
    if result['task'] == 'seg':
        labels, counts = np.unique(result['sem_seg'], return_counts=True)
        classes = result['dataset_meta']['classes']
        record['pixels'] = {classes[label]: int(count) for label, count in zip(labels, counts) if label < len(classes)}
    elif result['task'] == 'pointmap':
        record['scale'] = float(np.asarray(result['scale']).reshape(-1)[0])
    return record


def frame_stems(folder: Path, stem: str) -> list[str]:
    """Names of the results of the frames of a video that its file of poses below ``folder`` lists, in order."""
    path = Path(f'{folder / "pose" / stem}.jsonl')
    if not path.is_file():
        return []
    stems = []
    with path.open(encoding='utf-8') as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                break  # the line that a killed process has left half written is the last
            if record.get('kind') == 'frame':
                stems.append(f'{stem}/{record["frame"]:06d}')
    return stems


def read_header(path: Path) -> dict[str, Any]:
    """What the first line of a file says; empty if there is none."""
    try:
        with path.open('rb') as file:
            first = json.loads(file.readline())
    except (OSError, ValueError):
        return {}
    return first if isinstance(first, dict) else {}


def finished_problems(path: Path, settings_id: str) -> Optional[list[str]]:
    """The problems that the file at ``path`` names, if it was made with these settings and is complete; else None."""
    try:
        with path.open('rb') as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            last = json.loads(file.read().rstrip(b'\n').rpartition(b'\n')[2])
    except (OSError, ValueError):
        return None
    is_complete = isinstance(last, dict) and last.get('kind') == 'end'
    return last['problems'] if is_complete and read_header(path).get('settings_id') == settings_id else None
