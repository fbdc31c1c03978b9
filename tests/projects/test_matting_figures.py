"""The errors of alpha mattes on cases that were worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch


def test_sad_and_mse() -> None:
    from projects.matting.matting_figures import mse, sad
    pred, target = np.array([[0, 0.5], [1, 1]], np.float32), np.array([[0, 1], [0.75, 1]], np.float32)
    assert sad(pred, target) == pytest.approx(0.75 / 1000)
    assert mse(pred, target) == pytest.approx((0.25 + 0.0625) / 4)


@pytest.mark.parametrize('value', [1.0, 0.5])
def test_gradient_error_of_one_pixel(value: float) -> None:
    """Both filters have length 1, so one pixel alone gives its square in each of the two directions."""
    from projects.matting.matting_figures import gradient_error
    pred = np.zeros((21, 21), np.float32)
    pred[10, 10] = value
    assert gradient_error(pred, np.zeros_like(pred)) == pytest.approx(2 * value**2 / 1000, rel=1e-6)


def test_gradient_error_sees_slopes_and_no_levels() -> None:
    from projects.matting.matting_figures import gradient_error
    ramp = np.tile(np.linspace(0, 0.5, 40, dtype=np.float32), (30, 1))
    assert gradient_error(ramp + np.float32(0.3), ramp) < 1e-9
    assert gradient_error(ramp[:, ::-1], ramp) < 1e-9, 'the direction does not count'
    assert gradient_error(ramp * 0, ramp) > 1e-5


def test_connectivity_error() -> None:
    """The target is person all along. Of the prediction, pixels 0 to 2 form the largest region at all levels; 3 at 0.5,
    and 4 and 5 behind it, are connected up to 0.5, and 6 up to 0.

    Opacity over that: pixel 3 none and 0.5, pixels 4 and 5 0.5 and 0.5, pixel 6 none and 1.
    """
    from projects.matting.matting_figures import connectivity_error
    pred = np.array([[1, 1, 1, 0.5, 1, 1, 0]], np.float32)
    assert connectivity_error(pred, np.ones_like(pred)) == pytest.approx((0.5 + 1) / 1000)
    assert connectivity_error(pred, pred) == 0


def test_small_losses_of_connection_do_not_count() -> None:
    from projects.matting.matting_figures import connectivity_error
    target = np.ones((4, 4), np.float32)
    assert connectivity_error(target * np.float32(0.92), target) == 0
    assert connectivity_error(target * np.float32(0.72), target) == pytest.approx(16 * 0.3 / 1000)
    assert connectivity_error(target * 0, target) == pytest.approx(16 / 1000)


def sample(pred: torch.Tensor, target: torch.Tensor) -> dict:
    return {'sample_id': 'anna.jpg', 'pred_fields': {'alpha': pred}, 'eval_fields': {'alpha': target}}


def test_the_metric_is_the_mean_over_pictures() -> None:
    from projects.matting import MattingMetric
    metric = MattingMetric()
    small, large = torch.zeros(1, 10, 10), torch.zeros(1, 20, 20)
    metric.process(None, [sample(small + 0.5, small), sample(large + 1, large)])
    figures = metric.evaluate(2)
    assert figures['matting/sad_thousands'] == pytest.approx((0.05 + 0.4) / 2)
    assert figures['matting/mse'] == pytest.approx((0.25 + 1) / 2)
    assert figures['matting/grad_thousands'] == pytest.approx(0, abs=1e-12)
    assert figures['matting/conn_thousands'] == pytest.approx((0.05 + 0.4) / 2)


@pytest.mark.parametrize('wrong', [1.5, -0.1, float('nan')])
def test_opacities_outside_their_range_are_named(wrong: float) -> None:
    from projects.matting import MattingMetric
    good = torch.full((1, 4, 4), 0.5)
    with pytest.raises(ValueError, match=r'anna.jpg: pred_fields.alpha must lie in \[0, 1\]'):
        MattingMetric().process(None, [sample(torch.full_like(good, wrong), good)])
