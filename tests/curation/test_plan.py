"""What more images would take."""

from __future__ import annotations

import pytest

from sapiens2.curation.duplicates import MOST
from sapiens2.curation.plan import Sample, StageCost, describe


def sample(**changes):
    values = dict(images=1000, stages=[StageCost('Decode', 1.0, 0.01, 0.0, 1000),
                                       StageCost('Network', 0.5, 0.001, 0.02, 500)],
                  dropped={'quarantine': 50, 'size': 450, 'equal file': 0, 'near duplicate': 100, 'balance': 200},
                  file_bytes=1e5, kept_bytes=2e5, row_bytes=100.0, compare_seconds=1e-6)
    return Sample(**{**values, **changes})


def row(text, name, occurrence=0):
    return [line for line in text.splitlines() if line.startswith(name)][occurrence].split('  ')[1:]


def cells(text, name, occurrence=0):
    return [cell.strip() for cell in row(text, name, occurrence) if cell.strip()]


def test_hours_and_volumes():
    made = sample(compare_seconds=0.0)
    assert made.kept == pytest.approx(0.2) and made.compared == pytest.approx(0.5)
    text = describe(made, [10**6], 0.04)
    # 1e6 images of 10 ms, half of them 1 ms more: 10,500 s.
    assert cells(text, 'all ')[-1] == f'{10_500 / 3600:.1f}' and made.core_hours(10**6) == pytest.approx(10_500 / 3600)
    assert cells(text, 'Network, GPU-hours')[-1] == f'{10_000 / 3600:.1f}'
    assert cells(text, 'cost at')[-1] == '0' and cells(text, 'images kept')[-1] == '200,000'
    assert cells(text, 'read to score')[-1] == '0.10' and cells(text, 'shuffle')[-1] == '0.04'
    assert 'duplicates, GB' not in text


def test_the_funnel_and_its_uncertainty():
    text = describe(sample(), [10**6], 0.04)
    assert [cells(text, name)[-1] for name in ('quarantine', 'size', 'near duplicate', 'balance')] == [
        '950,000', '500,000', '400,000', '200,000']
    low, high = (int(cells(text, f'kept, at {name}')[-1].replace(',', '')) for name in ('least', 'most'))
    assert 170_000 < low < 200_000 < high < 230_000
    assert (sample().simulated() == sample().simulated()).all()
    small, large = (sample(images=10 * size, dropped={'size': 8 * size}).simulated().std() for size in (1, 1000))
    assert small > 10 * large
    # Of 500,000 that are compared 30 % would go, and balance takes half of what is left.
    assert cells(text, 'kept, if 30%')[-1] == '175,000'


def test_comparing_grows_a_little_faster_than_the_images_and_has_a_limit():
    made = sample()
    assert 1000 < made.compare_hours(10**9) / made.compare_hours(10**6) < 1700
    assert f'{MOST:,}' in describe(made, [4 * 10**9], 1) and f'{MOST:,}' not in describe(made, [10**9], 1)


def test_a_sample_without_images():
    assert 'all images' in describe(sample(images=0, stages=[], dropped={'balance': 0}), [10], 1)


def test_a_stage_that_saw_no_image_has_no_speed():
    text = describe(sample(stages=[StageCost('Decode', 1.0, 0.01, 0.0, 1000), StageCost('Faces', 0.1, 0.05, 0.0, 100),
                                   StageCost('Text', 0.0, 0.0, 0.0, 0)]), [10**6], 0.04)
    assert cells(text, 'Text')[-2:] == ['-', '-'] and cells(text, 'Faces')[-2] == '20.0'
    assert 'Text has seen no image, so core-hours, days and cost are lower bounds' in text
    assert 'The sample is small: images that stages were shown: Faces 100;' in text
    assert 'lower bounds' not in describe(sample(), [10**6], 0.04)
    assert 'The sample is small' not in describe(sample(), [10**6], 0.04)
