"""UDP heat maps: encoding, refinement, and the way from a source image to heat maps and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sapiens2.codecs.udp_heatmap import gaussian_blur, newton_step, smooth_around_peaks
from sapiens2.registry import CODECS
from sapiens2.utils.topdown import apply_affine, udp_matrix

CFG = dict(type='UDPHeatmap', input_size=(192, 256), heatmap_size=(48, 64), sigma=2)


def encode(codec, points: np.ndarray, visible: np.ndarray | None = None) -> dict[str, np.ndarray]:
    points = np.asarray(points, dtype=np.float32)
    visible = np.ones(len(points), dtype=np.float32) if visible is None else np.asarray(visible, dtype=np.float32)
    return codec.encode(points[None], visible[None])


def test_peak_is_drawn_at_the_cell_of_the_key_point():
    codec = CODECS.build(CFG)
    cell = np.array([[7.0, 11.0], [0.0, 0.0], [47.0, 63.0]])
    encoded = encode(codec, cell / [47, 63] * [191, 255])
    for heatmap, (x, y) in zip(encoded['heatmaps'], cell.astype(int)):
        assert heatmap[y, x] == pytest.approx(1, abs=1e-4)
        assert heatmap.argmax() == y * 48 + x
        if x > 2:
            assert heatmap[y, x - 2] == pytest.approx(np.exp(-0.5), abs=1e-4)
    assert encoded['heatmaps'].dtype == np.float32 and encoded['heatmaps'].shape == (3, 64, 48)


@pytest.mark.parametrize('seed', range(3))
def test_round_trip_through_the_source_image(seed):
    """Source image -> crop -> heat map -> source image loses less than a tenth of a cell."""
    rng = np.random.default_rng(seed)
    codec = CODECS.build(dict(CFG, input_size=(768, 1024), heatmap_size=(192, 256), sigma=6))
    center, scale = rng.uniform(100, 900, 2), np.array([300, 400]) * rng.uniform(0.3, 3)
    # The peak's Newton step needs the smoothed neighbourhood to lie inside: a margin of the kernel's reach.
    points = center + scale * rng.uniform(-0.45, 0.45, (20, 2))
    crop = apply_affine(points.astype(np.float32), udp_matrix(center, scale, codec.input_size))
    heatmaps = torch.from_numpy(encode(codec, crop)['heatmaps'])[None]
    crop_of = (torch.tensor(values, dtype=torch.float32)[None] for values in (center, scale))
    found, scores = codec.decode_to_image(heatmaps, *crop_of)
    cell = scale[0] / 191
    assert np.abs(found[0].numpy() - points).max() < 0.1 * cell
    assert torch.all(scores > 0.98) and torch.all(scores <= 1)


def test_decode_stretches_the_exact_position_to_the_released_scale():
    codec = CODECS.build(CFG)
    heatmaps = torch.from_numpy(encode(codec, [[100.0, 120.0]])['heatmaps'])[None]
    cells, scores = codec.locate(heatmaps)
    keypoints, same_scores = codec.decode(heatmaps)
    torch.testing.assert_close(keypoints, cells / torch.tensor([47.0, 63]) * torch.tensor([192.0, 256]))
    assert torch.equal(scores, same_scores)
    exact = cells / torch.tensor([47.0, 63]) * torch.tensor([191.0, 255])
    torch.testing.assert_close(exact, torch.tensor([[[100.0, 120.0]]]), atol=0.05, rtol=0)


def test_points_outside_are_drawn_as_far_as_they_reach():
    codec = CODECS.build(CFG)
    cells = np.array([[-3.0, 20], [-6.4, 20], [-9, 20], [50, 66], [60, 20], [20, -20]])
    encoded = encode(codec, cells / [47, 63] * [191, 255])
    weights, heatmaps = encoded['keypoint_weights'], encoded['heatmaps']
    assert weights.tolist() == [1, 1, 0, 1, 0, 0]
    assert np.all((heatmaps.reshape(6, -1).max(1) > 0) == (weights > 0))
    assert heatmaps[0].argmax() == 20 * 48, 'the strongest cell is the one nearest to the point'
    found, scores = codec.locate(torch.from_numpy(heatmaps)[None])
    assert torch.isfinite(found).all()
    assert scores[0, 2] == 0 and scores[0, 0] < 0.5
    assert found[0, 0, 0] == pytest.approx(-0.5, abs=1e-4), 'a peak on the border is refined by half a cell outwards'


def test_points_not_labelled_draw_nothing_whatever_their_coordinates():
    encoded = encode(CODECS.build(CFG), [[np.nan, 3], [20, 20], [30, 30]], [0, 1, 0.2])
    assert encoded['keypoint_weights'].tolist() == [0, 1, 0]
    assert np.isfinite(encoded['heatmaps']).all()
    assert encoded['heatmaps'][[0, 2]].max() == 0


def test_a_labelled_point_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match=r'key points \[1\].*not finite'):
        encode(CODECS.build(CFG), [[1, 2], [np.inf, 3]])


def test_encode_leaves_its_arguments_alone():
    points, visible = np.array([[[5.0, 6], [9, 9]]], np.float32), np.array([[1, 0]], np.float32)
    before = points.copy(), visible.copy()
    CODECS.build(CFG).encode(points, visible)
    assert np.array_equal(points, before[0]) and np.array_equal(visible, before[1])


def test_batched_decoding_is_that_of_each_map():
    codec = CODECS.build(CFG)
    heatmaps = torch.rand(3, 5, 64, 48, generator=torch.Generator().manual_seed(0))
    keypoints, scores = codec.decode(heatmaps)
    for b in range(3):
        for k in range(5):
            one, score = codec.decode(heatmaps[b:b + 1, k:k + 1])
            torch.testing.assert_close(one[0, 0], keypoints[b, k])
            assert score[0, 0] == scores[b, k] == heatmaps[b, k].max()


def test_mirroring_commutes_with_decoding():
    codec = CODECS.build(CFG)
    heatmaps = torch.from_numpy(encode(codec, [[30.3, 60.2], [150.7, 99.1]])['heatmaps'])[None]
    cells, _ = codec.locate(heatmaps)
    mirrored, _ = codec.locate(heatmaps.flip(-1))
    torch.testing.assert_close(mirrored[..., 0], 47 - cells[..., 0], atol=1e-4, rtol=0)
    torch.testing.assert_close(mirrored[..., 1], cells[..., 1], atol=1e-4, rtol=0)


@pytest.mark.parametrize('value', [0.0, -1.0, 0.3])
def test_flat_maps_decode_to_finite_points(value):
    keypoints, scores = CODECS.build(CFG).decode(torch.full((1, 2, 64, 48), value))
    assert torch.isfinite(keypoints).all()
    assert torch.all(scores == value)


def test_half_precision_maps_are_refined_in_float32():
    codec = CODECS.build(CFG)
    heatmaps = torch.from_numpy(encode(codec, [[100.0, 120.0]])['heatmaps'])[None]
    keypoints, scores = codec.decode(heatmaps.bfloat16())
    assert keypoints.dtype == scores.dtype == torch.float32
    torch.testing.assert_close(keypoints, codec.decode(heatmaps)[0], atol=0.5, rtol=0)


def test_newton_step_finds_the_top_of_a_quadratic():
    x, y = torch.meshgrid(torch.arange(-1.0, 2), torch.arange(-1.0, 2), indexing='xy')
    peak = torch.tensor([0.3, -0.2])
    dx, dy = x - peak[0], y - peak[1]
    values = -(dx**2 + 2 * dy**2 + 0.5 * dx * dy)
    torch.testing.assert_close(newton_step(values), -peak, atol=1e-5, rtol=0)
    assert torch.equal(newton_step(torch.ones(2, 3, 3)), torch.zeros(2, 2))


def test_blur_is_a_normalised_separable_gaussian():
    delta = torch.zeros(1, 21, 17)
    delta[0, 10, 8] = 1
    blurred = gaussian_blur(delta, 11)
    assert blurred.sum() == pytest.approx(1, abs=1e-6)
    row = blurred[0, 10, 3:14]
    assert row[5] / row[3] == pytest.approx(np.exp(0.5), rel=1e-5), 'a kernel of 11 cells has a sigma of 2'
    torch.testing.assert_close(blurred[0], torch.outer(blurred[0].sum(1), blurred[0].sum(0)), atol=1e-6, rtol=0)
    small = torch.rand(2, 3, 2)
    assert gaussian_blur(small, 11).shape == small.shape


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match='input_size'):
        CODECS.build(dict(CFG, input_size=(1, 5)))
    with pytest.raises(ValueError, match='sigma'):
        CODECS.build(dict(CFG, sigma=0))
    with pytest.raises(ValueError, match='odd'):
        CODECS.build(dict(CFG, blur_kernel_size=4))
    with pytest.raises(ValueError, match=r'\(B, K, 64, 48\).*\(1, 2, 48, 64\)'):
        CODECS.build(CFG).decode(torch.zeros(1, 2, 48, 64))


def test_a_map_without_a_peak_keeps_its_point_near_the_highest_cell():
    torch.manual_seed(0)
    codec = CODECS.build(dict(type='UDPHeatmap', input_size=(192, 256), heatmap_size=(48, 64), sigma=2))
    heatmaps = torch.rand(1, 200, 64, 48) * 1e-3
    index = heatmaps.flatten(2).argmax(-1)
    points, _ = codec.locate(heatmaps)
    assert (points - torch.stack((index % 48, index // 48), dim=-1)).abs().max() <= 5


@pytest.mark.parametrize('kind', ['peaks', 'two peaks', 'edges', 'noise', 'negative', 'flat', 'zero'])
@pytest.mark.parametrize('size', [(64, 48), (9, 7)])
def test_smoothing_near_the_peak_gives_what_smoothing_everything_gives(kind, size):
    generator = torch.Generator().manual_seed(0)
    height, width = size
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing='ij')
    middle = torch.rand(40, 2, 1, 1, generator=generator) * torch.tensor([height, width])[:, None, None]
    if kind == 'edges':
        middle[:20, 0], middle[20:, 1] = 0, width - 1
    maps = torch.exp(-((rows - middle[:, 0])**2 + (columns - middle[:, 1])**2) / 20)
    noise = torch.rand(40, height, width, generator=generator)
    maps = {'two peaks': torch.maximum(maps, 0.98 * maps.flip(0)), 'noise': noise, 'negative': -noise,
            'flat': torch.ones_like(noise), 'zero': torch.zeros_like(noise)}.get(kind, maps + 0.01 * noise)
    scores, y, x, around, highest = smooth_around_peaks(maps, 11)
    smooth = gaussian_blur(maps, 11)
    assert torch.equal(scores, maps.amax((1, 2))) and torch.equal(highest, smooth.amax((1, 2)))
    for index in range(40):
        place = int(maps[index].flatten().argmax())
        assert (y[index], x[index]) == (place // width, place % width)
        near = [[smooth[index, min(max(int(y[index]) + i, 0), height - 1), min(max(int(x[index]) + j, 0), width - 1)]
                 for j in (-1, 0, 1)] for i in (-1, 0, 1)]
        assert torch.equal(around[index], torch.tensor(near))
