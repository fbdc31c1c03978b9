"""Properties of heat maps and of crops, for sizes and boxes as odd as they come."""

from __future__ import annotations

import numpy as np
import torch
from fuzz.budget import bounded, fuzz
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sapiens2.codecs import UDPHeatmap
from sapiens2.detectors.nms import box_iou, nms, soft_nms
from sapiens2.utils.topdown import apply_affine, box_to_center_scale, points_to_image, udp_matrix

SIDE = st.integers(2, 70)
ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)
PIXEL = st.floats(-5000, 5000, width=32)
LENGTH = st.floats(0.125, 5000, width=32)


@fuzz(150)
@given(input_size=st.tuples(SIDE, SIDE), size=st.tuples(SIDE, SIDE),
       place=st.tuples(st.floats(0.2, 0.8), st.floats(0.2, 0.8)),
       sigma=st.floats(1.5, 4))
def test_a_drawn_point_is_found_again(input_size: tuple[int, int], size: tuple[int, int], place: tuple[float, float],
                                      sigma: float) -> None:
    codec = UDPHeatmap(input_size, size, sigma=sigma)
    point = np.array(place) * (np.array(input_size) - 1)
    with bounded():
        drawn = codec.encode(point[None, None], np.ones((1, 1)))
        cells, scores = codec.locate(torch.from_numpy(drawn['heatmaps'])[None])
    assert 0 <= drawn['heatmaps'].min() and drawn['heatmaps'].max() <= 1 and drawn['keypoint_weights'][0] == 1
    expected = np.array(place) * (np.array(size) - 1)
    # Close to an edge the smoothed peak leans inwards, by less than a cell and a half.
    far = min(size) > 6 * sigma + 12 and 3 * sigma + 6 < min(*expected, *(np.array(size) - 1 - expected))
    assert np.abs(cells[0, 0].numpy() - expected).max() < (0.02 if far else 6)


@fuzz(150)
@given(points=arrays.arrays(np.float32, (1, 5, 2), elements=ANY),
       visible=arrays.arrays(np.float32, (1, 5), elements=ANY))
def test_any_points_are_drawn_or_refused(points: np.ndarray, visible: np.ndarray) -> None:
    codec = UDPHeatmap((48, 64), (12, 16), sigma=2)
    try:
        with bounded(), np.errstate(all='ignore'):
            drawn = codec.encode(points, visible)
    except ValueError as error:
        assert 'not finite' in str(error)
        return
    assert np.isfinite(drawn['heatmaps']).all() and drawn['heatmaps'].min() >= 0 and drawn['heatmaps'].max() <= 1


@fuzz(150)
@given(arrays.arrays(np.float32, (1, 2, 16, 12), elements=st.floats(-2.0**99, 2.0**99, width=32)))
def test_any_maps_give_finite_points(maps: np.ndarray) -> None:
    with bounded():
        cells, scores = UDPHeatmap((48, 64), (12, 16), sigma=2).locate(torch.from_numpy(maps))
    assert cells.isfinite().all() and scores.isfinite().all()


@fuzz(200)
@given(corner=st.tuples(PIXEL, PIXEL), extent=st.tuples(LENGTH, LENGTH),
       size=st.tuples(st.integers(2, 4096), st.integers(2, 4096)),
       shares=arrays.arrays(np.float64, (4, 2), elements=st.floats(0, 1)))
def test_crops_and_back(corner: tuple[float, float], extent: tuple[float, float], size: tuple[int, int],
                        shares: np.ndarray) -> None:
    box = np.array([*corner, *np.add(corner, extent)], dtype=np.float32)
    center, scale = box_to_center_scale(box, aspect=size[0] / size[1])
    if not (scale > 0).all():  # single precision has no such narrow box so far out
        return
    points = box[:2] + shares * (box[2:] - box[:2])
    there = apply_affine(points, udp_matrix(center, scale, size))
    back = points_to_image(there, center.astype(np.float64), scale.astype(np.float64), size)
    # The matrix is of single precision: its shift is a multiple of where the box lies.
    slack = 1e-5 * (np.abs(box).max() + scale.max()) + 1e-4
    np.testing.assert_allclose(back, points, atol=float(slack))


BOXES = st.integers(0, 8).flatmap(lambda count: st.tuples(
    arrays.arrays(np.float64, (count, 4), elements=st.floats(-1e6, 1e6)),
    arrays.arrays(np.float64, count, elements=st.floats(0, 1))))


@fuzz(200)
@given(BOXES, st.floats(0, 1))
def test_suppression(people: tuple[np.ndarray, np.ndarray], overlap: float) -> None:
    boxes, scores = people
    with bounded():
        shared = box_iou(boxes, boxes)
        kept, (soft, lowered) = nms(boxes, scores, overlap), soft_nms(boxes, scores, least=0.1)
    assert ((shared >= 0) & (shared <= 1 + 1e-9)).all()
    assert len(set(kept)) == len(kept) and (np.diff(scores[kept]) <= 0).all()
    assert all(shared[a, b] <= overlap for a in kept for b in kept if a != b)
    assert len(set(soft)) == len(soft) and (lowered >= 0.1).all() and (lowered <= scores[soft]).all()
    if len(boxes):
        assert kept[0] == np.argmax(scores)
