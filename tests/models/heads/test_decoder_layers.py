"""Stacks of convolutions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sapiens2.models.layers.decoder import ChannelRMSNorm, convs, deconvs, pixel_shuffle_blocks


@pytest.mark.parametrize('kernel', [2, 3, 4])
def test_a_deconvolution_doubles_the_size(kernel):
    assert deconvs(4, [3], [kernel])(torch.rand(1, 4, 5, 7)).shape == (1, 3, 10, 14)


def test_convolutions_keep_or_halve_the_size():
    x = torch.rand(1, 4, 5, 8)
    assert convs(4, [3, 6], [1, 3])(x).shape == (1, 6, 5, 8)
    assert convs(4, [3, 6], [1, 3], stride=2)(x).shape == (1, 6, 2, 2)
    assert pixel_shuffle_blocks(4, [3, 2])(x).shape == (1, 2, 20, 32)


def test_channel_rms_norm_is_rms_norm_of_each_pixel():
    norm = ChannelRMSNorm(6)
    nn.init.normal_(norm.norm.weight)
    x = torch.randn(2, 6, 3, 4)
    expected = norm.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    torch.testing.assert_close(norm(x), expected)
    low = norm.bfloat16()(x.bfloat16())
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), expected, rtol=0.02, atol=0.02)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match='conv_out_channels has 2 entries and conv_kernel_sizes 1'):
        convs(4, [3, 3], [1])
    with pytest.raises(ValueError, match='deconv_out_channels has 1'):
        deconvs(4, [3], [4, 4])
    with pytest.raises(ValueError, match='2 is even'):
        convs(4, [3], [2])
    with pytest.raises(ValueError, match='not 5'):
        deconvs(4, [3], [5])
