"""Text that lies over a picture: subtitles, watermarks, memes, pages."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.curation.arguments import Count
from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES
from sapiens2.utils.silent_packages import import_onnxruntime

_PACKAGE, _PATTERN = 'rapidocr', 'models/*det*.onnx'
_MULTIPLE = 32  # of the network's input
# Mean probability of a line, as PP-OCR has it; and its height, of the picture's shorter side. A person in a tiny
# picture resembles a large letter.
_CERTAIN, _THICKEST = 0.6, 0.2


@CURATION_STAGES.register_module()
class TextArea(Stage):
    """How much of a picture is text, by the text detector of PP-OCR that comes inside the package rapidocr.

    Liao et al., "Real-time scene text detection with differentiable binarization" (2020): the network gives for each
    pixel the probability that it lies in the core of a line; lines are a little larger. Text is not read.

    Args:
        side: longer side of the network's input, pixels; smaller pictures are not made larger.
        threshold: least probability of a pixel.
        kwargs: of ``Stage``.

    Raises:
        ImportError: if rapidocr or onnxruntime is missing.
    """

    inputs = ('picture',)
    outputs = {
        'text_share': Column('float32', 'share of the picture that the cores of lines of text cover, 0 to 1'),
        'text_lines': Column('int32', 'lines or words'),
    }

    def __init__(self, side: Count = 640, threshold: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.side, self.threshold = side, threshold
        self._session: Optional[Any] = None

    def setup(self) -> None:
        try:
            onnxruntime = import_onnxruntime()
        except ImportError as error:
            raise ImportError(_install()) from error
        spec = find_spec(_PACKAGE)
        files = [] if spec is None else sorted(Path(spec.origin).parent.glob(_PATTERN))
        if not files:
            raise ImportError(_install())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(files[0], options, providers=onnxruntime.get_available_providers())

    def run(self, records: Sequence[Record]) -> None:
        name = self._session.get_inputs()[0].name
        for record in records:
            pixels = self._network_input(record['picture'])
            areas = _line_areas(self._session.run(None, {name: pixels})[0][0, 0], self.threshold)
            record['text_share'] = float(areas.sum() / (pixels.shape[2] * pixels.shape[3]))
            record['text_lines'] = len(areas)

    def _network_input(self, picture: np.ndarray) -> np.ndarray:
        """(1, 3, h, w) float32."""
        ratio = min(1.0, self.side / max(picture.shape[:2]))  # made larger, the noise of pictures looks like letters
        height, width = (max(_MULTIPLE, round(side * ratio / _MULTIPLE) * _MULTIPLE) for side in picture.shape[:2])
        small = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
        return (small.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[None]


def _line_areas(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Pixels of each line in a map (h, w): of what hangs together, is thin, and is text with some certainty."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats((probability > threshold).astype(np.uint8))
    areas = stats[:, cv2.CC_STAT_AREA]
    certainty = np.bincount(labels.ravel(), probability.ravel(), count) / np.maximum(areas, 1)
    thickness = stats[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]].min(axis=1)
    lines = (certainty >= _CERTAIN) & (thickness <= _THICKEST * min(probability.shape))
    lines[0] = False  # the background
    return areas[lines]


def _install() -> str:
    return (f'text is found by a network of the package {_PACKAGE}, run by onnxruntime: '
            'pip install rapidocr onnxruntime')
