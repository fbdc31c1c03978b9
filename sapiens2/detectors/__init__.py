"""Who finds people in pictures: one interface, several detectors; and how heads are turned."""

from sapiens2.detectors.base import People, PersonDetector
from sapiens2.detectors.by_name import person_detector
from sapiens2.detectors.face_people import FacePeople
from sapiens2.detectors.head_pose import HeadPose, OnnxHeadPose
from sapiens2.detectors.onnx_people import OnnxPeople
from sapiens2.detectors.transformers_people import TransformersPeople

__all__ = ['FacePeople', 'HeadPose', 'OnnxHeadPose', 'OnnxPeople', 'People', 'PersonDetector', 'TransformersPeople',
           'person_detector']
