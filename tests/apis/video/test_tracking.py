"""Ids of people, calm points, and boxes that show the same person."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sapiens2.apis.video.one_euro import OneEuro, TrackSmoother
from sapiens2.apis.video.tracker import Tracker, distance_iou
from sapiens2.detectors.nms import box_iou, nms, soft_nms

pytest.importorskip('scipy')


def walk(time: float) -> np.ndarray:
    """Two people who walk through each other, one behind the other's back."""
    left, right = 20 + 100 * time, 320 - 100 * time
    return np.array([[left, 50, left + 60, 250], [right, 60, right + 60, 270]])


def follow(tracker, steps, detect):
    found = []
    for step in steps:
        boxes, names = detect(step)
        ids = tracker(boxes, np.full(len(boxes), 0.9), step)
        found += list(zip(names, ids.tolist()))
    return {name: sorted({ids for other, ids in found if other == name}) for name, _ in found}


def test_people_who_cross_keep_their_ids():
    rng = np.random.default_rng(0)

    def detect(time):
        order = rng.permutation(2)
        return (walk(time) + rng.normal(0, 2, (2, 4)))[order], order.tolist()
    assert follow(Tracker(), np.arange(0, 3, 1 / 30), detect) in ({0: [1], 1: [2]}, {0: [2], 1: [1]})


def test_a_short_gap_keeps_an_id_and_a_long_one_ends_it():
    def detect(gap):
        return lambda time: (walk(time)[:1], ['a']) if not 1 < time < 1 + gap else (np.zeros((0, 4)), [])
    assert follow(Tracker(), np.arange(0, 3, 0.1), detect(0.5)) == {'a': [1]}
    assert follow(Tracker(), np.arange(0, 3, 0.1), detect(1.5)) == {'a': [1, 2]}


def test_steps_of_time_may_vary():
    times = np.cumsum(np.random.default_rng(1).choice([0.02, 0.05, 0.2], 40))
    assert follow(Tracker(), times[times < 2.5], lambda time: (walk(time)[:1], ['a'])) == {'a': [1]}


def test_low_scores_continue_a_track_and_begin_none():
    tracker = Tracker(new_track=0.5)
    boxes = walk(0)
    assert tracker(boxes, np.array([0.9, 0.4]), 0.0).tolist() == [1, 0]
    assert tracker(boxes, np.array([0.4, 0.4]), 0.1).tolist() == [1, 0]
    assert tracker(boxes, np.array([0.9, 0.9]), 0.2).tolist() == [1, 2]
    assert tracker(np.zeros((0, 4)), np.zeros(0), 0.3).shape == (0,)


def test_a_child_is_not_taken_for_a_grown_up_at_the_same_place():
    tracker = Tracker()
    assert tracker(np.array([[0, 0, 100, 300.0]]), np.ones(1), 0.0).tolist() == [1]
    assert tracker(np.array([[20, 200, 60, 300.0]]), np.ones(1), 0.1).tolist() == [2]


def test_a_restored_tracker_goes_on():
    first, second = Tracker(), Tracker()
    for time in (0.0, 0.1, 0.2):
        first(walk(time), np.ones(2), time)
    second.restore(json.loads(json.dumps(first.state())))
    for time in (0.3, 0.7):
        assert first(walk(time), np.ones(2), time).tolist() == second(walk(time), np.ones(2), time).tolist() == [1, 2]


def test_distance_iou_by_hand():
    boxes = np.array([[0, 0, 2, 2.0]])
    others = np.array([[0, 0, 2, 2], [1, 0, 3, 2], [4, 0, 6, 2.0]])
    assert distance_iou(boxes, others)[0] == pytest.approx([1, 1 / 3 - 1 / 13, -16 / 40])


def test_nms_by_hand():
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 10], [0, 0, 10, 4]])
    scores = np.array([0.6, 0.9, 0.5, 0.8])
    assert box_iou(boxes[:2], boxes[:2])[0].tolist() == pytest.approx([1, 0.9])
    assert nms(boxes, scores).tolist() == [1, 3, 2]
    assert nms(boxes, scores, 1.0).tolist() == [1, 3, 0, 2]
    assert nms(np.zeros((0, 4)), np.zeros(0)).shape == (0,)
    kept, lowered = soft_nms(boxes, scores, least=0.3)
    assert kept.tolist() == [1, 3, 2]
    assert lowered == pytest.approx([0.9, 0.8 * np.exp(-(4 / 9) ** 2 / 0.5), 0.5])


def test_what_stands_still_is_calmed_and_what_moves_is_followed():
    rng = np.random.default_rng(0)
    times = np.arange(0, 4, 1 / 30)
    still = rng.normal(0, 1, (len(times), 1, 2))
    smooth = OneEuro(1.5, 12.0)
    calm = np.array([smooth(value, time, 100.0) for value, time in zip(still, times)])
    assert calm[30:].std() < 0.6 * still[30:].std()
    smooth = OneEuro(1.5, 12.0)
    moving = np.stack([200 * times, 50 * times], axis=-1)[:, None]  # two sizes a second
    followed = np.array([smooth(value, time, 100.0) for value, time in zip(moving, times)])
    assert np.abs(followed[60:] - moving[60:]).max() < 100 * 0.02


def test_the_filter_does_not_depend_on_units_and_axes():
    rng = np.random.default_rng(0)
    values = rng.normal(0, 5, (20, 3, 2)).cumsum(axis=0)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    first, second = OneEuro(1.0, 5.0), OneEuro(1.0, 5.0)
    for step, value in enumerate(values):
        expected = first(value, step / 25, 80.0)
        assert second(7 * value @ turn, step / 25, 560.0) == pytest.approx(7 * expected @ turn)


def test_tracks_have_filters_of_their_own_that_can_be_stored():
    first, second = (TrackSmoother(1.0, 5.0, 1.0) for _ in range(2))
    point = np.array([[3.0, 4.0]])
    first(1, point, 0.0, 10.0)
    assert first(2, point + 50, 0.1, 10.0).tolist() == (point + 50).tolist()
    second.restore(json.loads(json.dumps(first.state())))
    assert second(1, point + 1, 0.1, 10.0) == pytest.approx(first(1, point + 1, 0.1, 10.0))
    first.forget(5.0)
    assert first(1, point + 9, 5.0, 10.0).tolist() == (point + 9).tolist()
