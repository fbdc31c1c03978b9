"""From images as read to the network's input."""

from __future__ import annotations

import pytest
import torch

from sapiens2.registry import MODELS
from sapiens2.structures import DataSample


def build(**kwargs):
    return MODELS.build(dict(type='SapiensDataPreprocessor', **kwargs))


def test_bgr_images_become_normalised_rgb():
    image = torch.zeros(3, 4, 6, dtype=torch.uint8)
    image[0], image[2] = 10, 200  # blue, red
    sample = DataSample(metainfo=dict(sample_id='a'))
    batch = build()(dict(inputs=[image, image], data_samples=[sample, sample]))
    assert batch['inputs'].shape == (2, 3, 4, 6) and batch['inputs'].dtype == torch.float32
    expected = torch.tensor([(200 - 123.675) / 58.395, (0 - 116.28) / 57.12, (10 - 103.53) / 57.375])
    torch.testing.assert_close(batch['inputs'][1, :, 2, 3], expected)
    assert [sample.sample_id for sample in batch['data_samples']] == ['a', 'a']


def test_a_stacked_batch_without_samples_is_the_same():
    images = torch.randint(0, 256, (2, 3, 4, 6), dtype=torch.uint8)
    stacked, listed = build()(dict(inputs=images)), build()(dict(inputs=list(images)))
    assert stacked['data_samples'] is None
    assert torch.equal(stacked['inputs'], listed['inputs'])
    plain = build(mean=(0, 0, 0), std=(1, 1, 1), bgr_to_rgb=False)(dict(inputs=images))
    assert torch.equal(plain['inputs'], images.float())


def test_images_of_two_sizes_are_named():
    samples = [DataSample(metainfo=dict(sample_id=name)) for name in ('left.jpg', 'right.jpg')]
    images = [torch.zeros(3, 8, 8), torch.zeros(3, 8, 6)]
    with pytest.raises(ValueError, match=r"left.jpg has \(8, 8\), right.jpg has \(8, 6\); resize"):
        build()(dict(inputs=images, data_samples=samples))
    with pytest.raises(ValueError, match=r'sample 1 of the batch: an image must be \(3, H, W\), got \(1, 8, 8\)'):
        build()(dict(inputs=[torch.zeros(3, 8, 8), torch.zeros(1, 8, 8)]))


@pytest.mark.parametrize('change', [
    lambda module: module.bfloat16(),
    lambda module: module.to('meta').to_empty(device='cpu'),
    lambda module: module,
], ids=['bfloat16', 'from meta', 'built on meta'])
def test_statistics_survive_casts_and_the_meta_device(change):
    with torch.device('meta'):
        module = build()
    module = change(module)
    assert module.device == torch.device('cpu') and not module.state_dict()
    image = torch.full((3, 2, 2), 128, dtype=torch.uint8)
    torch.testing.assert_close(module(dict(inputs=[image]))['inputs'], build()(dict(inputs=[image]))['inputs'])


def test_statistics_are_checked():
    with pytest.raises(ValueError, match='three values'):
        build(mean=(1, 2))
    with pytest.raises(ValueError, match='positive'):
        build(std=(1, 0, 1))
