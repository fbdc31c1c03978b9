"""Every augmentation of the released recipes is in ours, with its parameters.

``RELEASED`` are the training pipelines of the released program, the same at every size of a task. Ours may stand in
another order only as ``docs/en/advanced_guides/transforms.md`` says.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.registry import TRANSFORMS

CONFIGS = Path(__file__).parents[2] / 'configs' / '_base_' / 'datasets'
Step = tuple[str, dict[str, Any]]
SIZE = dict(height=1024, width=768)


def _dense(task: str) -> list[Step]:
    """Scale, crop, flip and resize of normal, pointmap and albedo."""
    return [
        (f'{task}RandomScale', dict(scale_min=0.5, scale_max=2.0, prob=0.3)),
        (f'{task}RandomCropContinuous', dict(ar_range=(0.5, 2.0), area_range=(0.4, 1.0), num_attempts=8, prob=0.3)),
        (f'{task}RandomFlip', dict(prob=0.3)),
        (f'{task}Resize', SIZE)]


RELEASED: dict[str, list[Step]] = {
    'seg': [
        ('SegRandomBackground', dict(prob=0.8, skip_key='is_itw')),
        ('SegRandomResize', dict(base_height=1024, base_width=768, ratio_range=(0.4, 2.0), keep_ratio=True)),
        ('SegRandomCrop', dict(crop_height=1024, crop_width=768, prob=0.3, cat_max_ratio=0.75)),
        ('RandomGaussianBlur', dict(prob=0.3, kernel_size=(3, 3), sigma_range=(0.1, 2.0))),
        ('RandomGaussianNoise', dict(prob=0.3, var_range=(5.0, 20.0))),
        ('SegRandomRotate', dict(prob=0.5, degree=60, seg_pad_val=0)),
        ('SegRandomHorizontalFlip', dict(prob=0.5)),
        ('PhotoMetricDistortion', {}),
        ('SegResize', SIZE)],
    'normal': [
        ('PhotoMetricDistortion', {}),
        ('RandomDownUpSampleImage', dict(scale_range=(0.1, 0.7), prob=0.2)),
        *_dense('Normal'),
        ('RandomGaussianBlur', dict(prob=0.3, kernel_size=(3, 3), sigma_range=(0.1, 2.0))),
        ('RandomGaussianNoise', dict(prob=0.3, var_range=(5.0, 20.0))),
        ('RandomSolarize', dict(prob=0.3, threshold=128))],
    'pointmap': [
        ('PhotoMetricDistortion', {}),
        *_dense('Pointmap'),
        ('PointmapGenerateTarget', dict(canonical_focal_length=768.0))],
    'albedo': [
        *_dense('Albedo'),
        ('RandomGaussianNoise', dict(prob=0.2, var_range=(5.0, 20.0)))],
    'pose': [
        ('PoseGetBBoxCenterScale', {}),
        ('PoseRandomFlip', {}),
        ('PoseRandomHalfBody', {}),
        ('PoseRandomBBoxTransform', {}),
        ('PoseTopdownAffine', dict(input_size=(768, 1024))),
        ('RandomPhotoMetricDistortion', dict(prob=0.8)),
        ('Blur', dict(p=0.1)),
        ('MedianBlur', dict(p=0.1)),
        ('CoarseDropout', dict(min_holes=1, max_holes=1, min_height=0.2, max_height=0.4, min_width=0.2, max_width=0.4,
                               p=1.0)),
        ('PoseGenerateTarget', dict(encoder=dict(
            type='UDPHeatmap', input_size=(768, 1024), heatmap_size=(192, 256), sigma=6)))],
}


def _size(p: dict[str, Any], prefix: str = '') -> dict[str, Any]:
    return {'size': (p[f'{prefix}height'], p[f'{prefix}width'])}


def ours(name: str, p: dict[str, Any]) -> dict[str, Any]:
    """What a released step is called here, with its parameters by the names they have here."""
    for task in ('Normal', 'Pointmap', 'Albedo', 'Seg', 'Pose'):
        name = name.removeprefix(task)
    return {
        'RandomBackground': lambda: dict(type='RandomBackground', prob=p['prob'], skip_key='in_the_wild'),
        'RandomResize': lambda: dict(type='RandomResize', **_size(p, 'base_'), ratio_range=p['ratio_range'],
                                     keep_ratio=p['keep_ratio']),
        'RandomCrop': lambda: dict(type='RandomCrop', **_size(p, 'crop_'), prob=p['prob'],
                                   cat_max_ratio=p['cat_max_ratio']),
        'RandomGaussianBlur': lambda: dict(type='GaussianBlur', **p),
        'RandomGaussianNoise': lambda: dict(type='GaussianNoise', **p),
        'RandomRotate': lambda: dict(type='RandomRotate', **p),
        'RandomHorizontalFlip': lambda: dict(type='RandomFlip', **p),
        'RandomFlip': lambda: dict(type='RandomFlip', prob=p.get('prob', 0.5)),
        'PhotoMetricDistortion': lambda: dict(type='PhotometricDistortion', **p),
        'RandomPhotoMetricDistortion': lambda: dict(type='PhotometricDistortion', **p),
        'RandomDownUpSampleImage': lambda: dict(type='DownUpSample', **p),
        'RandomScale': lambda: dict(type='RandomScale', ratio_range=(p['scale_min'], p['scale_max']), prob=p['prob']),
        'RandomCropContinuous': lambda: dict(type='RandomAreaCrop', area_range=p['area_range'],
                                             aspect_range=p['ar_range'], attempts=p['num_attempts'], prob=p['prob']),
        'Resize': lambda: dict(type='Resize', **_size(p)),
        'RandomSolarize': lambda: dict(type='Solarize', **p),
        'GenerateTarget': lambda: (dict(type='GenerateHeatmaps', codec=p['encoder']) if 'encoder' in p
                                   else dict(type='GeneratePointmap', **p)),
        'GetBBoxCenterScale': lambda: dict(type='GetBBoxCenterScale'),
        'RandomHalfBody': lambda: dict(type='RandomHalfBody'),
        'RandomBBoxTransform': lambda: dict(type='RandomBBoxTransform'),
        'TopdownAffine': lambda: dict(type='TopdownAffine', **p),
        'Blur': lambda: dict(type='BoxBlur', prob=p['p']),
        'MedianBlur': lambda: dict(type='MedianBlur', prob=p['p']),
        'CoarseDropout': lambda: dict(
            type='CoarseDropout', prob=p['p'], holes=(p['min_holes'], p['max_holes']),
            height_range=(p['min_height'], p['max_height']), width_range=(p['min_width'], p['max_width'])),
    }[name]()


def pipeline(task: str) -> list[dict[str, Any]]:
    """Our training pipeline without reading and packing."""
    name = 'coco_wholebody' if task == 'pose' else f'{task}_folder'
    steps = Config.fromfile(CONFIGS / f'{name}.py').train_dataloader.dataset.pipeline
    return [dict(step) for step in steps if step['type'] not in ('LoadImage', 'LoadFields', 'PackInputs')]


def attributes(step: dict[str, Any]) -> dict[str, Any]:
    """What a step is set to, its defaults included."""
    built = TRANSFORMS.build(step)
    return {'type': type(built).__name__, **{
        name: vars(value) if hasattr(value, '__dict__') else value for name, value in vars(built).items()}}


@pytest.mark.parametrize('task', RELEASED)
def test_pipeline_has_the_released_steps(task: str, tmp_path: Path) -> None:
    wanted = [ours(*step) for step in RELEASED[task]]
    got = pipeline(task)
    assert [step['type'] for step in got if step['type'] != 'PhotometricDistortion'] == [
        step['type'] for step in wanted if step['type'] != 'PhotometricDistortion']
    by_type = {step['type']: step for step in got}
    assert len(by_type) == len(got) == len(wanted)
    for step in wanted:
        if step['type'] == 'RandomBackground':  # off until it is given pictures
            assert step == {name: value for name, value in by_type[step['type']].items() if name != 'background_root'}
            continue
        assert str(attributes(step)) == str(attributes(by_type[step['type']])), step['type']


def test_labels_that_swap_are_the_released_ones() -> None:
    pairs = [[5, 14], [6, 15], [7, 16], [8, 17], [9, 18], [10, 19], [11, 20], [12, 21]]
    assert [list(pair) for pair in load_metainfo('seg29')['flip_pairs']] == pairs
