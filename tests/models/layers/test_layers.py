"""Layers: attention in chunks, rotary embedding, drop path."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from sapiens2.models.layers import DropPath, RotaryEmbedding2D, SelfAttention, SwiGLU, apply_rotary
from sapiens2.models.layers.cpu_attention import CHUNK, chunked_attention


@pytest.mark.parametrize('kv_heads', [4, 2])
@pytest.mark.parametrize('tokens', [7, CHUNK + 5])
def test_chunked_attention_equals_the_fused_one(kv_heads, tokens):
    torch.manual_seed(0)
    q = torch.randn(2, 4, tokens, 16)
    k, v = torch.randn(2, 2, kv_heads, tokens, 16)
    with torch.no_grad():
        expected = F.scaled_dot_product_attention(q, k, v, enable_gqa=kv_heads != 4)
        torch.testing.assert_close(chunked_attention(q, k, v), expected)
        half = chunked_attention(*(x.bfloat16() for x in (q, k, v))).float()
    fused = F.scaled_dot_product_attention(*(x.bfloat16() for x in (q, k, v)), enable_gqa=kv_heads != 4).float()
    assert (half - expected).norm() < 1.6 * (fused - expected).norm()  # scores are rounded to bf16


def test_attention_without_gradient_equals_attention_with():
    torch.manual_seed(0)
    layer = SelfAttention(32, 4, num_kv_heads=2).bfloat16()
    x = torch.randn(1, CHUNK + 100, 32).bfloat16()
    with torch.no_grad():
        plain = layer(x)
    torch.testing.assert_close(plain, layer(x), rtol=0.05, atol=1e-6)


def test_feed_forward_in_chunks_equals_the_whole():
    torch.manual_seed(0)
    layer, x = SwiGLU(8, 16), torch.randn(2, 1100, 8)
    with torch.no_grad():
        plain = layer(x)
    torch.testing.assert_close(plain, layer(x))


def test_rotary_scores_depend_on_the_offset_alone():
    """On a square grid the product of two rotated vectors depends on where they are from one another."""
    rope = RotaryEmbedding2D(16, dtype='fp32').eval()
    cos, sin = rope(6, 6)
    torch.manual_seed(0)
    a, b = torch.randn(2, 1, 1, 1, 16).expand(2, 1, 36, 1, 16)
    scores = (apply_rotary(a, cos, sin)[0, :, 0] @ apply_rotary(b, cos, sin)[0, :, 0].T).view(6, 6, 6, 6)
    torch.testing.assert_close(scores[1, 1, 2, 4], scores[3, 2, 4, 5])
    assert not torch.allclose(scores[1, 1, 2, 4], scores[1, 1, 4, 2])


def test_rotary_leaves_prefix_tokens():
    rope = RotaryEmbedding2D(8, dtype='fp32').eval()
    x = torch.randn(1, 3 + 4, 2, 8)
    out = apply_rotary(x, *rope(2, 2))
    torch.testing.assert_close(out[:, :3], x[:, :3])
    torch.testing.assert_close(out.norm(dim=-1), x.norm(dim=-1))
    assert not torch.allclose(out[:, 3:], x[:, 3:])


def test_rotary_coordinates_change_in_training_only():
    rope = RotaryEmbedding2D(8, dtype='fp32', shift=0.5, jitter=1.5, rescale=2.0)
    assert not torch.equal(rope(3, 3)[0], rope(3, 3)[0])
    rope.eval()
    torch.testing.assert_close(rope(3, 3)[0], rope(3, 3)[0])
    with pytest.raises(ValueError, match='at least 1'):
        RotaryEmbedding2D(8, rescale=0.5)


def test_drop_path_keeps_the_mean():
    torch.manual_seed(0)
    layer = DropPath(0.25).train()
    out = layer(torch.ones(4000, 1, 2))
    assert out.unique().tolist() == pytest.approx([0, 4 / 3])
    assert out.mean().item() == pytest.approx(1, abs=0.05)
