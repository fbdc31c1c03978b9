"""Maths of the metrics, in two steps.

``*_sums`` reduce a batch to a small dictionary of tensors that may be added: those of any two parts of a validation
set, added, are those of the whole. ``*_scores`` turn the total into figures. Everything runs where its inputs are.
"""

from sapiens2.evaluation.functional.albedo import albedo_scores, albedo_sums
from sapiens2.evaluation.functional.alignment import (DEPTH_FITS, POINT_FITS, AlignmentError, align_depth,
                                                      align_points, disparity_to_depth)
from sapiens2.evaluation.functional.depths import depth_scores, depth_sums
from sapiens2.evaluation.functional.keypoints import (PCK_PERCENT, STATISTICS, coco_scores, coco_statistics,
                                                      distance_scores, distance_sums, extent, keypoint_annotation,
                                                      person_index, person_score)
from sapiens2.evaluation.functional.normals import angles_deg, normal_scores, normal_sums
from sapiens2.evaluation.functional.pointmaps import pointmap_normals, pointmap_scores, pointmap_sums
from sapiens2.evaluation.functional.segmentation import class_figures, class_scores, seg_scores, seg_sums
from sapiens2.evaluation.functional.similarity import gradient_l1, structural_similarity
from sapiens2.evaluation.functional.sums import Sums, add, masked

__all__ = [
    'DEPTH_FITS', 'PCK_PERCENT', 'POINT_FITS', 'STATISTICS', 'AlignmentError', 'Sums', 'add',
    'albedo_scores', 'albedo_sums', 'align_depth', 'align_points', 'angles_deg', 'class_figures', 'class_scores',
    'coco_scores', 'coco_statistics', 'depth_scores', 'depth_sums', 'disparity_to_depth', 'distance_scores',
    'distance_sums', 'extent', 'gradient_l1', 'keypoint_annotation', 'masked', 'normal_scores', 'normal_sums',
    'person_index', 'person_score', 'pointmap_normals', 'pointmap_scores', 'pointmap_sums', 'seg_scores', 'seg_sums',
    'structural_similarity'
]
