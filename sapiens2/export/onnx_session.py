"""The one way in which ONNX files are opened."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Union

from sapiens2.export.formats import EXTRA, has_onnx_start, head_of, unusable
from sapiens2.utils.silent_packages import import_onnxruntime

CPU = 'CPUExecutionProvider'
_PROVIDERS = {'cpu': CPU, 'cuda': 'CUDAExecutionProvider'}
# Below errors: warnings are about onnxruntime's own optimisations.
_ERRORS = 3


def open_session(path: Union[str, PathLike[str]], device: str = 'cpu', threads: int = 1, strict: bool = True) -> Any:
    """An ``onnxruntime.InferenceSession``.

    Args:
        path: of the file.
        device: 'cpu', 'cuda' or 'cuda:1'.
        threads: that one call may use.
        strict: whether a device on which this onnxruntime cannot run is an error; otherwise the CPU is taken.

    Raises:
        ImportError: if onnxruntime is missing.
        FileNotFoundError: if there is no such file.
        ValueError: if onnxruntime cannot open it, or cannot run on the device.
    """
    try:
        onnxruntime = import_onnxruntime()
    except ImportError as error:
        raise ImportError(f'{path}: is run by onnxruntime: {EXTRA}, or pip install onnxruntime') from error
    if not Path(path).is_file():
        raise FileNotFoundError(f'{path}: no such file. Nothing is downloaded: give the path of an ONNX file')
    kind, _, index = device.partition(':')
    provider, available = _PROVIDERS.get(kind), onnxruntime.get_available_providers()
    if provider not in available:
        if strict:
            raise ValueError(f'{path}: this onnxruntime cannot run on {device}, only by {", ".join(available)}. Choose '
                             'the device cpu, or install onnxruntime-gpu in its place')
        provider = CPU
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = _ERRORS
    chosen = [CPU] if provider == CPU else [(provider, {'device_id': int(index or 0)}), *([] if strict else [CPU])]
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=chosen)
    except Exception as error:  # its exceptions have no public base class
        file, text = Path(path), (str(error).splitlines() or [type(error).__name__])[0]
        fault = unusable(file, 'ONNX', has_onnx_start(head_of(file)))
        raise ValueError(f'{fault}. onnxruntime says: {text}') from error
