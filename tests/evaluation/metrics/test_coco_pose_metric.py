"""Key points: equal to pycocotools, and to what can be worked out by hand."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import InstanceData
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from sapiens2.datasets import CocoPoseDataset
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.evaluation.functional import STATISTICS, person_score
from sapiens2.evaluation.metrics import CocoPoseMetric
from sapiens2.structures import DataSample

TABLE = load_metainfo('sapiens308')
COCO17 = TABLE['coco17_indices']
PARTS = {'foot_kpts': 6, 'face_kpts': 68, 'lefthand_kpts': 21, 'righthand_kpts': 21}


@pytest.fixture(scope='module')
def ann_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """COCO-WholeBody: 4 images of 3 people of several sizes, half of whom have labelled feet, and a crowd."""
    rng = np.random.default_rng(0)
    images = [dict(id=10 + i, file_name=f'{i}.jpg', width=400, height=400) for i in range(4)]
    annotations = []
    for number in range(12):
        low, size = rng.uniform(5, 100, 2), rng.uniform(40, 290, 2)
        points = np.column_stack((rng.uniform(low, low + size, (17, 2)), rng.integers(0, 3, 17)))
        feet = np.column_stack((rng.uniform(low, low + size, (6, 2)), np.full(6, 2.0)))
        has_feet = number % 2 == 0
        annotations.append({
            'id': 100 + number, 'image_id': 10 + number % 4, 'category_id': 1, 'iscrowd': int(number == 11),
            'bbox': [*low, *size], 'area': float(0.6 * size.prod()), 'num_keypoints': int((points[:, 2] > 0).sum()),
            'keypoints': points.ravel().tolist(),
            **{name: [0.0] * (3 * size) for name, size in PARTS.items()},
            **{f'{name.removesuffix("_kpts")}_valid': False for name in PARTS},
            **({'foot_kpts': feet.ravel().tolist(), 'foot_valid': True} if has_feet else {})})
    path = tmp_path_factory.mktemp('pose') / 'people.json'
    path.write_text(json.dumps({'images': images, 'annotations': annotations,
                                'categories': [dict(id=1, name='person')]}), encoding='utf-8')
    return str(path)


def make_samples(ann_file: str, noise: float, target: str = 'sapiens308') -> list[DataSample]:
    """The people of a data set; predicted are their points, moved by ``noise`` pixels."""
    dataset = CocoPoseDataset(ann_file=ann_file, keypoint_set='coco_wholebody', target=target, pipeline=[])
    rng = np.random.default_rng(1)
    samples = []
    for info in map(dataset.get_data_info, range(len(dataset))):
        truth = {name: torch.as_tensor(info[name]) for name in ('keypoints', 'keypoints_visible', 'bboxes', 'area')}
        moved = info['keypoints'] + noise * rng.standard_normal(info['keypoints'].shape)
        sample = DataSample(metainfo={'img_id': info['img_id'], 'sample_id': info['sample_id']})
        sample.gt_instances = InstanceData(**truth)
        sample.pred_instances = InstanceData(
            keypoints=torch.as_tensor(moved, dtype=torch.float32), bboxes=truth['bboxes'],
            bbox_scores=torch.as_tensor(rng.random(1)), keypoint_scores=torch.as_tensor(rng.random(moved.shape[:2])))
        samples.append(sample)
    return samples


def figures(samples: list[DataSample], *args: Any, **options: Any) -> dict[str, float]:
    evaluator = Evaluator([CocoPoseMetric(*args, **options)])
    evaluator.process(data_samples=samples)
    return evaluator.evaluate(len(samples))


def pycocotools_figures(ann_file: str, samples: list[DataSample], points: list[int]) -> dict[str, float]:
    results = []
    for sample in samples:
        people = sample.pred_instances
        scores = people.keypoint_scores[0].double().numpy()[points]
        sure = scores[scores > 0.2]
        results.append({
            'image_id': sample.img_id, 'category_id': 1,
            'score': float(people.bbox_scores[0]) * (sure.mean() if len(sure) else 0),
            'keypoints': np.column_stack((people.keypoints[0].double().numpy()[points], scores)).ravel().tolist()})
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(ann_file)
        evaluation = COCOeval(truth, truth.loadRes(results), 'keypoints')
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return {f'pose/{name}': value for name, value in zip(STATISTICS, evaluation.stats)}


@pytest.mark.parametrize('target, points', [('sapiens308', COCO17), ('coco', list(range(17)))])
@pytest.mark.parametrize('noise', [0.0, 4.0, 12.0])
def test_equals_pycocotools(ann_file: str, noise: float, target: str, points: list[int]) -> None:
    samples = make_samples(ann_file, noise, target)
    expected = pycocotools_figures(ann_file, samples, points)
    assert figures(samples, ann_file) == pytest.approx(expected, abs=1e-12)
    assert noise == 0 or 0 < expected['pose/AP'] < 1


def test_nothing_is_printed(ann_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    figures(make_samples(ann_file, 1.0), ann_file)
    assert 'Evaluat' not in capsys.readouterr().out


@pytest.mark.parametrize('mode', ['coco17', 'sapiens308'])
def test_truth_as_prediction_without_file(ann_file: str, mode: str) -> None:
    scores = figures(make_samples(ann_file, 0.0), mode=mode)
    assert scores['pose/AP'] == scores['pose/AR'] == 1


def test_truth_of_data_set_gives_the_same_as_the_file(ann_file: str) -> None:
    # Noise within the box, so that what is predicted for people without labels is ignored in both.
    samples = make_samples(ann_file, 4.0)
    assert figures(samples) == pytest.approx(figures(samples, ann_file), abs=1e-6)


def test_parts_of_308(ann_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr('sapiens2.evaluation.metrics.coco_pose_metric.log_details', lines.append)
    samples = make_samples(ann_file, 0.0)
    feet = TABLE['groups']['foot']
    for sample in samples:
        sample.pred_instances.keypoints[:, feet] += 1000
    scores = figures(samples, mode='sapiens308')
    assert scores['pose/body_AP'] == scores['pose/body_AR'] == 1
    assert scores['pose/foot_AP'] == scores['pose/foot_AR'] == 0
    assert 0 < scores['pose/AP'] < 1
    assert scores['pose/labelled_keypoints'] == 23
    assert not any('face' in key or 'hands' in key for key in scores)
    assert scores['pose/body_labelled_keypoints'] == 17 and scores['pose/foot_labelled_keypoints'] == 6
    assert scores['pose/body_PCK05_percent'] == 100 and scores['pose/body_NME_percent'] == 0
    assert scores['pose/foot_PCK20_percent'] == 0 and scores['pose/foot_NME_percent'] > 100
    assert 0 < scores['pose/PCK20_percent'] < 100
    rows = {line.split()[0]: line.split() for line in lines[-1].splitlines() if line}
    assert list(rows) == ['points', 'all', 'body', 'foot']
    assert rows['body'][1:] == ['1.0000', '1.0000', '100.00', '100.00', '0.00', '17']
    assert 'foot: 6 of 6 key points have ground truth' in lines
    assert 'face: 0 of 238 key points have ground truth, so there are no figures' in lines


def test_distances_are_measured_in_the_size_of_the_box_or_of_the_part(ann_file: str) -> None:
    sample = make_samples(ann_file, 0.0)[0]
    truth, groups = sample.gt_instances, TABLE['groups']
    truth.keypoints_visible[:] = 0
    truth.bboxes[:] = torch.tensor([[0.0, 0.0, 100.0, 400.0]])
    corners = torch.tensor([[10.0, 10.0], [60.0, 10.0], [10.0, 30.0]])
    for group in ('body', 'left_hand'):
        points = groups[group][:3]
        truth.keypoints_visible[0, points] = 1
        truth.keypoints[0, points] = corners.to(truth.keypoints)
    sample.pred_instances.keypoints = truth.keypoints.clone()
    sample.pred_instances.keypoints[0, [groups[group][0] for group in ('body', 'left_hand')], 1] += 30
    scores = figures([sample], mode='sapiens308')
    # 30 of 400 pixels for the body, 30 of 50 for the hand; a third of the points.
    assert scores['pose/body_NME_percent'] == pytest.approx(100 * 30 / 400 / 3)
    assert scores['pose/hands_NME_percent'] == pytest.approx(100 * 30 / 50 / 3)
    assert scores['pose/body_PCK05_percent'] == scores['pose/hands_PCK20_percent'] == pytest.approx(200 / 3)
    assert scores['pose/body_PCK20_percent'] == 100
    assert scores['pose/NME_percent'] == pytest.approx(100 * 30 / 400 / 3)


def test_one_point_has_no_size_of_its_own(ann_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr('sapiens2.evaluation.metrics.coco_pose_metric.log_details', lines.append)
    sample = make_samples(ann_file, 0.0)[0]
    sample.gt_instances.keypoints_visible[:] = 0
    sample.gt_instances.keypoints_visible[0, TABLE['groups']['face'][0]] = 1
    scores = figures([sample], mode='sapiens308')
    assert scores['pose/face_AP'] == pytest.approx(1) and 'pose/face_NME_percent' not in scores
    assert any(line.startswith('face: 1 of 238') and line.endswith(' and 217 more') for line in lines)


def test_similarity_uses_the_sigmas_of_the_table(ann_file: str) -> None:
    sample = make_samples(ann_file, 0.0)[0]
    truth = sample.gt_instances
    point = COCO17[9]
    truth.keypoints_visible[:] = 0
    truth.keypoints_visible[0, point] = 1
    spread = 2 * TABLE['sigmas'][point] * float(truth.area) ** 0.5
    for similarity, expected in ((0.72, 0.5), (0.49, 0.0), (0.96, 1.0)):
        sample.pred_instances.keypoints = truth.keypoints.clone()
        sample.pred_instances.keypoints[0, point, 0] += spread * (-2 * np.log(similarity)) ** 0.5
        # 0.72 passes the thresholds 0.50 to 0.70 of 0.50, 0.55, ... 0.95.
        assert figures([sample], mode='sapiens308')['pose/AP'] == pytest.approx(expected)


def test_shards_sum_to_the_whole(ann_file: str) -> None:
    samples = [sample.to_dict() for sample in make_samples(ann_file, 4.0)]
    whole, *ranks = (CocoPoseMetric(ann_file) for _ in range(3))
    whole.process(None, samples)
    for rank, metric in enumerate(ranks):
        metric.process(None, samples[rank::2])
    assert whole.compute_metrics(ranks[0].results + ranks[1].results) == pytest.approx(
        whole.compute_metrics(whole.results), abs=1e-12)


def test_only_seen_images_or_all(ann_file: str) -> None:
    samples = [sample for sample in make_samples(ann_file, 0.0) if sample.img_id != 10]
    assert figures(samples, ann_file)['pose/AR'] == 1
    assert figures(samples, ann_file, all_images=True)['pose/AR'] < 1


def test_no_detections_is_zero(ann_file: str) -> None:
    samples = make_samples(ann_file, 0.0)
    for sample in samples:
        sample.pred_instances = sample.pred_instances[:0]
    for options in ({'ann_file': ann_file}, {}, {'mode': 'sapiens308'}):
        scores = figures(samples, **options)
        assert scores['pose/AP'] == scores['pose/AR'] == 0
    assert figures([], ann_file)['pose/AP'] == 0


def test_annotation_with_number_zero_counts(ann_file: str, tmp_path: Path) -> None:
    content = json.loads(Path(ann_file).read_text(encoding='utf-8'))
    for number, annotation in enumerate(content['annotations']):
        annotation['id'] = number
    path = tmp_path / 'zero.json'
    path.write_text(json.dumps(content), encoding='utf-8')
    assert figures(make_samples(str(path), 0.0), str(path))['pose/AP'] == 1


def test_person_score() -> None:
    assert person_score(0.5, np.array([0.1, 0.2, 0.4, 0.8])) == pytest.approx(0.3)
    assert person_score(0.5, np.array([0.1, 0.2])) == 0


def test_wrong_use_is_explained(ann_file: str, tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="Did you mean 'coco17'"):
        CocoPoseMetric(mode='coco')
    with pytest.raises(ValueError, match='leave ann_file out'):
        CocoPoseMetric(ann_file, mode='sapiens308')
    with pytest.raises(ValueError, match='all_images needs the ann_file'):
        CocoPoseMetric(all_images=True)
    path = tmp_path / 'other.json'
    path.write_text(json.dumps({'images': [{'id': 1}], 'annotations': [
        {'id': 3, 'image_id': 1, 'bbox': [0, 0, 1, 1], 'keypoints': [1, 2, 2]}]}), encoding='utf-8')
    with pytest.raises(DataError, match='annotation 3: keypoints has 3 values'):
        CocoPoseMetric(str(path))


def test_wrong_sample_is_named(ann_file: str) -> None:
    sample = make_samples(ann_file, 0.0)[0]
    name = 'annotation 100'
    del sample.gt_instances.area
    with pytest.raises(KeyError, match=f'{name}.*gt_instances.*area'):
        figures([sample])
    with pytest.raises(ValueError, match=f'{name}.*image 999 is not among'):
        figures([DataSample(metainfo={**sample.metainfo, 'img_id': 999})], ann_file)
    sample.pred_instances.keypoints[0, 0, 0] = torch.nan
    with pytest.raises(ValueError, match=f'{name}.*keypoints has values that are not finite'):
        figures([sample], ann_file)
    sample.pred_instances = InstanceData(keypoints=torch.zeros(1, 5, 2), keypoint_scores=torch.zeros(1, 5),
                                         bbox_scores=torch.ones(1))
    with pytest.raises(ValueError, match=rf'{name}.*\[5\] key points'):
        figures([sample], ann_file)
