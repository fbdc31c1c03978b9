"""``sapiens2 data convert``: public data sets to the layouts that the project trains on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sapiens2.cli.arguments import positive, positive_number, share
from sapiens2.utils.environment import usable_cores
from sapiens2.utils.suggest import unknown_name

# As in sapiens2.datasets.converters, which would import torch.
NAMES = ('coco', 'coco-wholebody', 'lip', 'cihp', 'celebamask-hq', 'synthhuman', 'thuman', 'hi4d')
# Options that only some sets have, by the names that their converters know.
SET_OPTIONS = ('views', 'size', 'height', 'every', 'val_share')
_EPILOG = '''docs/en/datasets/ has a page on each set: where to get it, its terms, the folders expected.

exit code: 0 all done, 1 something was left out (and named), 2 nothing could be started.

examples:
  sapiens2 data convert coco-wholebody downloads/coco data/coco --link
  sapiens2 data convert lip downloads/LIP data/seg --split val --limit 100
  sapiens2 data convert thuman downloads/THuman2.1 data/thuman --views 12 --size 1024 768'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the sub-verb to ``sapiens2 data``."""
    parser = subparsers.add_parser(
        'convert', help='convert a public data set to the layout that is trained on',
        description='Convert a public data set, as its authors publish it, to the layout that is trained on. Nothing '
                    'in SRC is changed. Samples that are complete in OUT are kept, so a run that was stopped goes on.',
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('name', metavar='NAME', type=_name, help=', '.join(NAMES))
    parser.add_argument('source', metavar='SRC', type=Path, help='folder of the data set')
    parser.add_argument('target', metavar='OUT', type=Path, help='folder to write to')
    parser.add_argument('--split', default='all', help='train, val, test or all (default: %(default)s)')
    parser.add_argument('--workers', metavar='N', type=positive, default=usable_cores(),
                        help='processes (default: one a core)')
    parser.add_argument('--limit', metavar='N', type=positive, help='most photographs, frames or scans of each split')
    parser.add_argument('--link', action='store_true', help='hard-link unchanged files in place of copying them')
    group = parser.add_argument_group('options of some sets')
    group.add_argument('--views', metavar='N', type=positive, help='thuman: cameras round each scan (default: 8)')
    group.add_argument('--size', metavar=('H', 'W'), type=positive, nargs=2,
                       help='thuman: pixels of a view (default: 1024 768)')
    group.add_argument('--height', metavar='M', type=positive_number,
                       help='thuman: height of every scan in metres, as their true size is not known (default: 1.8)')
    group.add_argument('--every', metavar='N', type=positive, help='hi4d: take every N-th frame (default: 1)')
    group.add_argument('--val-share', metavar='P', type=share,
                       help='synthhuman, thuman, hi4d: share of samples, scans or pairs for validation, as these sets '
                            'state no split (default: 0.02, hi4d 0.1)')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Convert, and print the command that trains on the result as the last line; 1 if something was left out."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from rich.console import Console

    from sapiens2.datasets import converters
    from sapiens2.utils.atomic import check_folder
    kind = converters.CONVERTERS[args.name]
    converter = kind(args.source, args.target, args.link, **_given(args))
    splits = converters.splits_of(kind, args.split)
    if args.target.resolve() == args.source.resolve() or args.source.resolve() in args.target.resolve().parents:
        raise ValueError(f'OUT {args.target} lies in SRC {args.source}, where nothing may be changed; give another '
                         'folder')
    check_folder(args.target)
    console = Console(stderr=True)
    summary = converters.run(converter, splits, args.workers, args.limit, console)
    converters.print_summary(summary, converter, console)
    print('Train with:')
    for command in converter.commands():
        print(command)
    return 1 if summary.problems else 0


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """The options of single sets that were given."""
    return {name: value for name in SET_OPTIONS if (value := getattr(args, name)) is not None}


def _name(text: str) -> str:
    if text not in NAMES:
        raise argparse.ArgumentTypeError(unknown_name(text, NAMES, 'data set'))
    return text
