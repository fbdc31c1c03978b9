"""Attention for processors whose fused kernel is slow: bf16 on x86 without tile (AMX) instructions.

There PyTorch's fused attention multiplies small tiles that the vector units cannot be kept busy with. Two larger
matrix products per head and chunk of queries, with one buffer of scores that stays in the cache, take half the time
(``benchmarks/backbone_speed.py``). The scores are rounded to bf16, which the fused kernel keeps in float32.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

MIN_TOKENS = 512  # below this the fused kernel is as fast
CHUNK = 512  # queries whose scores are held at once


@functools.lru_cache(maxsize=1)
def fused_kernel_is_slow() -> bool:
    """Whether this processor has bf16 vector products but no bf16 tile products."""
    return torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported()


def plain_cpu_inference(x: Tensor) -> bool:
    """Whether ``x`` is on the CPU and neither a gradient nor a tracer wants to see single operations."""
    return (x.device.type == 'cpu' and not torch.is_grad_enabled() and not torch.compiler.is_compiling()
            and not torch.jit.is_tracing())


def prefers_chunks(q: Tensor) -> bool:
    """Whether ``chunked_attention`` is the faster one for these queries (B, heads, N, D)."""
    return (plain_cpu_inference(q) and q.dtype == torch.bfloat16 and q.shape[-2] >= MIN_TOKENS
            and fused_kernel_is_slow())


def chunked_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Softmax attention without mask or gradient.

    Args:
        q: (B, heads, N, D).
        k, v: (B, kv heads, M, D); each serves heads / kv heads heads.

    Returns:
        (B, heads, N, D), a view of memory laid out as (B, N, heads, D).
    """
    batch, heads, tokens, dim = q.shape
    group = heads // k.shape[1]
    q = q * dim**-0.5
    out = q.new_empty(batch, tokens, heads, dim).transpose(1, 2)
    buffer = q.new_empty(min(CHUNK, tokens), k.shape[2])
    for image in range(batch):
        for head in range(heads):
            keys, values = k[image, head // group].t(), v[image, head // group]
            for start in range(0, tokens, CHUNK):
                queries = q[image, head, start:start + CHUNK]
                scores = buffer[:len(queries)]
                torch.mm(queries, keys, out=scores)
                torch.softmax(scores, dim=-1, out=scores)
                torch.mm(scores, values, out=out[image, head, start:start + CHUNK])
    return out
