"""Key points of other sets made of the 308, and the way back.

``keypoint_sets.json`` says of each point of a set which of the 308 it is made of, and how it stands to them:

- same: the same point, by COCO's names or by the released table from COCO-WholeBody to the 308.
- mean: the middle of two points, as the set itself defines it (neck and middle of the hips of OpenPose).
- near: what lies nearest by anatomy, one point or the middle of two. No source equates them: the 68 points of the face
  (Sagonas et al., "300 Faces in-the-Wild Challenge", ICCVW 2013), the knuckles, and the roots of the hands, for which
  the wrists stand.
- none: nothing stands for it (the line of the jaw but for the chin).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.utils.choices import KEYPOINT_SETS
from sapiens2.utils.suggest import UnknownNameError, unknown_name

OWN = 'sapiens308'
RELATIONS = ('same', 'mean', 'near', 'none')


@dataclass(frozen=True)
class KeypointConversion:
    """How the points of one set are made of those of another.

    Attributes:
        names: of the K points of the target.
        sources: for each of them no, one or two indices of source points, whose middle it is.
        relations: one of ``RELATIONS`` for each.
        source_count: points of the source.
    """

    names: tuple[str, ...]
    sources: tuple[tuple[int, ...], ...]
    relations: tuple[str, ...]
    source_count: int

    @property
    def missing(self) -> list[str]:
        """Names of the points for which nothing stands."""
        return [name for name, sources in zip(self.names, self.sources) if not sources]

    def apply(self, keypoints: np.ndarray, scores: Optional[np.ndarray] = None) -> tuple[np.ndarray, np.ndarray]:
        """Convert the points of any number of people.

        Args:
            keypoints: (..., source points, D), D coordinates in any frame.
            scores: (..., source points); default: 1.

        Returns:
            keypoints (..., K, D) float32, NaN for ``missing``, and scores (..., K) float32, 0 for ``missing``; a middle
            has the lower score of its two points.

        Raises:
            ValueError: if the arrays do not fit the source.
        """
        keypoints = np.asarray(keypoints, dtype=np.float32)
        scores = np.ones(keypoints.shape[:-1]) if scores is None else np.asarray(scores)
        if keypoints.ndim < 2 or keypoints.shape[-2] != self.source_count or scores.shape != keypoints.shape[:-1]:
            raise ValueError(f'keypoints must be (..., {self.source_count}, coordinates) and scores '
                             f'(..., {self.source_count}), these are {keypoints.shape} and {scores.shape}')
        known = np.array([bool(sources) for sources in self.sources])
        # A single source is the middle of itself and itself.
        first, last = (np.array([sources[end] if sources else 0 for sources in self.sources]) for end in (0, -1))
        points = (keypoints[..., first, :] + keypoints[..., last, :]) / 2
        points[..., ~known, :] = np.nan
        found = np.where(known, np.minimum(scores[..., first], scores[..., last]), 0)
        return points, found.astype(np.float32)

    def back(self) -> KeypointConversion:
        """From this set to the 308: each point that alone stands for one of this set's, under its relation."""
        names = load_metainfo(OWN)['keypoint_names']
        found: dict[int, tuple[int, str]] = {}
        for index, (sources, relation) in enumerate(zip(self.sources, self.relations)):
            # The wrist also stands for the root of the hand, from which it must not come back.
            if len(sources) == 1 and (sources[0] not in found or found[sources[0]][1] != 'same'):
                found[sources[0]] = (index, relation)
        return KeypointConversion(
            tuple(names), tuple((found[i][0],) if i in found else () for i in range(len(names))),
            tuple(found[i][1] if i in found else 'none' for i in range(len(names))), len(self.names))


@functools.cache
def _tables() -> dict[str, list[dict]]:
    return json.loads((Path(__file__).parent / 'keypoint_sets.json').read_text(encoding='utf-8'))


@functools.cache
def keypoint_conversion(target: str, source: str = OWN, near: bool = True) -> KeypointConversion:
    """The conversion from ``source`` to ``target``, one of which is ``sapiens308``.

    Args:
        target, source: ``sapiens308``, or one of ``KEYPOINT_SETS``.
        near: also take points that are only near by anatomy.

    Raises:
        UnknownNameError: if there is no such set.
        ValueError: if neither, or both, are ``sapiens308``.
    """
    for name in (target, source):
        if name not in (OWN, *KEYPOINT_SETS):
            raise UnknownNameError(unknown_name(name, (OWN, *KEYPOINT_SETS), 'set of key points'))
    if (target == OWN) == (source == OWN):
        raise ValueError(f'from {source} to {target}: one of the two sets must be {OWN}')
    table = _tables()[source if target == OWN else target]
    index = {name: i for i, name in enumerate(load_metainfo(OWN)['keypoint_names'])}
    relations = tuple('none' if point['relation'] == 'near' and not near else point['relation'] for point in table)
    sources = tuple(() if relation == 'none' else tuple(index[name] for name in point['of'])
                    for point, relation in zip(table, relations))
    conversion = KeypointConversion(tuple(point['name'] for point in table), sources, relations, len(index))
    return conversion.back() if target == OWN else conversion


def convert_keypoints(keypoints: np.ndarray, scores: Optional[np.ndarray], target: str, source: str = OWN,
                      near: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Key points and scores in another set: ``keypoint_conversion(target, source, near).apply(keypoints, scores)``."""
    return keypoint_conversion(target, source, near).apply(keypoints, scores)
