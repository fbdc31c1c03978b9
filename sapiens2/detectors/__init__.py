"""Who finds people in pictures: one interface, several detectors."""

from sapiens2.detectors.base import People, PersonDetector
from sapiens2.detectors.face_people import FacePeople
from sapiens2.detectors.transformers_people import TransformersPeople

__all__ = ['FacePeople', 'People', 'PersonDetector', 'TransformersPeople']
