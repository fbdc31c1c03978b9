"""``sapiens2 convert``: weights from one format to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from sapiens2.utils.choices import WEIGHT_FORMATS


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'convert', help='convert weights to the released format or to transformers',
        description='Convert a checkpoint of any format that is read here (released, transformers, MMEngine and other '
                    'archives of torch.save) to the released format or to that of transformers.')
    parser.add_argument('source', metavar='IN', type=Path, help='file of weights, or folder in transformers format')
    parser.add_argument('target', metavar='OUT', type=Path,
                        help='.safetensors file to write (released), or folder (transformers)')
    parser.add_argument('--to', required=True, choices=WEIGHT_FORMATS, help='format to write')
    parser.add_argument('--dtype', help='of the parameters: fp32, bf16 or fp16, or their long names '
                                        '(default: as in IN)')
    parser.add_argument('--img-size', nargs=2, type=int, metavar=('H', 'W'),
                        help='image size in pixels that the weights are for, noted in what is written; transformers '
                             'needs it (default: what IN notes)')
    parser.add_argument('--force', action='store_true', help='overwrite OUT')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Convert and say what was written; 0 on success."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from sapiens2.models.checkpoints.convert import convert
    from sapiens2.utils.devices import dtype_named
    dtype = dtype_named(args.dtype) if args.dtype else None
    bar = Progress(TextColumn('writing'), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
                   console=Console(stderr=True))

    def show(done: int, total: int) -> None:
        if not bar.tasks:
            bar.add_task('writing', total=total)
        bar.update(bar.task_ids[0], completed=done)

    with bar:
        result = convert(args.source, args.target, args.to, dtype=dtype, img_size=args.img_size, force=args.force,
                         progress=show)
    print(f'read    {result.origin}\nholds   {result.description}\n'
          f'wrote   {result.tensors} tensors, {result.bytes / 1e6:,.1f} MB: {", ".join(map(str, result.files))}')
    return 0
