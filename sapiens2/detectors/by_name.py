"""Detectors as a command line names them."""

from __future__ import annotations

from sapiens2.detectors.base import PersonDetector
from sapiens2.detectors.face_people import FacePeople
from sapiens2.detectors.onnx_people import OnnxPeople
from sapiens2.detectors.transformers_people import TransformersPeople

FACES = 'faces'


def person_detector(name: str, threshold: float = 0.5) -> PersonDetector:
    """'faces', an ONNX file, or a detector of transformers: its folder, or a repository in the local cache.

    Args:
        name: which.
        threshold: least score of a box; faces have their own.
    """
    if name == FACES:
        return FacePeople()
    if name.lower().endswith('.onnx'):
        return OnnxPeople(name, threshold=threshold)
    return TransformersPeople(name, threshold)
