"""MMEngine's visualizer and the choice of drawing functions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mmengine.structures import BaseDataElement, InstanceData

from sapiens2.registry import VISUALIZERS
from sapiens2.structures import DataSample
from sapiens2.utils.image_io import read_image
from sapiens2.visualization import draw_field, draw_people

IMAGE = np.full((40, 60, 3), 90, np.uint8)


def _visualizer(tmp_path):
    return VISUALIZERS.build(dict(type='HumanVisualizer', name=tmp_path.name, save_dir=str(tmp_path), legend=False,
                                  vis_backends=[dict(type='LocalVisBackend')]))


def test_every_field_is_drawn_beside_the_image(tmp_path):
    sample = DataSample(pred_fields=BaseDataElement(
        sem_seg=torch.zeros(40, 60, dtype=torch.int64), normal=torch.zeros(3, 40, 60), depth=torch.ones(1, 40, 60),
        pointmap=torch.ones(3, 40, 60), albedo=torch.zeros(3, 40, 60)))
    sample.eval_fields = BaseDataElement(albedo=torch.ones(3, 40, 60))
    out = tmp_path / 'out.png'
    _visualizer(tmp_path).add_datasample('sample', IMAGE, sample, out_file=str(out))
    row = read_image(out)
    assert row.shape == (40, 60 * 7 + 2 * 6, 3)
    assert (row[:, :60] == 90).all()
    # The ground truth comes first.
    assert (row[:, 62:122] == 255).all()
    assert (row[:, -60:] == 0).all()


def test_people_of_ground_truth_and_prediction(tmp_path):
    points = torch.rand(1, 308, 2) * 40
    sample = DataSample(
        gt_instances=InstanceData(keypoints=points, keypoints_visible=torch.zeros(1, 308)),
        pred_instances=InstanceData(keypoints=points, keypoint_scores=torch.ones(1, 308),
                                    bboxes=torch.tensor([[1.0, 1, 30, 30]])))
    out = tmp_path / 'out.png'
    visualizer = _visualizer(tmp_path)
    visualizer.add_datasample('sample', IMAGE, sample, out_file=str(out), step=3)
    row = read_image(out)
    assert row.shape[1] == 3 * 60 + 2 * 2
    assert (row[:, 62:122] == 90).all()
    assert (row[:, 124:] != 90).any()
    assert list(tmp_path.rglob('sample_3.png'))
    visualizer.add_datasample('sample', IMAGE, sample, draw_gt=False, out_file=str(out))
    assert read_image(out).shape[1] == 2 * 60 + 2


def test_unknown_field_and_unknown_number_of_points():
    with pytest.raises(KeyError, match="'normals'.*'normal'"):
        draw_field('normals', IMAGE, np.zeros((40, 60, 3)))
    people = {'keypoints': np.zeros((1, 5, 2)), 'keypoint_scores': np.ones((1, 5))}
    with pytest.raises(ValueError, match='5 key points'):
        draw_people(IMAGE, people)


def test_nobody():
    people = {'keypoints': np.zeros((0, 308, 2)), 'keypoint_scores': np.ones((0, 308))}
    assert (draw_people(IMAGE, people) == IMAGE).all()
