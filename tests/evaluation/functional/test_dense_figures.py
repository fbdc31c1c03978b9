"""Figures of the dense tasks on cases worked by hand; shards sum to the whole."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sapiens2.evaluation import functional

NUM_CLASSES = 4
DENSE = {
    'normal': (functional.normal_sums, functional.normal_scores),
    'pointmap': (functional.pointmap_sums, functional.pointmap_scores),
    'albedo': (functional.albedo_sums, functional.albedo_scores),
}


def full(values: list[float], height: int = 4, width: int = 5) -> Tensor:
    """(1, C, H, W) with the same vector everywhere."""
    return torch.tensor(values).view(1, -1, 1, 1).expand(1, -1, height, width).clone()


def all_pixels(maps: Tensor) -> Tensor:
    return torch.ones_like(maps[:, :1], dtype=torch.bool)


def random_maps(count: int = 4, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    pred, target = (torch.rand(count, 3, 12, 14, generator=generator) for _ in range(2))
    return pred, target, torch.rand(count, 1, 12, 14, generator=generator) > 0.3


def tilted(degrees: float) -> list[float]:
    return [0.0, math.sin(math.radians(degrees)), -math.cos(math.radians(degrees))]


@pytest.mark.parametrize('degrees', [0.0, 1e-3, 45.0, 90.0, 179.9, 180.0])
def test_angles_are_exact_for_vectors_of_any_length(degrees: float) -> None:
    angle = functional.angles_deg(torch.tensor([[0.0, 0.0, -3.0]]), 0.2 * torch.tensor([tilted(degrees)]))
    assert angle.item() == pytest.approx(degrees, abs=1e-4, rel=1e-3)


def test_vector_without_direction_is_at_a_right_angle() -> None:
    assert functional.angles_deg(torch.zeros(1, 3), torch.tensor([[0.0, 1.0, 0.0]])).item() == 90


def test_normal_figures_of_three_angles() -> None:
    target = full([0.0, 0.0, -1.0], 1, 4)
    pred = torch.tensor([tilted(degrees) for degrees in (4, 10, 25, 170)]).T.reshape(1, 3, 1, 4)
    mask = torch.tensor([True, True, True, False]).view(1, 1, 1, 4)
    scores = functional.normal_scores(functional.normal_sums(pred, target, mask))
    assert scores == pytest.approx({
        'mean_deg': 13, 'rmse_deg': math.sqrt((16 + 100 + 625) / 3), 'median_deg': 10.0,
        'within_5_deg_percent': 100 / 3, 'within_11_25_deg_percent': 200 / 3, 'within_22_5_deg_percent': 200 / 3,
        'within_30_deg_percent': 100}, abs=0.26)
    assert scores['mean_deg'] == pytest.approx(13, abs=1e-4)


def test_median_is_near_the_exact_one() -> None:
    pred, target, mask = random_maps()
    pred = pred - 0.5
    exact = functional.angles_deg(functional.masked(pred, mask), functional.masked(target, mask)).median()
    assert functional.normal_scores(functional.normal_sums(pred, target, mask))['median_deg'] == pytest.approx(
        exact.item(), abs=0.25)


def test_opposite_normals_fall_into_the_last_bin() -> None:
    target = full([0.0, 0.0, -1.0])
    scores = functional.normal_scores(functional.normal_sums(-target, target, all_pixels(target)))
    assert scores['median_deg'] == 179.75 and scores['mean_deg'] == pytest.approx(180)


def test_pointmap_figures_of_a_shift() -> None:
    rows, columns = torch.meshgrid(torch.arange(4.0), torch.arange(5.0), indexing='ij')
    plane = torch.stack((0.01 * columns, 0.01 * rows, torch.full_like(rows, 2.0)))[None]
    shifted = plane + torch.tensor([0.03, 0.0, -0.06]).view(1, 3, 1, 1)
    scores = functional.pointmap_scores(functional.pointmap_sums(shifted, plane, all_pixels(plane)))
    distance = math.hypot(0.03, 0.06)
    assert scores == pytest.approx({
        'l2_m': distance, 'rmse_m': distance, 'x_mae_m': 0.03, 'y_mae_m': 0, 'z_mae_m': 0.06,
        'within_5_cm_percent': 0, 'within_10_cm_percent': 100, 'within_20_cm_percent': 100,
        'normal_mean_deg': 0, 'normal_median_deg': 0.25, 'normal_rmse_deg': 0, 'normal_within_5_deg_percent': 100,
        'normal_within_11_25_deg_percent': 100, 'normal_within_22_5_deg_percent': 100,
        'normal_within_30_deg_percent': 100}, abs=1e-2)


def plane_of_slope(right: float, down: float, size: tuple[int, int] = (9, 8)) -> Tensor:
    """(1, 3, H, W) points one centimetre apart, whose depth grows by ``right`` and ``down`` of that a pixel."""
    rows, columns = torch.meshgrid(*(0.01 * torch.arange(float(side)) for side in size), indexing='ij')
    return torch.stack((columns, rows, 2 + right * columns + down * rows))[None]


def test_normals_of_a_plane() -> None:
    normals = functional.pointmap_normals(plane_of_slope(0.5, -0.25))
    expected = torch.tensor([-0.5, 0.25, 1.0]) / math.hypot(0.5, 0.25, 1.0)
    inner = normals[..., 2:-2, 2:-2]
    torch.testing.assert_close(inner / inner.norm(dim=1, keepdim=True), expected.view(1, 3, 1, 1).expand_as(inner),
                               rtol=0, atol=1e-4)
    ring = torch.ones(9, 8, dtype=torch.bool)
    ring[1:-1, 1:-1] = False
    assert torch.equal((normals == 0).all(1)[0], ring)


@pytest.mark.parametrize('size', [(1, 1), (2, 7), (3, 3)])
def test_tiny_point_maps_have_figures(size: tuple[int, int]) -> None:
    plane = plane_of_slope(0.5, 0.0, size)
    scores = functional.pointmap_scores(functional.pointmap_sums(plane, plane, all_pixels(plane)), missing_deg=90)
    assert scores['l2_m'] == 0 and 0 <= scores['normal_mean_deg'] <= 90


def test_pixels_without_normal_are_left_out_or_get_an_angle() -> None:
    target, pred = plane_of_slope(0.0, 0.0), plane_of_slope(1.0, 0.0)
    sums = functional.pointmap_sums(pred, target, all_pixels(target))
    assert functional.pointmap_scores(sums)['normal_mean_deg'] == pytest.approx(45, abs=1)
    inner, whole = 7 * 6, 9 * 8
    mean = functional.pointmap_scores(sums)['normal_mean_deg']
    assert functional.pointmap_scores(sums, missing_deg=90)['normal_mean_deg'] == pytest.approx(
        (inner * mean + (whole - inner) * 90) / whole)
    assert functional.pointmap_scores(functional.pointmap_sums(target, target, all_pixels(target)))[
        'normal_rmse_deg'] == 0


@pytest.mark.parametrize('nothing', [math.nan, math.inf, 0.0])
def test_missing_points_cost_only_the_normals_around(nothing: float) -> None:
    target, mask = plane_of_slope(0.0, 0.0, (12, 12)), torch.ones(1, 1, 12, 12, dtype=torch.bool)
    target[0, :, :, :3], mask[..., :3] = nothing, False
    sums = functional.pointmap_sums(plane_of_slope(0.0, 0.0, (12, 12)), target, mask)
    # Lost: two columns beside the hole and the outermost ring.
    assert sums['normals'] == 10 * 6 and sums['pixels'] == 12 * 9
    assert functional.pointmap_scores(sums)['normal_mean_deg'] == 0


def test_flat_prediction_is_at_a_right_angle() -> None:
    target = plane_of_slope(0.0, 0.0)
    sums = functional.pointmap_sums(torch.ones_like(target), target, all_pixels(target))
    assert functional.pointmap_scores(sums)['normal_mean_deg'] == 90


def test_similarity_worked_by_hand() -> None:
    """Without structure only the means count: (2 a b + c1) / (a^2 + b^2 + c1)."""
    mask = torch.rand(1, 1, 4, 5, generator=torch.Generator().manual_seed(0)) > 0.5
    pred, target = (full([value] * 3).where(mask, other) for value, other in ((0.5, 0.9), (0.25, 0.1)))
    assert functional.structural_similarity(pred, target, mask).item() == pytest.approx(
        (2 * 0.5 * 0.25 + 1e-4) / (0.5**2 + 0.25**2 + 1e-4), abs=1e-4)


def test_similarity_is_not_raised_by_what_lies_outside_the_mask() -> None:
    pred, target, mask = random_maps()
    few = mask.clone()
    few[..., ::2] = False
    whole, part = (functional.structural_similarity(pred, target, m).mean().item() for m in (mask, few))
    assert abs(whole) < 0.1 and abs(part) < 0.2


def test_albedo_figures_of_a_constant_error() -> None:
    pred, target = full([0.5, 0.5, 0.5]), full([0.4, 0.5, 0.7])
    scores = functional.albedo_scores(functional.albedo_sums(pred, target, all_pixels(pred)))
    mean_square = (0.01 + 0.04) / 3
    assert scores['mae'] == pytest.approx(0.1)
    assert scores['rmse'] == pytest.approx(math.sqrt(mean_square))
    assert scores['psnr_db'] == pytest.approx(-10 * math.log10(mean_square))
    assert scores['grad_l1'] == pytest.approx(0, abs=1e-6)


def test_perfect_albedo() -> None:
    pred = random_maps()[0]
    scores = functional.albedo_scores(functional.albedo_sums(pred, pred, all_pixels(pred)))
    assert (scores['mae'], scores['psnr_db'], scores['grad_l1']) == (0, math.inf, 0)
    assert scores['ssim'] == pytest.approx(1)


def test_gradient_counts_only_pairs_inside_the_mask() -> None:
    pred = torch.tensor([[0.0, 1.0, 5.0], [0.0, 3.0, 9.0]]).view(1, 1, 2, 3)
    mask = torch.tensor([[True, True, False], [True, True, False]]).view(1, 1, 2, 3)
    sums, numbers = functional.gradient_l1(pred, torch.zeros_like(pred), mask)
    assert sums.tolist() == [4, 2] and numbers.tolist() == [2, 2]


@pytest.mark.parametrize('task', DENSE)
def test_shards_sum_to_the_whole(task: str) -> None:
    sums_of, scores_of = DENSE[task]
    pred, target, mask = random_maps()
    whole = scores_of(sums_of(pred, target, mask))
    shards = functional.add(sums_of(pred[i:j], target[i:j], mask[i:j]) for i, j in ((0, 1), (1, 3), (3, 4)))
    assert scores_of(shards) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize('task', DENSE)
def test_values_outside_the_mask_do_not_count(task: str) -> None:
    sums_of, scores_of = DENSE[task]
    pred, target, mask = random_maps()
    mask[1] = False
    clean = scores_of(sums_of(pred, target, mask))
    assert all(map(math.isfinite, clean.values()))
    spoilt = scores_of(sums_of(*(maps.masked_fill(~mask, value) for maps, value in (
        (pred, math.inf), (target, math.nan))), mask))
    # The normal of a point map depends on the points around.
    alone = [key for key in clean if task != 'pointmap' or not key.startswith('normal_')]
    assert {key: spoilt[key] for key in alone} == pytest.approx({key: clean[key] for key in alone}, rel=1e-9)


@pytest.mark.parametrize('task', DENSE)
def test_nothing_to_measure_is_not_a_number(task: str) -> None:
    sums_of, scores_of = DENSE[task]
    pred, target, mask = random_maps()
    assert all(map(math.isnan, scores_of(sums_of(pred, target, mask & False)).values()))


def test_seg_figures_worked_by_hand() -> None:
    target = torch.tensor([0, 0, 0, 1, 1, 2, 255, 255])
    pred = torch.tensor([0, 0, 1, 1, 3, 1, 2, 0])
    sums = functional.seg_sums(pred, target, NUM_CLASSES)
    assert {name: value.tolist() for name, value in sums.items()} == {
        'intersection': [2, 1, 0, 0], 'predicted': [2, 3, 0, 1], 'labelled': [3, 2, 1, 0]}
    assert functional.seg_scores(sums) == pytest.approx({
        'aAcc_percent': 50.0, 'mIoU_percent': 100 * (2 / 3 + 1 / 4 + 0) / 3,
        'mAcc_percent': 100 * (2 / 3 + 1 / 2 + 0) / 3,
        'mDice_percent': 100 * (4 / 5 + 2 / 5 + 0) / 3,
        'mFscore_percent': 100 * (4 / 5 + 2 / 5 + 0) / 3,
        'mPrecision_percent': 100 * (2 / 2 + 1 / 3 + 0) / 3,
        'mRecall_percent': 100 * (2 / 3 + 1 / 2 + 0) / 3})
    assert functional.seg_scores(sums, nan_to_num=0)['mIoU_percent'] == pytest.approx(100 * (2 / 3 + 1 / 4) / 4)


def test_seg_shards_sum_to_the_whole() -> None:
    generator = torch.Generator().manual_seed(0)
    pred, target = (torch.randint(0, NUM_CLASSES, (6, 8, 8), generator=generator) for _ in range(2))
    shards = functional.add(functional.seg_sums(pred[i::3], target[i::3], NUM_CLASSES) for i in range(3))
    whole = functional.seg_sums(pred, target, NUM_CLASSES)
    assert all(torch.equal(shards[name], value) for name, value in whole.items())


@pytest.mark.parametrize('pred, target, message', [
    ([0, 4], [0, 0], 'predicted labels range from 0 to 4, there are 4 classes'),
    ([0, 0], [-1, 0], 'true labels range from -1 to 0'),
])
def test_labels_that_are_no_class(pred: list[int], target: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        functional.seg_sums(torch.tensor(pred), torch.tensor(target), NUM_CLASSES)


def _seg_sums(pred: Tensor, target: Tensor, mask: Tensor) -> functional.Sums:
    labels = [(maps[:, 0] * NUM_CLASSES).long().clamp(max=NUM_CLASSES - 1) for maps in (pred, target)]
    return functional.seg_sums(*labels, NUM_CLASSES)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason='no CUDA device')
@pytest.mark.parametrize('sums_of', [*(pair[0] for pair in DENSE.values()), _seg_sums])
def test_gpu_equals_cpu(sums_of: Callable[..., functional.Sums]) -> None:
    inputs = random_maps()
    on_gpu = sums_of(*(x.cuda() for x in inputs))
    for name, value in sums_of(*inputs).items():
        torch.testing.assert_close(on_gpu[name].cpu(), value, rtol=1e-4, atol=1e-3)
