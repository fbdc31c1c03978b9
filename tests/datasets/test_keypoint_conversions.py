"""Key points of COCO, COCO-WholeBody and OpenPose made of the 308, and back."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo
from sapiens2.datasets.metainfo.conversions import RELATIONS, convert_keypoints, keypoint_conversion
from sapiens2.utils.choices import KEYPOINT_SETS
from sapiens2.utils.suggest import UnknownNameError

TABLE = load_metainfo('sapiens308')
NAMES = TABLE['keypoint_names']


def person() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.uniform(0, 100, (3, 308, 2)).astype(np.float32), rng.uniform(0, 1, (3, 308)).astype(np.float32)


def test_coco_has_its_order_and_nothing_is_missing():
    points, scores = person()
    assert keypoint_conversion('coco17').names == COCO17_NAMES and not keypoint_conversion('coco17').missing
    converted, found = convert_keypoints(points, scores, 'coco17')
    assert (converted == points[:, TABLE['coco17_indices']]).all()
    assert (found == scores[:, TABLE['coco17_indices']]).all()


def test_the_same_points_of_wholebody_are_those_of_the_released_table():
    conversion = keypoint_conversion('wholebody133')
    same = {i: sources[0] for i, (sources, relation) in enumerate(zip(conversion.sources, conversion.relations))
            if relation == 'same'}
    assert same == TABLE['wholebody133_to_308'] and len(conversion.names) == 133
    assert conversion.missing == [f'face_{i}' for i in range(17) if i != 8]


def test_only_exact_points_on_request():
    exact = keypoint_conversion('wholebody133', near=False)
    assert len(exact.missing) == 133 - 53 and set(exact.relations) == {'same', 'none'}
    points, scores = convert_keypoints(*person(), 'wholebody133', near=False)
    missing = [exact.names.index(name) for name in exact.missing]
    assert np.isnan(points[:, missing]).all() and (scores[:, missing] == 0).all()
    assert np.isfinite(np.delete(points, missing, axis=1)).all()


def test_neck_and_middle_of_the_hips_of_openpose():
    points, scores = person()
    converted, found = convert_keypoints(points, scores, 'openpose25')
    names = keypoint_conversion('openpose25').names
    for name, parts in (('Neck', 'shoulder'), ('MidHip', 'hip')):
        pair = [NAMES.index(f'{side}_{parts}') for side in ('left', 'right')]
        assert np.allclose(converted[:, names.index(name)], points[:, pair].mean(axis=1))
        assert np.allclose(found[:, names.index(name)], scores[:, pair].min(axis=1))
    assert not keypoint_conversion('openpose25').missing and names[20] == 'LSmallToe'


@pytest.mark.parametrize('name', KEYPOINT_SETS)
def test_there_and_back_again(name):
    """What comes back is what was, and what cannot come back is named."""
    points, scores = person()
    there = keypoint_conversion(name, near=False)
    back = keypoint_conversion('sapiens308', name, near=False)
    assert list(back.names) == NAMES and set(back.relations) <= set(RELATIONS)
    returned, found = back.apply(*there.apply(points, scores))
    known = np.isfinite(returned[0, :, 0])
    assert known.sum() == there.relations.count('same') == 308 - len(back.missing)
    assert (returned[:, known] == points[:, known]).all() and (found[:, ~known] == 0).all()


def test_the_wrist_does_not_come_back_from_the_root_of_the_hand():
    back = keypoint_conversion('sapiens308', 'wholebody133')
    for side, index in (('left', 9), ('right', 10)):
        assert back.sources[NAMES.index(f'{side}_wrist')] == (index,)


def mirrored(name: str) -> str:
    """The other side's name in COCO-WholeBody; the face by the order of its 68 points."""
    if name.startswith('face_'):
        number = int(name.removeprefix('face_'))
        groups = {0: 16, 17: 26, 31: 35, 48: 54, 55: 59, 60: 64, 65: 67}
        pairs = {i: first + last - i for first, last in groups.items() for i in range(first, last + 1)}
        pairs.update({i: i for i in range(27, 31)})
        pairs.update({36: 45, 37: 44, 38: 43, 39: 42, 40: 47, 41: 46, 45: 36, 44: 37, 43: 38, 42: 39, 47: 40, 46: 41})
        return f'face_{pairs[number]}'
    if name.startswith('left_'):
        return 'right_' + name.removeprefix('left_')
    return 'left_' + name.removeprefix('right_') if name.startswith('right_') else name


def test_a_mirrored_person_has_mirrored_points():
    """Each point's other side is made of the other sides of what it is made of."""
    conversion = keypoint_conversion('wholebody133')
    flip = TABLE['flip_indices']
    for name, sources in zip(conversion.names, conversion.sources):
        other = conversion.sources[conversion.names.index(mirrored(name))]
        assert {flip[source] for source in sources} == set(other), name


def test_a_single_person_and_points_in_space():
    points = np.random.default_rng(0).normal(size=(308, 3))
    converted, scores = convert_keypoints(points, None, 'openpose25')
    assert converted.shape == (25, 3) and (scores == 1).all()


def test_what_does_not_fit_is_named():
    with pytest.raises(UnknownNameError, match="'coco71'.*'coco17'"):
        keypoint_conversion('coco71')
    with pytest.raises(ValueError, match='one of the two sets must be sapiens308'):
        keypoint_conversion('coco17', 'openpose25')
    with pytest.raises(ValueError, match=r'\(\.\.\., 308, coordinates\).*\(17, 2\)'):
        convert_keypoints(np.zeros((17, 2)), None, 'openpose25')
