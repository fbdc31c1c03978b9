"""Predictors that do not look at the picture, on miniature sets whose averages are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.structures import BaseDataElement, InstanceData
from tiny_data import write_data

from sapiens2.evaluation.trivial import MeanColour, MeanDepth, MeanNormal, MeanPose, MostFrequentClass, trivial_scores
from sapiens2.structures import DataSample
from sapiens2.utils.config import load_config
from sapiens2.utils.tasks import TASKS

CONFIGS = Path(__file__).parents[2] / 'configs'


def sample(size=(4, 6), **fields) -> DataSample:
    made = DataSample(metainfo={'ori_shape': size})
    made.eval_fields = BaseDataElement(**fields)
    return made


def test_most_frequent_class():
    average = MostFrequentClass()
    average.add(sample(sem_seg=torch.tensor([[3, 3, 3], [255, 255, 1]])))
    average.add(sample(sem_seg=torch.tensor([[1, 255, 255]])))
    other = sample(sem_seg=torch.tensor([[0, 1]]))
    average.predict(other)
    assert other.pred_fields.sem_seg.tolist() == [[3, 3]]


@pytest.mark.parametrize('kind, expected', [(MeanColour, (0.5, 0.5, 0.0)), (MeanNormal, (2**-0.5, 2**-0.5, 0.0))])
def test_mean_over_people_alone(kind, expected):
    value = torch.zeros(3, 1, 3)
    value[:, 0, 0], value[:, 0, 1], value[:, 0, 2] = torch.eye(3)
    mask = torch.tensor([[[True, True, False]]])
    average = kind()
    average.add(sample(**{kind.field: value}, mask=mask))
    other = sample(**{kind.field: torch.zeros(3, 2, 2)}, mask=torch.ones(1, 2, 2, dtype=torch.bool))
    average.predict(other)
    assert torch.allclose(other.pred_fields.get(kind.field)[:, 1, 1], torch.tensor(expected))


def test_a_wall_is_where_the_depth_is_constant():
    """The one camera of the set, at two sizes: the same rays."""
    def known(height, width, depth):
        x, y = width / 6, height / 4
        K = torch.tensor([[5.0 * x, 0, 3 * x - 0.5], [0, 5.0 * y, 2 * y - 0.5], [0, 0, 1]])
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing='ij')
        rays = torch.stack([(columns - K[0, 2]) / K[0, 0], (rows - K[1, 2]) / K[1, 1], torch.ones(height, width)])
        return sample((height, width), pointmap=rays * depth, K=K, mask=torch.ones(1, height, width, dtype=torch.bool))

    average = MeanDepth()
    for depth in (1.0, 3.0):
        average.add(known(4, 6, depth))
    other = known(8, 12, 2.0)
    average.predict(other)
    torch.testing.assert_close(other.pred_fields.pointmap, other.eval_fields.pointmap, rtol=0, atol=1e-5)


def test_mean_pose_follows_the_box_and_leaves_out_what_is_not_labelled():
    def person(box, points, visible):
        made = DataSample()
        made.gt_instances = InstanceData(
            bboxes=torch.tensor([box]), bbox_scores=torch.ones(1), keypoints=torch.tensor([points]),
            keypoints_visible=torch.tensor([visible]))
        return made

    average = MeanPose()
    average.add(person([0.0, 0, 10, 20], [[1.0, 2], [5, 5], [0, 0]], [1.0, 1, 0]))
    average.add(person([10.0, 10, 20, 20], [[13.0, 13], [99, 99], [0, 0]], [1.0, 0, 0]))
    other = person([100.0, 100, 200, 200], [[0.0, 0]] * 3, [1.0, 1, 1])
    average.predict(other)
    assert np.allclose(other.pred_instances.keypoints[0], [[120, 120], [150, 125], [150, 150]])


@pytest.mark.parametrize('task', TASKS)
def test_figures_have_the_names_of_a_test(task, tmp_path):
    path, = (CONFIGS / task).glob('sapiens2-tiny_*_folder-*.py' if task != 'pose' else 'sapiens2-tiny_*_coco_*.py')
    options = dict(option.split('=', 1) for option in write_data(task, tmp_path / 'data'))
    seen = []
    scores = trivial_scores(load_config(path, options), lambda items, count: seen.append(count) or items)
    key = {'pose': 'pose/AP', 'seg': 'seg/mIoU_percent', 'normal': 'normal/mean_deg', 'pointmap': 'pointmap/l2_m',
           'albedo': 'albedo/psnr_db'}[task]
    assert np.isfinite(scores[key]) and seen == [4, 4]


def test_a_config_of_no_task():
    with pytest.raises(ValueError, match="'SegHed'. Did you mean 'SegHead'"):
        trivial_scores({'model': {'decode_head': {'type': 'SegHed'}}})
