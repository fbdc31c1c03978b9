"""A hook for what must not be in a data set; which network judges it is the user's choice."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES
from sapiens2.utils.silent_packages import import_onnxruntime

_PACKAGE, _FILE = 'nudenet', '320n.onnx'
_SIZE = 320
# Rows of the network's output: a box, then the classes of nudenet 3.4, of which these show what most sets leave out.
_BOX, _CLASSES = 4, 18
_NOTED = 0.2  # least score of a part that is named
_EXPOSED = {2: 'buttocks', 3: 'female breast', 4: 'female genitalia', 6: 'anus', 14: 'male genitalia'}


@CURATION_STAGES.register_module()
class Nudity(Stage):
    """How sure the network inside the package nudenet is of uncovered intimate parts.

    It is one example of a safety filter; a stage of your own for other harm works in the same way.

    Args:
        kwargs: of ``Stage``.

    Raises:
        ImportError: if nudenet or onnxruntime is missing.
    """

    inputs = ('picture',)
    outputs = {'nudity': Column('float32', 'largest score of an uncovered intimate part, 0 to 1'),
               'nudity_part': Column('string', 'which; empty if nothing was found')}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._session: Optional[Any] = None

    def setup(self) -> None:
        spec = find_spec(_PACKAGE)
        file = None if spec is None else Path(spec.origin).with_name(_FILE)
        try:
            onnxruntime = import_onnxruntime()
        except ImportError:
            file = None
        if file is None or not file.is_file():
            raise ImportError('uncovered parts are found by a network of the package nudenet, run by onnxruntime: '
                              'pip install nudenet onnxruntime')
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(file, options, providers=onnxruntime.get_available_providers())

    def run(self, records: Sequence[Record]) -> None:
        name = self._session.get_inputs()[0].name
        for record in records:
            output = self._session.run(None, {name: _network_input(record['picture'])})[0][0]
            scores = output[_BOX:_BOX + _CLASSES].max(axis=1)
            part = max(_EXPOSED, key=lambda number: scores[number])
            record['nudity'] = float(scores[part])
            record['nudity_part'] = _EXPOSED[part] if scores[part] > _NOTED else None


def _network_input(picture: np.ndarray) -> np.ndarray:
    """(1, 3, 320, 320) float32 RGB, 0 to 1: the picture in the upper left corner, its shape kept."""
    ratio = _SIZE / max(picture.shape[:2])
    size = [max(1, round(side * ratio)) for side in picture.shape[1::-1]]
    canvas = np.zeros((_SIZE, _SIZE, 3), dtype=np.float32)
    canvas[:size[1], :size[0]] = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if ratio < 1 else
                                            cv2.INTER_LINEAR)[..., ::-1] / 255
    return canvas.transpose(2, 0, 1)[None]
