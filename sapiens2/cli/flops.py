"""``sapiens2 flops``: parameters and multiply-adds of a backbone or of a whole model."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

SUFFIX_4K = '_4k'


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'flops', help='count parameters and multiply-adds',
        description='Count parameters and multiply-adds of one image, with attention and without it. Nothing is '
                    'computed and no weights are made, so any size can be counted. Without --arch and CONFIG: the '
                    'table of all released backbones.')
    parser.add_argument('config', nargs='?', metavar='CONFIG', help='config file of a whole model')
    parser.add_argument('--arch', metavar='NAME',
                        help='backbone, sapiens2_1b for instance; sapiens2_1b_4k is the same as --arch sapiens2_1b '
                             '--tokenizer')
    parser.add_argument('--img-size', nargs=2, type=int, metavar=('H', 'W'),
                        help='image size in pixels (default: what the model is built for)')
    parser.add_argument('--tokenizer', action='store_true', help='with the 4K tokenizer (default size 4096 3072)')
    parser.add_argument('--depth', type=int, default=0, metavar='N', help='list modules down to this depth of names')
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the counts; 0 on success."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.registry import register_all
    from sapiens2.utils.flops import count_flops
    if args.config and (args.arch or args.tokenizer):
        raise ValueError('give CONFIG or --arch and --tokenizer, not both: the config says what the model is')
    register_all()
    reports = {f'{name} {size[0]}x{size[1]}': count_flops(model, size) for name, model, size in _models(args)}
    if args.json:
        print(json.dumps({name: dataclasses.asdict(report) for name, report in reports.items()}, indent=2))
        return 0
    print(f'{"MODEL (H x W)":<40} {"PARAMETERS":>15} {"MULTIPLY-ADDS":>15} {"WITHOUT ATTENTION":>18}')
    for name, report in reports.items():
        print(f'{name:<40} {report.parameters:>15,} {report.total / 1e12:>13.6f} T '
              f'{(report.total - report.attention) / 1e12:>16.6f} T')
        for module, (flops, parameters) in report.modules.items():
            if module and module.count('.') < args.depth:
                print(f'  {module:<38} {parameters:>15,} {flops / 1e12:>13.6f} T')
    return 0


def _models(args: argparse.Namespace) -> Iterator[tuple[str, nn.Module, tuple[int, int]]]:
    """Name, model on the meta device and (H, W) of each model to count."""
    import torch

    from sapiens2.models.backbones.sapiens2 import ARCHS
    from sapiens2.registry import MODELS
    if args.config:
        from sapiens2.utils.config import load_config
        with torch.device('meta'):
            model = MODELS.build(load_config(args.config).model)
        yield args.config, model, tuple(args.img_size or model.backbone.img_size)
        return
    # The released 4K weights are called so; here it is an option of the backbone.
    is_4k = bool(args.arch) and args.arch.endswith(SUFFIX_4K)
    chosen = [(args.arch.removesuffix(SUFFIX_4K), args.tokenizer or is_4k)] if args.arch else [
        (name, args.tokenizer) for name in ARCHS if name.endswith('b')] + (
            [] if args.tokenizer else [('sapiens2_1b', True)])
    for arch, tokenizer in chosen:
        size = tuple(args.img_size or ((4096, 3072) if tokenizer else (1024, 768)))
        kind = 'Sapiens' if arch.startswith('sapiens_') else 'Sapiens2'
        options = dict(use_tokenizer=True) if tokenizer else {}
        with torch.device('meta'):
            yield arch + (' + tokenizer' if tokenizer else ''), MODELS.build(
                dict(type=kind, arch=arch, img_size=size, **options)), size
