"""The 17 points give the very numbers of pycocotools, to the last bit, on everything that COCO's rules treat apart."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from sapiens2.evaluation.functional import STATISTICS
from sapiens2.evaluation.metrics import CocoPoseMetric

IMAGES = 5


def write_truth(path: Path, rng: np.random.Generator) -> None:
    """Several people an image: crowds, people without labels, and sizes in all of COCO's ranges; one empty image."""
    annotations: list[dict[str, Any]] = []
    for number in range(24):
        low, size = rng.uniform(0, 200, 2), rng.uniform(12, 300, 2)
        points = np.column_stack((rng.uniform(low, low + size, (17, 2)), rng.integers(0, 3, 17))).round(2)
        if number % 6 == 0:
            points[:] = 0
        annotations.append({
            'id': 1000 - number, 'image_id': number % (IMAGES - 1), 'category_id': 1, 'iscrowd': int(number % 7 == 3),
            'bbox': [*low, *size], 'area': float(0.5 * size.prod()), 'num_keypoints': int((points[:, 2] > 0).sum()),
            'keypoints': points.ravel().tolist()})
    path.write_text(json.dumps({'images': [dict(id=i, file_name=f'{i}.jpg') for i in range(IMAGES)],
                                'annotations': annotations, 'categories': [dict(id=1, name='person')]}))


def make_samples(path: Path, rng: np.random.Generator) -> list[dict[str, Any]]:
    """More people an image than COCO counts (20), many with equal scores, several at one person, some nowhere."""
    samples = []
    for annotation in json.loads(path.read_text())['annotations']:
        truth = np.array(annotation['keypoints']).reshape(17, 3)[:, :2]
        for spread in (0.5, 3, 3, 10, 1000):
            samples.append({'img_id': annotation['image_id'], 'pred_instances': {
                'keypoints': (truth + spread * rng.standard_normal(truth.shape)).astype(np.float32)[None],
                'keypoint_scores': rng.choice([0.1, 0.3, 0.5], (1, 1)).repeat(17, 1),
                'bbox_scores': rng.choice([0.2, 0.5, 1.0], 1)}})
    order = rng.permutation(len(samples))
    return [samples[index] for index in order]


def by_pycocotools(path: Path, samples: list[dict[str, Any]]) -> np.ndarray:
    results = []
    for sample in samples:
        people = sample['pred_instances']
        scores = people['keypoint_scores'][0]
        sure = scores[scores > 0.2]
        results.append({'image_id': sample['img_id'], 'category_id': 1,
                        'score': float(people['bbox_scores'][0]) * float(sure.mean()) if sure.size else 0.0,
                        'keypoints': np.column_stack((people['keypoints'][0].astype(float), scores)).ravel().tolist()})
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(path))
        evaluation = COCOeval(truth, truth.loadRes(results), 'keypoints')
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


@pytest.mark.parametrize('seed', range(6))
def test_every_bit_equals_pycocotools(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / 'people.json'
    write_truth(path, rng)
    samples = make_samples(path, rng)
    per_image = np.bincount([sample['img_id'] for sample in samples])
    scores = [float(s['pred_instances']['bbox_scores'][0] * s['pred_instances']['keypoint_scores'][0, 0])
              for s in samples]
    assert per_image.max() > 20 and len(set(scores)) < len(scores)
    metric = CocoPoseMetric(str(path), all_images=True)
    metric.process(None, samples)
    ours = metric.compute_metrics(metric.results)
    expected = by_pycocotools(path, samples)
    assert list(ours) == list(STATISTICS)
    assert np.array(list(ours.values())).tobytes() == expected.tobytes()
    assert 0 < expected[0] < 1
