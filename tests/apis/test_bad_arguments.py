"""Arguments of another kind or out of range: an error that names them, before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.apis.outputs import OutputOptions

PICTURE = np.zeros((40, 30, 3), np.uint8)


@pytest.fixture(scope='module')
def pose() -> Sapiens2Inferencer:
    return Sapiens2Inferencer('pose', 'tiny', 'random', 'cpu', 'fp32', (64, 48))


@pytest.mark.parametrize('arguments, kind, words', [
    (dict(task=None), TypeError, 'task must be one of pose'), (dict(task=[]), ValueError, 'task names none'),
    (dict(task=[None]), TypeError, 'got None among them'),
    (dict(task=('seg', 'seg')), ValueError, 'task names one twice'),
    (dict(task='seg', img_size=512), TypeError, r'img_size must be \(H, W\).*got 512'),
    (dict(task='seg', img_size=(64, 'b')), TypeError, 'img_size must be a whole number'),
    (dict(task='seg', img_size=(64, 0)), ValueError, 'img_size must be a whole number from 1, got 0'),
    (dict(task='seg', weights=''), ValueError, 'weights: the name of the file is empty'),
    (dict(task='seg', model='tinyy'), ValueError, "Did you mean 'tiny'"),
])
def test_of_the_inferencer(arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        Sapiens2Inferencer(**{'model': 'tiny', **arguments}, device='cpu')


@pytest.mark.parametrize('arguments, kind, words', [
    (dict(outputs=dict), TypeError, r'outputs must be OutputOptions\(...\)'),
    (dict(outputs={}), TypeError, 'outputs must be'),
    (dict(batch_size='2'), TypeError, "batch_size must be a whole number from 1, got '2'"),
    (dict(batch_size=0), ValueError, 'batch_size .* got 0'), (dict(batch_size=-1), ValueError, 'batch_size .* got -1'),
    (dict(box_thr=float('nan')), ValueError, 'box_thr must be a number from 0 to 1, got nan'),
    (dict(box_thr='0.3'), TypeError, 'box_thr must be a number from 0 to 1'),
    (dict(out_dir=''), ValueError, 'folder for the results is empty'),
    (dict(boxes=[['a', 1, 2, 3]]), ValueError, r'boxes\[0\] must be an array of numbers'),
    (dict(boxes=[]), ValueError, '0 arrays for 1 images.*an empty one for an image without people'),
    (dict(boxes=5), TypeError, 'boxes must be a COCO JSON file.*got int'),
    (dict(boxes={'a': 1}), TypeError, 'boxes must be a COCO JSON file.*got dict'),
])
def test_of_a_call(pose: Sapiens2Inferencer, arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        pose.iterate(PICTURE, **{**({} if 'boxes' in arguments else {'whole_image': True}), **arguments})


@pytest.mark.parametrize('value', [-3, float('nan'), 7])
def test_of_the_outputs(value: float) -> None:
    with pytest.raises(ValueError, match='score_thr must be a number from 0 to 1'):
        OutputOptions(score_thr=value)


def test_one_person_may_be_four_numbers(pose: Sapiens2Inferencer) -> None:
    boxes = ([1, 2, 20, 30], [[1, 2, 20, 30]], [[[1, 2, 20, 30]]], np.array([1, 2, 20, 30.]))
    for result in (pose(PICTURE, boxes=given)[0] for given in boxes):
        assert result['bboxes'].tolist() == [[1, 2, 20, 30]] and result['keypoints'].shape == (1, 308, 2)


def test_one_bad_array_does_not_end_the_others(pose: Sapiens2Inferencer) -> None:
    results = pose([np.zeros(()), np.zeros(7, np.uint8), PICTURE], whole_image=True)
    assert [result['error'] is None for result in results] == [False, False, True]
    assert 'shape (7,)' in results[1]['error']


def test_iterators_of_arrays_and_what_goes_with_them(pose: Sapiens2Inferencer) -> None:
    results = pose((PICTURE for _ in range(2)), whole_image=True)
    assert [len(result['keypoints']) for result in results] == [1, 1]
    with pytest.raises(ValueError, match='inputs is an iterator'):
        pose(iter([PICTURE]), boxes=[[[1, 2, 20, 30]]])
