"""A transformer block on a CPU: chunks of tokens and single heads, each on one core, with its values in the cache.

PyTorch runs one operation after the other on all cores, each over all tokens: values go to memory and back, and the
cores wait for each other dozens of times a block. Here a core takes a chunk of tokens through all operations before the
attention, a head through the attention, and a chunk through all that follow. The operations are the same;
``benchmarks/README.md`` has the times.

On x86 processors with bf16 vector products but no tile products (AMX), PyTorch's fused attention multiplies tiles that
are too small to keep the vector units busy. There two larger matrix products take its place. Their scores are rounded
to bf16, which the fused kernel keeps in float32; so the mean key is taken off all keys first, which leaves the softmax
as it is and makes the scores smaller. Normalised queries and keys bound the scores, so no largest one has to be found.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.layers.packed_linear import PackedLinear, PackedSwiGLU, can_pack

if TYPE_CHECKING:
    from sapiens2.models.layers.block import TransformerBlock

CHUNK = 256  # tokens, at most
MIN_TOKENS = 512  # with fewer there is nothing to gain
LARGEST_EXPONENT = 100  # of 2 in a weight of the attention: far from the ends of bf16, whatever is summed
ROWS = 512  # queries of a head that are scored together, at most
START_SECONDS = 60  # that a thread has to start, before it counts as an error


def suits_chunks(x: Tensor) -> bool:
    """Whether tokens (B, N, C) are many, on the CPU, with values, and no gradient, autocast or tracer sees them."""
    return (type(x) is Tensor and x.device.type == 'cpu' and x.shape[1] >= MIN_TOKENS and not torch.is_grad_enabled()
            and not torch.is_autocast_enabled('cpu') and not torch.compiler.is_compiling()
            and not torch.jit.is_tracing())


def block_in_chunks(block: TransformerBlock, x: Tensor, rope: Optional[tuple[Tensor, Tensor]]) -> Tensor:
    """What ``block`` gives in evaluation mode for tokens (B, N, C) and rotary tables (N, D) or (B, N, D)."""
    attn = block.attn
    parts = [(image, part) for image in range(len(x)) for part in chunks(x.shape[1])]
    q = x.new_empty(*x.shape[:2], attn.num_heads, attn.head_dim)
    k, v = x.new_empty(2, *x.shape[:2], attn.num_kv_heads, attn.head_dim)
    attended, out = torch.empty_like(q), torch.empty_like(x)
    *projections, proj, ffn = layers_for_chunks(block, x.dtype)

    def before(image: int, part: slice) -> None:
        tables = None if rope is None else [
            table[part] if table.ndim == 2 else table[image:image + 1, part] for table in rope]
        projected = attn.project(block.ln1(x[image:image + 1, part]), tables, projections)
        for whole, piece in zip((q, k, v), projected):
            whole[image:image + 1, part] = piece

    def attend(image: int, head: int) -> None:
        group = head * attn.num_kv_heads // attn.num_heads
        attend_head(q[image, :, head], k[image, :, group], v[image, :, group], attended[image, :, head])

    def after(image: int, part: slice) -> None:
        y = x[image:image + 1, part] + attn.merge(attended[image:image + 1, part], proj)
        out[image:image + 1, part] = ffn(block.ln2(y), y)

    in_parallel(before, parts)
    in_parallel(attend, [(image, head) for image in range(len(x)) for head in range(attn.num_heads)])
    in_parallel(after, parts)
    return out


def layers_for_chunks(block: TransformerBlock, dtype: torch.dtype) -> list[Callable[..., Tensor]]:
    """wq, wk, wv and proj of the attention, and a function of x and residual that gives ``residual + ffn(x)``."""
    linear = [block.attn.wq, block.attn.wk, block.attn.wv, block.attn.proj]
    if not can_pack(block, dtype):
        return [*linear, lambda x, residual: residual + block.ffn(x)]
    return in_parallel(lambda packed, *arguments: packed(*arguments, CHUNK), [
        *((PackedLinear, layer.weight, layer.bias) for layer in linear), (PackedSwiGLU, block.ffn)])


def attend_head(q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> None:
    """Softmax attention of one head, q, k and v (N, D), written to ``out`` (N, D)."""
    dim = v.shape[-1]
    if q.dtype == torch.bfloat16 and fused_attention_is_slow():
        k_scaled = ((k.float() - k.float().mean(0)) * (dim**-0.5 * math.log2(math.e))).to(k.dtype)
        if q.norm(dim=-1).amax() * k_scaled.norm(dim=-1).amax() < LARGEST_EXPONENT:
            _attend_by_products(q.contiguous(), k_scaled.t(), v.contiguous(), out)
            return
    out.copy_(F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])[0, 0])


def _attend_by_products(q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> None:
    """Attention of q (N, D) to k (D, N) and v (N, D); exponents are of 2."""
    parts = equal_parts(len(q), -(-len(q) // ROWS))
    rows = max(part.stop - part.start for part in parts)
    buffer, sums = q.new_empty(rows, k.shape[1]), torch.empty_like(q[:rows])
    for part in parts:
        weights, summed = (whole[:part.stop - part.start] for whole in (buffer, sums))
        torch.mm(q[part], k, out=weights)
        torch.mm(weights.exp2_(), v, out=summed)
        torch.div(summed, weights.sum(dim=-1, keepdim=True), out=out[part])


@functools.cache
def fused_attention_is_slow() -> bool:
    """Whether this processor has bf16 vector products but no bf16 tile products."""
    return torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported()


def chunks(tokens: int) -> list[slice]:
    """Equal parts of at most ``CHUNK`` tokens, as many for each core."""
    threads = torch.get_num_threads()
    count = -(-tokens // CHUNK)
    return equal_parts(tokens, -(-count // threads) * threads)


def equal_parts(length: int, count: int) -> list[slice]:
    """``count`` parts whose lengths differ by at most one, empty ones left out."""
    edges = [length * index // count for index in range(count + 1)]
    return [slice(start, stop) for start, stop in zip(edges, edges[1:]) if stop > start]


def in_parallel(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """``task`` of each of ``arguments``, on as many cores as torch has threads; one core for each call."""
    threads = torch.get_num_threads()
    if threads == 1:
        return [task(*values) for values in arguments]
    mode = torch.inference_mode if torch.is_inference_mode_enabled() else torch.no_grad

    def call(values: tuple[Any, ...]) -> Any:
        with mode():  # a setting of each thread
            return task(*values)

    return list(_workers(os.getpid(), threads).map(call, arguments))


@functools.lru_cache(maxsize=1)
def _workers(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads of this process whose torch operations use one core each."""
    started = threading.Barrier(threads + 1)

    def start() -> None:
        torch.get_num_threads()  # a thread takes over the number of the process at its first use, so use it first
        torch.set_num_threads(1)
        started.wait(START_SECONDS)

    pool = ThreadPoolExecutor(threads, 'sapiens2', start)
    for _ in range(threads):
        pool.submit(int)
    started.wait(START_SECONDS)
    torch.set_num_threads(threads)  # setting it in any thread has changed what later threads start with
    return pool
