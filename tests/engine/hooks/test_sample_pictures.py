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

PICTURES = [dict(type='SamplePicturesHook', interval=2, samples=2, tile=64)]


def train(task: str, folder: Path, hooks: list[dict[str, Any]]) -> Sapiens2Runner:
    data = folder / 'data'
    options = [f'data_root={data}', *(['ann_file=people.json'] if task == 'pose' else [])] if data.exists() \
        else write_data(task, data)
    cfg = small_recipe(task, options, folder / f'run{len(hooks)}', train_cfg__max_iters=3)
    cfg.custom_hooks = hooks
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


@pytest.mark.parametrize('task', ['pose', 'seg', 'normal', 'pointmap', 'albedo'])
def test_pictures_are_written_and_change_nothing(task: str, tmp_path: Path) -> None:
    with_pictures, without = train(task, tmp_path, PICTURES), train(task, tmp_path, [])
    files = sorted((Path(with_pictures.work_dir) / 'vis').iterdir())
    assert [file.name for file in files] == ['iter_000001.jpg', 'iter_000002.jpg']
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
    runner = train('pose', tmp_path, [])
    batch = next(iter(runner.train_dataloader))
    sample, image = batch['data_samples'][0], batch['inputs'][0]
    weights = sample.gt_fields.keypoint_weights
    drawn: list[np.ndarray] = []

    def record(picture: np.ndarray, people: dict[str, np.ndarray], score_thr: float) -> np.ndarray:
        drawn.append(people['keypoints'])
        return picture

    patch = pytest.MonkeyPatch()
    patch.setattr('sapiens2.engine.hooks.sample_pictures.draw_people', record)
    SamplePicturesHook(tile=64).draw(runner, batch, '')
    patch.undo()
    # Peaks of the heat maps, from cells (12 x 16) to pixels (48 x 64), corners on corners. At the edge of so small a
    # map the refinement of a peak goes astray.
    peaks = sample.gt_fields.heatmaps.flatten(1).argmax(1)
    cells = torch.stack((peaks % 12, peaks // 12), dim=1).numpy()
    inside = (weights > 0).numpy() & (cells >= 2).all(1) & (cells <= (9, 13)).all(1)
    assert inside.any() and tuple(image.shape[1:]) == (64, 48)
    np.testing.assert_allclose(drawn[0][0][inside], cells[inside] * (47 / 11, 63 / 15), atol=1.5 * 47 / 11)


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
