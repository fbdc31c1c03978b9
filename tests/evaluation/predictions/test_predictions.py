"""``sapiens2 test CONFIG --predictions FOLDER`` on files written as other programs write them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from prediction_checks import Measure
from tiny_data import SIZE, write_data

from sapiens2.evaluation.predictions.people import assign


@pytest.fixture
def labels(tmp_path: Path) -> tuple[Path, Path]:
    """A data set for segmentation, and its labels as predictions."""
    write_data('seg', tmp_path / 'data')
    shutil.copytree(tmp_path / 'data/val/labels', tmp_path / 'predicted')
    return tmp_path / 'data', tmp_path / 'predicted'


def test_the_truth_is_perfect(labels: tuple[Path, Path], measure: Measure) -> None:
    assert measure('seg', *labels)['seg/mIoU_percent'] == 100


def test_a_missing_prediction_is_named_or_counted(labels: tuple[Path, Path], measure: Measure) -> None:
    (labels[1] / '2.png').unlink()
    assert '2.png' in measure.fails('seg', *labels)
    figures = measure('seg', *labels, '--missing', 'skip')
    assert figures['seg/mIoU_percent'] == 100 and figures['predictions/missing_images'] == 1


def test_a_prediction_of_another_size_or_an_unknown_name(labels: tuple[Path, Path], measure: Measure) -> None:
    assert "Did you mean 'sapiens2'" in measure.fails('seg', *labels, '--convention', 'sapien2')
    cv2.imwrite(str(labels[1] / '1.png'), np.zeros((5, 5), np.uint8))
    assert '1.png' in measure.fails('seg', *labels)


def test_axes_of_other_programs(tmp_path: Path, measure: Measure) -> None:
    root, predicted = tmp_path / 'data', tmp_path / 'predicted'
    write_data('normal', root)
    predicted.mkdir()
    for file in sorted((root / 'val/normals').glob('*.npy')):
        np.save(predicted / file.name, np.load(file) * np.array([1, -1, -1], np.float32))
    assert measure('normal', root, predicted, '--convention', 'opengl')['normal/mean_deg'] < 0.1
    assert measure('normal', root, predicted, '--convention', 'opencv')['normal/mean_deg'] > 30


def test_depth_up_to_scale_and_shift_with_the_camera_of_the_data(tmp_path: Path, measure: Measure) -> None:
    root, predicted = tmp_path / 'data', tmp_path / 'predicted'
    write_data('pointmap', root)
    predicted.mkdir()
    for number in range(4):
        depth = np.load(next((root / 'val').glob(f'*/{number}.npy')))
        assert depth.shape == SIZE
        np.save(predicted / f'{number}.npy', (depth - 0.5) / 3)
    figures = measure('pointmap', root, predicted, '--align', 'scale-shift', '--true-camera')
    assert figures['pointmap/l2_m'] < 1e-3
    assert measure('pointmap', root, predicted, '--true-camera')['pointmap/l2_m'] > 0.1


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """A data set for pose, and its people as COCO results."""
    write_data('pose', tmp_path / 'data')
    annotations = json.loads((tmp_path / 'data/people.json').read_text(encoding='utf-8'))['annotations']
    results = []
    for person in annotations:
        points = np.reshape(person['keypoints'], (17, 3))
        points[:, 2] = 1
        results.append({'image_id': person['image_id'], 'category_id': 1, 'score': 1.0, 'bbox': person['bbox'],
                        'keypoints': points.ravel().tolist()})
    return tmp_path / 'data', results


def write_results(root: Path, results: list[dict[str, Any]]) -> Path:
    path = root.parent / 'results.json'
    path.write_text(json.dumps(results), encoding='utf-8')
    return path


def test_coco_results(people: tuple[Path, list[dict[str, Any]]], measure: Measure) -> None:
    root, results = people
    figures = measure('pose', root, write_results(root, results[::-1]))
    assert figures['pose/AP'] == 1 and figures['predictions/people'] == 4
    # Somebody who is not there, surer than all others.
    stranger = {**results[0], 'score': 2.0, 'bbox': [50, 60, 5, 5],
                'keypoints': np.array(results[0]['keypoints'])[::-1].tolist()}
    assert measure('pose', root, write_results(root, [stranger, *results]))['pose/AP'] < 1


def test_documents_of_infer(people: tuple[Path, list[dict[str, Any]]], measure: Measure) -> None:
    root, results = people
    folder = root.parent / 'predicted' / 'pose'
    folder.mkdir(parents=True)
    for person in results:
        points = np.reshape(person['keypoints'], (17, 3))
        x, y, width, height = person['bbox']
        (folder / f'{person["image_id"]}.json').write_text(json.dumps({
            'schema': 'sapiens2/pose', 'keypoint_names': list('abcdefghijklmnopq'), 'instances': [{
                'bbox': [x, y, x + width, y + height], 'bbox_score': 1.0, 'keypoint_scores': [1.0] * 17,
                'keypoints': [*points[:16, :2].tolist(), None]}]}), encoding='utf-8')
    figures = measure('pose', root, folder.parent)
    # A similarity of 16/17, since one of 17 points is missing, reaches all thresholds but 0.95.
    assert figures['pose/AP'] == pytest.approx(0.9) and figures['predictions/images'] == 4
    (folder / '3.json').write_text('{"instances": []}', encoding='utf-8')
    assert '3.json' in measure.fails('pose', root, folder.parent)


def test_people_are_paired_by_the_overlap_of_their_boxes() -> None:
    true = np.array([[0, 0, 10, 10], [20, 0, 30, 10], [100, 100, 110, 110]], float)
    predicted = np.array([[21, 0, 31, 10], [0, 0, 9, 10], [0, 0, 10, 10], [5, 5, 5, 5]], float)
    pairs = assign(predicted, true)
    assert pairs[0] == 2 and pairs[1] == 0 and set(pairs) == {0, 1, 2} and len(set(pairs.values())) == 3
    assert assign(predicted[:1], true) == {1: 0}
