"""The table of key points: complete, mirrored, and where the names say."""

from __future__ import annotations

import numpy as np

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.synth.people.eyes import make_eye
from sapiens2.synth.people.keypoints import place_keypoints, read_anchors, read_regions
from sapiens2.synth.people.skeleton import make_skeleton
from sapiens2.synth.people.template import SKIN_COUNT, load_template

META = load_metainfo('sapiens308')
NAMES = META['keypoint_names']


def template_points() -> dict[str, np.ndarray]:
    """Key points of the template's own body, eyes ahead: name -> (3,)."""
    template = load_template()
    vertices = template.vertices
    still = np.tile(np.eye(3, 4), (len(template.bones), 1, 1))
    eyes = {side: make_eye(template, vertices, side, (0, 0)) for side in 'LR'}
    points, _ = place_keypoints(template, make_skeleton(template, vertices), still, vertices, eyes)
    return dict(zip(NAMES, points))


def test_every_key_point_has_an_anchor_on_the_skin_a_joint_or_an_eye() -> None:
    anchors, bones = read_anchors(), load_template().bones
    assert set(anchors) == set(NAMES) and len(NAMES) == 308
    for name, anchor in anchors.items():
        if 'vertices' in anchor:
            assert max(anchor['vertices']) < SKIN_COUNT, name
            assert abs(sum(anchor['weights']) - 1) < 1e-3 and min(anchor['weights']) >= 0, name
        else:
            assert anchor.get('joint') in bones or anchor.get('eye') in ('L', 'R'), name


def test_every_left_point_is_the_mirror_of_its_right_one() -> None:
    anchors, mirror = read_anchors(), load_template().mirror
    points = np.stack([template_points()[name] for name in NAMES])
    assert np.abs(points[META['flip_indices']] * [-1, 1, 1] - points).max() < 1e-5
    for name, other in zip(NAMES, np.asarray(NAMES)[META['flip_indices']]):
        if 'vertices' in anchors[name]:
            mirrored = {
                int(mirror[vertex]): weight
                for vertex, weight in zip(anchors[name]['vertices'], anchors[name]['weights'])
            }
            assert mirrored == dict(zip(anchors[other]['vertices'], anchors[other]['weights'])), name


def test_points_lie_where_their_names_say() -> None:
    at = template_points()
    x, y, z = ({name: point[axis] for name, point in at.items()} for axis in range(3))
    assert x['left_shoulder'] > 0 > x['right_shoulder']
    column = ('center_of_glabella', 'center_of_nose_root', 'midpoint_2_of_nose_bridge', 'midpoint_1_of_nose_bridge',
              'midpoint_3_of_nose_bridge', 'tip_of_nose_bridge', 'tip_of_nose', 'bottom_center_of_nose',
              'center_of_cupid_bow', 'center_of_upper_inner_lip', 'center_of_lower_inner_lip',
              'center_of_lower_outer_lip', 'center_of_labiomental_groove', 'tip_of_chin')
    heights = [y[name] for name in column]
    assert heights == sorted(heights, reverse=True)
    assert z['nose'] == max(z[name] for name in NAMES if y[name] > 0.6)
    # Middle points are numbered from the left of the picture, which is the person's right.
    for line in ('upper_outer_lip', 'lower_outer_lip', 'upper_inner_lip', 'lower_inner_lip'):
        along = [x[f'midpoint_{number}_of_{line}'] for number in (3, 1, 4, 5, 2, 6)]
        assert along == sorted(along), line
    for side in 'lr':
        for line in ('upper_lash_line', 'lower_lash_line', 'upper_eyelid_line', 'lower_eyelid_line',
                     'upper_crease_line'):
            along = [
                x[f'{side}_{name}_of_{line}'] for name in ('midpoint_3', 'midpoint_1', 'midpoint_4', 'centerpoint',
                                                           'midpoint_5', 'midpoint_2', 'midpoint_6')
            ]
            assert along == sorted(along), (side, line)
        lids = [
            y[f'{side}_centerpoint_of_{line}'] for line in ('upper_crease_line', 'upper_lash_line', 'lower_lash_line')
        ]
        assert y[f'upper_midpoint_1_of_{side}_eyebrow'] > y[f'lower_midpoint_1_of_{side}_eyebrow'] > lids[0] > lids[
            1] > lids[2]
        assert x[f'{side}_border_of_iris_3'] > x[f'{side}_center_of_iris'] > x[f'{side}_border_of_iris_9']
        assert y[f'{side}_border_of_iris_12'] > y[f'{side}_border_of_pupil_12'] > y[f'{side}_border_of_iris_6']
    for side, sign in (('left', 1), ('right', -1)):
        for finger in ('thumb', 'forefinger', 'middle_finger', 'ring_finger', 'pinky_finger'):
            from_wrist = [
                np.linalg.norm(at[f'{side}_{finger}{joint}'] - at[f'{side}_wrist'])
                for joint in ('_third_joint', '2', '3', '4')
            ]
            assert from_wrist == sorted(from_wrist), (side, finger)
        assert z[f'{side}_big_toe'] > z[f'{side}_small_toe'] > z[f'{side}_heel']
        assert sign * x[f'{side}_small_toe'] > sign * x[f'{side}_big_toe']
        assert z[f'{side}_cubital_fossa'] > z[f'{side}_elbow'] > z[f'{side}_olecranon']
        assert y[f'{side}_acromion'] > y[f'{side}_shoulder']


def test_lips_are_mirrored_and_meet_at_the_corners() -> None:
    mirror, regions = load_template().mirror, read_regions()
    upper, lower = set(regions['upper_lip'].tolist()), set(regions['lower_lip'].tolist())
    for vertices in (upper, lower):
        assert {int(mirror[vertex]) for vertex in vertices} == vertices
    corners = load_template().vertices[list(upper & lower)]
    assert (np.abs(corners[:, 0]) > 0.02).all()
