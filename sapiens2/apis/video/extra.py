"""What the extra ``video`` installs, loaded when a video is met."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

_INSTALL = 'videos need {}: pip install "sapiens2[video]"'


def import_av() -> ModuleType:
    """PyAV, the Python side of FFmpeg's libraries, silent: FFmpeg's own messages name no file.

    Raises:
        ImportError: that says how to install it.
    """
    try:
        import av
        import av.logging
    except ImportError as error:
        raise ImportError(_INSTALL.format('PyAV')) from error
    av.logging.set_level(av.logging.PANIC)
    return av


def import_assignment() -> Callable[..., Any]:
    """SciPy's ``linear_sum_assignment``.

    Raises:
        ImportError: that says how to install it.
    """
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise ImportError(_INSTALL.format('SciPy')) from error
    return linear_sum_assignment
