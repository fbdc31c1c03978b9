"""Time of one forward pass of a backbone against transformers' Sapiens2, in turns, in one process.

    python benchmarks/backbone_speed.py --arch sapiens2_0.1b --dtype bf16
    python benchmarks/backbone_speed.py --arch sapiens2_0.1b --dtype fp32

Weights are random. The distance of our result from our own float32 result is printed too.
Results are in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from transformers import Sapiens2Backbone, Sapiens2Config

from sapiens2.models.backbones.base import init_transformer
from sapiens2.models.backbones.sapiens2 import Sapiens2
from sapiens2.utils.devices import dtype_named


def reference_model(ours: Sapiens2) -> Sapiens2Backbone:
    """transformers' backbone of the same size; its weights are its own."""
    arch = ours.arch
    return Sapiens2Backbone(Sapiens2Config(
        hidden_size=arch['embed_dims'], intermediate_size=arch['feedforward_channels'],
        num_hidden_layers=arch['num_layers'], num_attention_heads=arch['num_heads'], image_size=ours.img_size,
        num_key_value_heads_per_layer=[block.attn.num_kv_heads for block in ours.blocks],
        out_indices=[arch['num_layers']]))


def seconds(call) -> float:  # noqa: ANN001
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--arch', default='sapiens2_0.1b')
    parser.add_argument('--dtype', default='bf16')
    parser.add_argument('--img-size', nargs=2, type=int, default=(1024, 768), metavar=('H', 'W'))
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--compile', action='store_true', help='compile ours (needs a C++ compiler)')
    args = parser.parse_args()
    torch.manual_seed(0)
    dtype = dtype_named(args.dtype)
    ours = Sapiens2(args.arch, img_size=args.img_size).eval()
    init_transformer(ours)
    theirs = reference_model(ours).eval().to(dtype)
    image = torch.randn(1, 3, *args.img_size)
    with torch.inference_mode():
        exact = ours(image)[0]
        ours.to(dtype)
        model = torch.compile(ours) if args.compile else ours
        image = image.to(dtype)
        rounded = model(image)[0].float()
        theirs(image)
        times = [(seconds(lambda: theirs(image)), seconds(lambda: model(image))) for _ in range(args.rounds)]
    ratios = [own / other for other, own in times]
    print(f'{args.arch} {args.dtype} {args.img_size[0]}x{args.img_size[1]}, {torch.get_num_threads()} threads, '
          f'torch {torch.__version__}')
    print(f'transformers {statistics.median(t for t, _ in times):.2f} s, '
          f'sapiens2 {statistics.median(t for _, t in times):.2f} s (medians of {args.rounds})')
    print(f'ratio sapiens2 / transformers: median {statistics.median(ratios):.2f}, '
          f'{min(ratios):.2f} to {max(ratios):.2f}')
    print(f'distance from float32: {((rounded - exact).norm() / exact.norm()).item():.4f}')


if __name__ == '__main__':
    main()
