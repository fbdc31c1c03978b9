"""Wrappers of the dense metrics: what they read, how they are gathered, how they complain."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import BaseDataElement

from sapiens2.registry import METRICS
from sapiens2.structures import DataSample

TASKS = ('normal', 'pointmap', 'albedo', 'seg')
TYPES = {'normal': 'NormalMetric', 'pointmap': 'PointmapMetric', 'albedo': 'AlbedoMetric', 'seg': 'SegMetric'}
MAIN = {'normal': 'normal/mean_deg', 'pointmap': 'pointmap/l2_m', 'albedo': 'albedo/psnr_db', 'seg': 'seg/mIoU_percent'}
CLASSES = ('background', 'hair', 'skin')


def make_sample(task: str, seed: int, size: tuple[int, int] = (12, 10)) -> DataSample:
    generator = torch.Generator().manual_seed(seed)
    sample = DataSample(metainfo={'sample_id': f'photo {seed}', 'ori_shape': size})
    if task == 'seg':
        maps = [{'sem_seg': torch.randint(0, 3, size, generator=generator)} for _ in range(2)]
    else:
        maps = [{task: torch.rand(3, *size, generator=generator)} for _ in range(2)]
    mask = torch.rand(1, *size, generator=generator) > 0.2
    sample.pred_fields = BaseDataElement(**maps[0])
    sample.eval_fields = BaseDataElement(**maps[1], mask=mask)
    return sample


def build(task: str, **options: Any) -> Any:
    metric = METRICS.build({'type': TYPES[task], **options})
    metric.dataset_meta = {'classes': CLASSES}
    return metric


@pytest.mark.parametrize('task', TASKS)
def test_through_evaluator_in_any_batches(task: str) -> None:
    samples = [make_sample(task, seed, (12 + seed, 10)) for seed in range(4)]
    figures = []
    for batches in ([samples], [samples[:1], samples[1:]]):
        evaluator = Evaluator([build(task)])
        for batch in batches:
            evaluator.process(data_samples=batch)
        figures.append(evaluator.evaluate(len(samples)))
    assert figures[0] == pytest.approx(figures[1], rel=1e-9) and MAIN[task] in figures[0]
    assert all(key.startswith(f'{task}/') for key in figures[0])


@pytest.mark.parametrize('task', TASKS)
def test_shards_sum_to_the_whole(task: str) -> None:
    samples = [make_sample(task, seed).to_dict() for seed in range(5)]
    whole, *ranks = (build(task) for _ in range(3))
    whole.process(None, samples)
    for rank, metric in enumerate(ranks):
        metric.process(None, samples[rank::2])
    # MMEngine interleaves what the ranks have.
    gathered = [result for pair in zip(ranks[0].results, [*ranks[1].results, None]) for result in pair if result]
    assert whole.compute_metrics(gathered) == pytest.approx(whole.compute_metrics(whole.results), rel=1e-9)


@pytest.mark.parametrize('task', TASKS)
def test_repeated_samples_are_dropped_and_results_stay_small(task: str) -> None:
    samples = [make_sample(task, seed, (64, 64)).to_dict() for seed in (0, 1, 0)]
    once, twice = build(task), build(task)
    once.process(None, samples[:2])
    twice.process(None, samples)
    assert max(sum(value.numel() for value in result.values()) for result in twice.results) < 400
    assert twice.evaluate(2) == pytest.approx(once.evaluate(2))
    assert not once.results


@pytest.mark.parametrize('task', TASKS)
def test_missing_field_is_named(task: str) -> None:
    field = 'sem_seg' if task == 'seg' else task
    for part, remedy in (('pred_fields', 'predict'), ('eval_fields', 'for_eval=True')):
        sample = make_sample(task, 7).to_dict()
        del sample[part][field]
        with pytest.raises(KeyError, match=f'photo 7: {part}.*{field}.*{remedy}'):
            build(task).process(None, [sample])


def test_missing_mask_is_named() -> None:
    sample = make_sample('normal', 3).to_dict()
    del sample['eval_fields']['mask']
    with pytest.raises(KeyError, match="photo 3: eval_fields.*'mask'"):
        build('normal').process(None, [sample])


@pytest.mark.parametrize('task', TASKS)
def test_other_size_is_named(task: str) -> None:
    sample, other = make_sample(task, 7).to_dict(), make_sample(task, 7, (6, 5)).to_dict()
    sample['pred_fields'] = other['pred_fields']
    with pytest.raises(ValueError, match=r'photo 7: pred_fields.* \(.*6, 5\).*12, 10'):
        build(task).process(None, [sample])


@pytest.mark.parametrize('part', ['pred_fields', 'eval_fields'])
def test_value_that_is_not_finite_is_named(part: str) -> None:
    sample = make_sample('albedo', 2).to_dict()
    row, column = sample['eval_fields']['mask'][0].nonzero()[0].tolist()
    sample[part]['albedo'][1, row, column] = torch.nan
    with pytest.raises(ValueError, match=f'photo 2: {part}.albedo has 1 values'):
        build('albedo').process(None, [sample])


def test_wrong_label_names_the_sample() -> None:
    sample = make_sample('seg', 4).to_dict()
    sample['eval_fields']['sem_seg'][0, 0] = 17
    with pytest.raises(ValueError, match='photo 4: true labels range from 0 to 17'):
        build('seg').process(None, [sample])


def test_empty_set_is_an_error() -> None:
    with pytest.raises(ValueError, match='NormalMetric has seen no samples'):
        build('normal').evaluate(0)


def test_absent_class_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, int]] = []
    tables: list[str] = []
    monkeypatch.setattr('sapiens2.evaluation.metrics.seg_metric.log_details', tables.append)
    monkeypatch.setattr('sapiens2.evaluation.metrics.seg_metric.print_log',
                        lambda text, logger, level: lines.append((text, level)))
    sample = make_sample('seg', 0).to_dict()
    sample['eval_fields']['sem_seg'] = sample['pred_fields']['sem_seg'].clamp(max=1)
    means, of_class = {}, {}
    for nan_to_num in (None, 0.0):
        metric = build('seg', nan_to_num=nan_to_num)
        metric.process(None, [sample])
        scores = metric.evaluate(1)
        means[nan_to_num] = scores['seg/mIoU_percent']
        of_class = {key for key in scores if '/IoU_percent/' in key or '/Acc_percent/' in key}
        assert scores['seg/IoU_percent/hair'] == pytest.approx(2 * means[None] - scores['seg/IoU_percent/background'])
    assert means[0.0] == pytest.approx(means[None] * 2 / 3)  # all digits
    assert of_class == {f'seg/{figure}_percent/{name}' for figure in ('IoU', 'Acc') for name in CLASSES[:2]}
    assert 'hair' in tables[0] and 'IoU (%)' in tables[0] and 'mIoU_percent' in tables[0]
    assert lines[0] == ('1 of 3 classes have no pixel in the validation set and are left out of the means: skin',
                        logging.WARNING)


@pytest.mark.parametrize('task', ['normal', 'pointmap', 'albedo'])
def test_a_table_of_all_figures_is_logged(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr('sapiens2.evaluation.metrics.dense_metric.log_details', texts.append)
    metric = build(task)
    metric.process(None, [make_sample(task, 0).to_dict()])
    scores = metric.evaluate(1)
    rows = dict(line.split() for line in texts[0].splitlines()[2:])
    assert {f'{task}/{name}': float(value.replace(',', '')) for name, value in rows.items()} == pytest.approx(
        scores, abs=1e-4)


def test_classes_without_pixels_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr('sapiens2.evaluation.metrics.seg_metric.print_log', lambda text, **options: texts.append(text))
    metric = build('seg')
    sample = make_sample('seg', 0)
    sample.eval_fields.sem_seg = sample.eval_fields.sem_seg.clamp(max=1)
    for _ in range(2):
        metric.process(None, [sample.to_dict()])
        metric.evaluate(1)
    assert len(texts) == 1 and texts[0].startswith('1 of 3 classes have no pixel') and texts[0].endswith('skin')


def test_seg_needs_classes() -> None:
    metric = METRICS.build({'type': 'SegMetric'})
    with pytest.raises(ValueError, match='classes'):
        metric.process(None, [make_sample('seg', 0).to_dict()])
