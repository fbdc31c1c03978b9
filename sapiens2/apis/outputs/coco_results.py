"""One COCO results file for a run, made of the pose JSON of its images.

They are the only record of what is done. So nothing is lost or doubled when a run is stopped and started again, several
processes may share a folder, and the results file is always a whole one: the last that was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.apis.outputs.options import OutputOptions
from sapiens2.apis.outputs.pose_files import image_id
from sapiens2.datasets.metainfo.conversions import OWN
from sapiens2.evaluation.functional import person_score
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.visible_files import visible_files

# Number of the category person in COCO.
PERSON = 1
# As COCO-WholeBody's evaluation wants its 133 points.
_WHOLEBODY_PARTS = {'keypoints': slice(0, 17), 'foot_kpts': slice(17, 23), 'face_kpts': slice(23, 91),
                    'lefthand_kpts': slice(91, 112), 'righthand_kpts': slice(112, 133)}


def coco_file(folder: Path, keypoints: str) -> Path:
    """The results of a run in a set of key points."""
    return folder / f'pose_coco_{keypoints}.json'


def collect_coco(folder: Path, options: OutputOptions, stems: Optional[Iterable[str]] = None) -> list[Path]:
    """Write the COCO results of a run, one file for each set of key points, the 308 if none is asked for.

    Call it when a run ends, in whatever way.

    Args:
        folder: output folder.
        stems: names of the run's results, in order; those without a JSON are left out. Default: all in the folder.
            Where two have one number, as frames of two films do, all images are called by these names.

    Raises:
        ValueError: naming the JSON, if it is none that this program has written, or lacks a set of points.
        OSError: if a file cannot be written.
    """
    pose = folder / 'pose'
    if stems is None:
        stems = [path.relative_to(pose).as_posix().removesuffix('.json') for path in visible_files(pose, '**/*.json')
                 if not path.name.endswith('.openpose_keypoints.json')]
    paths = {stem: path for stem in stems if (path := Path(f'{pose / stem}.json')).is_file()}
    # Frames of several films, for instance, have the same numbers.
    are_numbers_unique = len(set(map(image_id, paths))) == len(paths)
    files = []
    for keypoints in options.keypoints or (OWN,):
        files.append(coco_file(folder, keypoints))
        with atomic_path(files[-1]) as partial, partial.open('w', encoding='utf-8') as file:
            separator = '['
            for stem, path in paths.items():
                for record in _records(path, keypoints):
                    if not are_numbers_unique:
                        record['image_id'] = stem
                    # One record a line, so that few of many are in memory.
                    file.write(f'{separator}\n{json.dumps(record)}')
                    separator = ','
            file.write('[]\n' if separator == '[' else '\n]\n')
    return files


def _records(path: Path, keypoints: str) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding='utf-8'))
        people = document['instances'] if keypoints == OWN else document['converted'][keypoints]['instances']
        for person, points in zip(document['instances'], people):
            yield _record(document['image']['id'], person, points, keypoints)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f'{path}: holds no people with the points of {keypoints}: it was not written by this run. '
                         'Choose another folder for the results, or remove it') from error


def _record(image: Any, person: Mapping[str, Any], points: Mapping[str, Any], keypoints: str) -> dict[str, Any]:
    """A person as COCO's results have it; a missing point is 0, 0, 0."""
    triples = np.array([[0, 0, 0] if xy is None else [*xy, score]
                        for xy, score in zip(points['keypoints'], points['keypoint_scores'])], dtype=np.float64)
    parts = _WHOLEBODY_PARTS if keypoints == 'wholebody133' else {'keypoints': slice(None)}
    return {
        'image_id': image, 'category_id': PERSON,
        **{name: triples[part].ravel().tolist() for name, part in parts.items()},
        'score': round(person_score(person['bbox_score'], triples[:, 2]), 6),
        **({'track_id': person['track_id']} if 'track_id' in person else {}),
    }
