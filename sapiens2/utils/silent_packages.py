"""Packages that report their use to their makers over the network, loaded with that switched off."""

from __future__ import annotations

import os
import sys
from types import ModuleType


def import_onnxruntime() -> ModuleType:
    """onnxruntime. It asks once, when it is loaded, whether it may report.

    Raises:
        ImportError: if it is missing.
    """
    os.environ.setdefault('ORT_DISABLE_TELEMETRY', '1')
    import onnxruntime
    return onnxruntime


def import_openvino() -> ModuleType:
    """OpenVINO. It reports by a package of its own, and does without where that is missing.

    Raises:
        ImportError: if it is missing.
    """
    sys.modules.setdefault('openvino_telemetry', None)
    import openvino
    return openvino
