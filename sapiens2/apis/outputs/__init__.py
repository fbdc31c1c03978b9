"""How results look as files: numbers for programs, pictures for people. Every file appears whole or not at all.

Formats, schemas and every geometric convention are described in ``docs/en/user_guides/outputs.md``.
"""

from sapiens2.apis.outputs.camera import (Camera, apply_camera, estimate_intrinsics, read_camera,
                                          rescale_to_camera)
from sapiens2.apis.outputs.coco_results import collect_coco
from sapiens2.apis.outputs.maps import depth_to_millimetres
from sapiens2.apis.outputs.options import FIELD_OF_TASK, NUMBER_ENDINGS, OutputOptions
from sapiens2.apis.outputs.people_maps import people_map
from sapiens2.apis.outputs.pose_files import pose_document
from sapiens2.apis.outputs.ready import check_keypoints, check_packages
from sapiens2.apis.outputs.write import result_files, result_picture, write_result
from sapiens2.datasets.metainfo.conversions import convert_keypoints, keypoint_conversion

__all__ = [
    'FIELD_OF_TASK', 'NUMBER_ENDINGS', 'Camera', 'OutputOptions', 'apply_camera', 'check_keypoints', 'check_packages',
    'collect_coco', 'convert_keypoints', 'depth_to_millimetres', 'estimate_intrinsics', 'keypoint_conversion',
    'people_map', 'pose_document', 'read_camera', 'rescale_to_camera', 'result_files', 'result_picture', 'write_result'
]
