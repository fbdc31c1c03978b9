"""``Resize`` with targets smaller than the picture."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.datasets.transforms import GeneratePointmap, PackInputs, RandomAreaCrop, Resize


def results(height: int = 64, width: int = 48) -> dict:
    depth = np.linspace(1, 3, height * width, dtype=np.float32).reshape(height, width)
    return dict(img=np.full((height, width, 3), 7, np.uint8), img_shape=(height, width), sample_id='a', depth=depth,
                normal=np.tile(np.float32([0, 0, -1]), (height, width, 1)), mask=np.ones((height, width), np.uint8),
                sem_seg=np.arange(height * width, dtype=np.uint8).reshape(height, width) % 29,
                K=np.float32([[100, 0, 23.5], [0, 100, 31.5], [0, 0, 1]]))


def test_fields_and_camera_are_those_of_a_smaller_picture():
    ours, small = Resize((256, 192), target_stride=2)(results()), Resize((128, 96))(results())
    assert ours['img'].shape == (256, 192, 3) and ours['img_shape'] == (256, 192)
    for name in ('depth', 'normal', 'mask', 'sem_seg'):
        np.testing.assert_array_equal(ours[name], small[name])
    np.testing.assert_allclose(ours['K'], small['K'], rtol=1e-6)
    packed = PackInputs()(GeneratePointmap(1536.0)(ours))
    fields = packed['data_samples'].gt_fields
    assert packed['inputs'].shape == (3, 256, 192) and fields.pointmap.shape == (3, 128, 96)
    assert fields.scale.item() == pytest.approx(1536 / 200)
    # The principal point lies in the middle of the targets: what is left and right of it is alike.
    np.testing.assert_allclose(fields.pointmap[0, 64] / fields.pointmap[2, 64],
                               -(fields.pointmap[0, 64] / fields.pointmap[2, 64]).flip(0), atol=1e-6)


def test_stored_rasters_are_not_changed_and_windows_still_count():
    given = results()
    np.random.seed(0)
    out = Resize((128, 96), target_stride=4)(RandomAreaCrop((0.3, 0.5), (0.8, 1.2), 8, prob=1.0)(given))
    assert out['img'].shape == (128, 96, 3) and out['sem_seg'].shape == (32, 24)
    assert given['depth'].shape == (64, 48) and given['K'][0, 0] == 100


@pytest.mark.parametrize('options', [dict(size=(65, 48)), dict(size=(64, 48), keep_ratio=True)])
def test_strides_that_cannot_be_are_named(options):
    with pytest.raises(ValueError, match='target_stride 2 must divide the size'):
        Resize(**options, target_stride=2)
