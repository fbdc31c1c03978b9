"""From a visitor's request to everything that the page shows."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.apis.image_sources import ImageSource
from sapiens2.apis.outputs import FIELD_OF_TASK, OutputOptions
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.serve.hover import hover_html
from sapiens2.serve.networks import Networks
from sapiens2.serve.refusals import Refused
from sapiens2.serve.settings import NetworkSpec, ServeSettings
from sapiens2.serve.uploads import parse_boxes
from sapiens2.visualization.layout import fit_square
from sapiens2.visualization.maps import depth_range
from sapiens2.visualization.pictures import class_table, draw_field, draw_people

# How visitors say where people are.
DETECT, WHOLE, BOXES = 'detect', 'whole', 'boxes'
SCORE_THR = 0.3
# Of pictures on the page; the files have all pixels.
_LONGEST_SIDE = 1600
_OUTPUTS = OutputOptions(pointmap=('png', 'npz', 'glb'), score_thr=SCORE_THR)


@dataclass(frozen=True)
class Request:
    """What a visitor asks for.

    Attributes:
        image: (H, W, 3) uint8 BGR.
        people: for pose, one of ``DETECT``, ``WHOLE``, ``BOXES``.
        boxes: for ``BOXES``, see ``parse_boxes``.
    """

    image: np.ndarray
    network: NetworkSpec
    people: str = WHOLE
    boxes: str = ''


@dataclass
class Answer:
    """What the page shows.

    Attributes:
        before, after: (H, W, 3) uint8 RGB pictures of one size.
        summary: a sentence about the result.
        archive: the files that ``sapiens2 infer`` writes, as a zip.
        points: pose: HTML, see ``hover_html``.
        parts: seg: (mask (H, W) bool, name) of each class that occurs, and name -> colour.
        surface: pointmap: a GLB file.
    """

    before: np.ndarray
    after: np.ndarray
    summary: str
    archive: Path
    points: Optional[str] = None
    parts: Optional[tuple[list[tuple[np.ndarray, str]], dict[str, str]]] = None
    surface: Optional[Path] = None


def make_answer(request: Request, networks: Networks, settings: ServeSettings, folder: Path) -> Answer:
    """Compute what the page shows; files go to ``folder``, which is empty before.

    Raises:
        Refused: if there is no result, with the reason.
        TookTooLong: when the time is up.
    """
    options = _people_options(request, settings) if request.network.task == 'pose' else {}
    with networks.borrowed(request.network, settings.seconds) as inferencer:
        result = inferencer([ImageSource('picture', pixels=request.image)], out_dir=folder / 'files', outputs=_OUTPUTS,
                            **options)[0]
        if result['error'] is not None:
            raise Refused(result['error'])
        networks.deadline.check()
        answer = _draw(request.image, result, folder)
        networks.deadline.check()
    shutil.rmtree(folder / 'files')  # the archive has them
    if request.network.weights == RANDOM:
        answer.summary += ' The network is untrained: this result means nothing.'
    return answer


def _people_options(request: Request, settings: ServeSettings) -> dict[str, Any]:
    """Arguments of the inferencer that say where people are."""
    if request.people == WHOLE:
        return {'whole_image': True}
    if request.people == BOXES:
        return {'boxes': [parse_boxes(request.boxes)]}
    if request.people != DETECT or settings.detector is None:
        raise Refused('Nobody finds people here. Take the whole picture for one person, or give boxes.')
    return {'boxes': settings.detector}


def _draw(image: np.ndarray, result: dict[str, Any], folder: Path) -> Answer:
    task, meta = result['task'], result['dataset_meta']
    small = _small(image)
    archive = _zip(folder / f'sapiens2-{task}.zip', folder / 'files')
    if task == 'pose':
        drawn = draw_people(image, result, SCORE_THR, meta)
        return Answer(_rgb(small), _rgb(_small(drawn)), _people_summary(result), archive,
                      points=hover_html(drawn, result, SCORE_THR))
    value = result[FIELD_OF_TASK[task]]
    drawn = draw_field(FIELD_OF_TASK[task], image, value, legend=False, dataset_meta=meta)
    answer = Answer(_rgb(small), _rgb(_small(drawn)), _SUMMARIES[task], archive)
    if task == 'seg':
        classes, palette = class_table(meta)
        answer.parts = _parts(value, small.shape[:2], classes, palette)
        count = len(answer.parts[0])
        answer.summary = (f'{count} {"part" if count == 1 else "parts"} of {len(classes)} '
                          f'{"is" if count == 1 else "are"} in the picture.')
    elif task == 'pointmap':
        near, far = depth_range(value[..., 2])
        answer.summary = f'Depth from {near:.2f} m (red) to {far:.2f} m (blue).'
        surface = next(Path(file) for file in result['files'] if file.endswith('.glb'))
        answer.surface = surface.replace(folder / 'surface.glb')
    return answer


_SUMMARIES = {
    'seg': '', 'pointmap': '',
    'normal': 'The colours say where each surface faces: red right, green down, blue away from the camera.',
    'albedo': 'The colours of the surfaces without light and shadow.',
}


def _people_summary(result: dict[str, Any]) -> str:
    left_out = [f'Left out: {skipped}.' for skipped in result['skipped_boxes']]
    if result['message'] is not None:
        reason = result['message'].removeprefix('no people: ')
        return ' '.join([f'Nobody was found: {reason}.', *left_out,
                         'You can take the whole picture for one person, or give boxes.'])
    count, seen = len(result['keypoints']), int((result['keypoint_scores'] >= SCORE_THR).sum())
    text = (f'{count} {"person" if count == 1 else "people"}, {seen} of {result["keypoint_scores"].size} key points '
            f'with a score of {SCORE_THR:g} or more.')
    return ' '.join([text, *left_out])


def _parts(labels: np.ndarray, size: tuple[int, int], classes: Any, palette: Any) -> Any:
    """Masks of the classes that occur, and their colours; background, the first class, is none."""
    rows, columns = (np.arange(length) * full // length for length, full in zip(size, labels.shape))
    shown = labels[np.ix_(rows, columns)]
    found = [label for label in np.unique(shown).tolist() if 0 < label < len(classes)]
    names = {label: str(classes[label]).replace('_', ' ') for label in found}
    colors = {names[label]: '#{:02x}{:02x}{:02x}'.format(*palette[label]) for label in found}
    return [(shown == label, names[label]) for label in found], colors


def _zip(path: Path, folder: Path) -> Path:
    # What is inside is compressed already, or are floats that hardly get smaller.
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as archive:
        for file in sorted(file for file in folder.rglob('*') if file.is_file()):
            archive.write(file, file.relative_to(folder))
    return path


def _small(picture: np.ndarray) -> np.ndarray:
    return fit_square(picture, min(_LONGEST_SIDE, max(picture.shape[:2])))


def _rgb(picture: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(picture[..., ::-1])
