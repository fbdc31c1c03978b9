"""Pictures of all tasks in the course of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from small_recipes import small_recipe
from tiny_data import write_data

from sapiens2.codecs import UDPHeatmap
from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.hooks import SamplePicturesHook
from sapiens2.utils.topdown import apply_affine, udp_matrix

PICTURES = [dict(type='SamplePicturesHook', interval=2, samples=2, tile=64)]


def train(task: str, folder: Path, hooks: list[dict[str, Any]], **changes: Any) -> Sapiens2Runner:
    data = folder / 'data'
    options = [f'data_root={data}', *(['ann_file=people.json'] if task == 'pose' else [])] if data.exists() \
        else write_data(task, data)
    cfg = small_recipe(task, options, folder / f'run{len(hooks)}', train_cfg__max_iters=3, **changes)
    cfg.custom_hooks = hooks
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


@pytest.mark.parametrize('task', ['pose', 'seg', 'normal', 'pointmap', 'albedo'])
def test_pictures_are_written_and_change_nothing(task: str, tmp_path: Path) -> None:
    with_pictures, without = train(task, tmp_path, PICTURES), train(task, tmp_path, [])
    files = sorted((Path(with_pictures.work_dir) / 'vis').iterdir())
    assert [file.name for file in files] == ['iter_000001.jpg', 'iter_000002.jpg', 'iter_000003.jpg']
    for file in files:
        picture = cv2.imread(str(file))
        # Three columns, two rows: of the input, the target, and the prediction something is to be seen.
        assert picture.shape[1] > 3 * 64 and picture.shape[0] > 2 * 64
        for column in np.array_split(picture, 3, axis=1):
            assert column.std() > 5
    for name, value in without.bare_model.state_dict().items():
        assert torch.equal(value, with_pictures.bare_model.state_dict()[name]), name
    event, = Path(with_pictures.work_dir).glob('*/vis_data/events.out.tfevents.*')
    assert b'training samples' in event.read_bytes()


def test_target_of_a_pose_lies_where_the_picture_has_it(tmp_path: Path) -> None:
    # A sigma that fits so small a map: a peak wider than the map is smoothed over its edge, which moves it. The crop is
    # not rotated, so that its centre and size say where the points of the photograph lie in it.
    steps = small_recipe('pose', write_data('pose', tmp_path / 'data'), tmp_path).train_dataloader.dataset.pipeline
    for step in steps:
        if step.type == 'GenerateHeatmaps':
            step.codec.sigma = 1
        elif step.type == 'RandomBBoxTransform':
            step.rotate_prob = 0
    runner = train('pose', tmp_path, [], train_dataloader__dataset__pipeline=steps)
    batch = next(iter(runner.train_dataloader))
    sample, image = batch['data_samples'][0], batch['inputs'][0]
    assert tuple(image.shape[1:]) == (64, 48)
    drawn: list[np.ndarray] = []

    def record(picture: np.ndarray, people: dict[str, np.ndarray], score_thr: float) -> np.ndarray:
        drawn.append(people['keypoints'])
        return picture

    patch = pytest.MonkeyPatch()
    patch.setattr('sapiens2.engine.hooks.sample_pictures.draw_people', record)
    SamplePicturesHook(tile=64).draw(runner, batch, '')
    patch.undo()
    matrix = udp_matrix(np.array(sample.input_center), np.array(sample.input_scale), (48, 64))
    points = apply_affine(sample.gt_instances.keypoints[0].numpy(), matrix)
    inside = (sample.gt_fields.keypoint_weights > 0).numpy() & (points > 6).all(1) & (points < (41, 57)).all(1)
    assert inside.any()
    np.testing.assert_allclose(drawn[0][0][inside], points[inside], atol=0.5)


def test_target_of_a_pose_is_decoded_by_the_codec_of_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = train('pose', tmp_path, [])
    head, asked = runner.bare_model.decode_head, []
    head.codec = UDPHeatmap((48, 64), (12, 16), blur_kernel_size=3)
    decode = head.codec.decode_to_image
    monkeypatch.setattr(head.codec, 'decode_to_image', lambda *args: asked.append(args[0]) or decode(*args))
    batch = next(iter(runner.train_dataloader))
    SamplePicturesHook(tile=64, samples=1).draw(runner, batch, '')
    targets = batch['data_samples'][0].gt_fields.heatmaps
    assert any(torch.equal(heatmaps[0], targets) for heatmaps in asked)


@pytest.mark.parametrize('options', [dict(interval=0), dict(samples=0), dict(tile=1)])
def test_numbers_that_cannot_work(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match='SamplePicturesHook'):
        SamplePicturesHook(**options)


def test_points_are_drawn_at_the_size_that_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = train('pose', tmp_path, [])
    batch, drawn = next(iter(runner.train_dataloader)), {}

    def record(picture: np.ndarray, people: dict[str, np.ndarray], score_thr: float) -> np.ndarray:
        drawn.setdefault(tile, (picture.shape, people['keypoints']))
        return picture

    monkeypatch.setattr('sapiens2.engine.hooks.sample_pictures.draw_people', record)
    for tile in (64, 256):
        SamplePicturesHook(tile=tile, samples=1).draw(runner, batch, '')
    assert drawn[64][0] == (64, 48, 3) and drawn[256][0] == (256, 192, 3)
    np.testing.assert_allclose((drawn[64][1] + 0.5) * 4 - 0.5, drawn[256][1], atol=1e-3)


def test_depths_of_target_and_prediction_have_the_same_colours() -> None:
    target = np.linspace(1, 3, 64 * 48, dtype=np.float32).reshape(64, 48)
    prediction = target.copy()
    target[:, :8] = prediction[:, :8] = 0  # outside the mask
    prediction[:8, 8:] = -1
    prediction[8:16, 8:] = 100
    one, two = SamplePicturesHook(tile=64)._depths(target, prediction)
    np.testing.assert_array_equal(one[16:], two[16:])  # the scale at the right, too
    assert not one[:, :8].any() and not two[:, :8].any()
    red, blue = two[4, 20].astype(int), two[12, 20].astype(int)
    assert red[2] > red[0] + 80 and blue[0] > blue[2]
