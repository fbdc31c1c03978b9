"""Layers: attention in chunks, rotary embedding, drop path."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sapiens2.models.layers import DropPath, RotaryEmbedding2D, TransformerBlock, apply_rotary, cpu_inference
from sapiens2.models.layers.cpu_inference import suits_chunks


@pytest.mark.parametrize('kv_heads', [4, 2])
@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16])
@pytest.mark.parametrize('threads', [1, 3])
def test_block_in_chunks_equals_the_whole(kv_heads, dtype, threads):
    torch.manual_seed(0)
    block = TransformerBlock(64, 4, 96, num_kv_heads=kv_heads).to(dtype).eval()
    rope = tuple(RotaryEmbedding2D(16, num_prefix_tokens=2)(30, 35))
    x = torch.randn(2, 2 + 30 * 35, 64, dtype=dtype)
    whole = block(x, rope)  # with gradient
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.no_grad():
            assert suits_chunks(x) and not suits_chunks(x[:, :100])
            chunked = block(x, rope)
        with torch.inference_mode():
            torch.testing.assert_close(block(x, rope), chunked)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    tolerance = dict(rtol=0.02, atol=0.02) if dtype == torch.bfloat16 else {}
    torch.testing.assert_close(chunked, whole.detach(), **tolerance)


def test_an_adapter_or_a_hook_on_a_linear_layer_acts_in_chunks_too():
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    torch.manual_seed(0)
    x = torch.randn(1, 600, 64)
    block = TransformerBlock(64, 4, 96).eval()
    seen = []
    block.ffn.w3.register_forward_hook(lambda *_: seen.append(1))
    with torch.no_grad():
        block(x)
        assert seen
        adapted = TransformerBlock(64, 4, 96).eval()
        adapted.attn.wq = Doubled(64, 64)
        short = adapted(x[:, :100])
        adapted.attn.wk.register_forward_hook(lambda *_: None)
    torch.testing.assert_close(adapted(x[:, :100]).detach(), short)
    with torch.no_grad():
        chunked = adapted(x)
    torch.testing.assert_close(chunked, adapted(x).detach())


@pytest.mark.parametrize('size', [1.0, 40.0])  # scores that fit the powers of two, and some that do not
def test_attention_by_products_is_near_the_fused_one(monkeypatch, size):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 700, 16).bfloat16()
    q, k = size * q, k + 5
    exact = F.scaled_dot_product_attention(*(x.float()[None, None] for x in (q, k, v)))[0, 0]
    errors = {}
    for slow in (True, False):
        monkeypatch.setattr(cpu_inference, 'fused_attention_is_slow', lambda slow=slow: slow)
        out = torch.empty(700, 16, dtype=torch.bfloat16)
        cpu_inference.attend_head(q, k, v, out)
        errors[slow] = (out.float() - exact).norm()
    assert errors[True] < 3 * errors[False] and errors[True] < 0.01 * exact.norm()


def test_chunks_cover_all_tokens_once():
    for tokens in (1, 511, 513, 3081):
        parts = cpu_inference.chunks(tokens)
        assert [i for part in parts for i in range(part.start, part.stop)] == list(range(tokens))
        assert max(part.stop - part.start for part in parts) <= cpu_inference.CHUNK


def test_an_error_in_a_worker_reaches_the_caller():
    def fail(value: int) -> None:
        raise ZeroDivisionError(value)

    with torch.no_grad(), pytest.raises(ZeroDivisionError, match='7'):
        cpu_inference.in_parallel(fail, [(7,)])


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
    rope = RotaryEmbedding2D(8, num_prefix_tokens=3, dtype='fp32').eval()
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
