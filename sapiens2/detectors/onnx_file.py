"""Networks in ONNX files, run by onnxruntime."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Union

import numpy as np

from sapiens2.export.onnx_session import open_session


class OnnxNetwork:
    """One network with one input, on one thread unless told otherwise: curation runs a process a core.

    Args:
        path: of the file.
        device: 'cpu' or 'cuda:1'; the CPU is taken where onnxruntime cannot run on it.
        threads: that one call may use.

    Raises:
        ImportError: if onnxruntime is missing.
        FileNotFoundError: if there is no such file.
        ValueError: if onnxruntime cannot run it, or it has several inputs.
    """

    def __init__(self, path: Union[str, PathLike[str]], device: str = 'cpu', threads: int = 1) -> None:
        self.path = Path(path)
        self._session = open_session(path, device, threads, strict=False)
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise ValueError(f'{path}: has {len(inputs)} inputs ({", ".join(one.name for one in inputs)}); a network '
                             'with the picture as its only input is needed')
        self._input = inputs[0].name
        # With None for sides that may be anything.
        self.shape = [side if isinstance(side, int) else None for side in inputs[0].shape]
        self.outputs = [output.name for output in self._session.get_outputs()]

    def __call__(self, pixels: np.ndarray) -> dict[str, np.ndarray]:
        """Outputs by name, of a batch of float32."""
        feed = {self._input: np.ascontiguousarray(pixels, dtype=np.float32)}
        return dict(zip(self.outputs, self._session.run(None, feed)))

    def side(self, axis: int, default: int) -> int:
        """Length of an axis of the input; ``default`` where any will do."""
        return self.shape[axis] or default

    def describe(self, outputs: dict[str, Any]) -> str:
        """Names and shapes of outputs, for errors."""
        return ', '.join(f'{name} {list(np.shape(value))}' for name, value in outputs.items())
