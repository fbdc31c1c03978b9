"""What dense heads give beside their field: probabilities on request, and the focal length behind a scale."""

from __future__ import annotations

import pytest
import torch

from sapiens2.models.heads import PointmapHead, SegHead
from sapiens2.models.heads.seg_head import softmax_resized


def test_probabilities_are_those_of_the_resized_logits():
    head = SegHead(8, (4,), (4,), (4,), (1,), num_classes=5)
    logits = torch.randn(5, 12, 9)
    fields = head.postprocess(logits, (50, 70), seg_probs=True, seg_logits=True)
    assert fields['seg_probs'].dtype == torch.float16 and fields['seg_probs'].shape == (5, 50, 70)
    assert torch.allclose(fields['seg_probs'].float(), fields['seg_logits'].softmax(0), atol=1e-3)
    assert (fields['seg_probs'].float().sum(0) - 1).abs().max() < 3e-3
    assert torch.equal(softmax_resized(logits, (50, 70), 1000), fields['seg_probs'])
    assert 'seg_probs' not in head.postprocess(logits, (50, 70))


@pytest.mark.parametrize(('scale', 'focal'), [(0.5, 1536 * 2), (2.0, 384 * 2), (-1.0, 768_000 * 2)])
def test_focal_length_is_that_of_the_source_image(scale, focal):
    head = PointmapHead(8, upsample_channels=(4, 4), conv_out_channels=(4,), conv_kernel_sizes=(1,),
                        scale_conv_out_channels=(4,),
                        scale_conv_kernel_sizes=(1,), scale_final_layer=(16, 4, 1))
    fields = head.postprocess(torch.randn(3, 32, 24), (64, 48), torch.tensor([scale]))
    assert fields['focal'].tolist() == pytest.approx([focal]) and fields['scale'].tolist() == [scale]
