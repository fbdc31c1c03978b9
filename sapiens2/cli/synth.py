"""``sapiens2 synth``: a data set of made-up people with exact ground truth for every task."""

from __future__ import annotations

import argparse
from pathlib import Path

from sapiens2.cli.arguments import not_negative, positive
from sapiens2.utils.environment import usable_cores

ENGINES = ('local', 'ray')
SHOTS = ('whole', 'hips', 'bust', 'face')  # those of sapiens2.synth.render.framing, which needs the extra
_EPILOG = '''The folder holds train/ and val/ in the layouts that the configs expect, and annotations/ with key points.
Samples that are there are kept: the same command goes on with a run that was stopped, or makes more with a larger
--num.

examples:
  sapiens2 synth --num 1000 --out data/synth
  sapiens2 synth --num 200 --out data/faces --size 512 384 --seed 7 --backgrounds photographs'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'synth', help='generate pictures of made-up people with exact ground truth',
        description='Generate pictures of made-up people with 29 body parts, normals, depth and camera, albedo, masks '
                    'and 308 key points. Needs the extra synth: pip install "sapiens2[synth]".',
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--num', type=positive, required=True, metavar='N', help='samples that the folder will hold')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='folder to write to')
    parser.add_argument('--seed', type=not_negative, default=0, metavar='S',
                        help='another one gives other people (default: 0)')
    parser.add_argument('--size', type=positive, nargs=2, default=(1024, 768), metavar=('H', 'W'),
                        help='pixels of a picture, each from 16, one at most 4 times the other (default: 1024 768)')
    parser.add_argument('--workers', type=positive, default=usable_cores(), metavar='N',
                        help='processes; the result is the same (default: one a core)')
    parser.add_argument('--val-every', type=not_negative, default=10, metavar='N',
                        help='one of N samples is for validation, the second of each N, so that --num 2 has one; 0 for '
                             'none (default: 10)')
    parser.add_argument('--most-people', type=int, choices=range(1, 5), default=4, metavar='N',
                        help='people in a picture at most, 1 to 4 (default: 4)')
    parser.add_argument('--pictures-per-person', type=positive, default=1, metavar='N',
                        help='so many samples in a row show the same people, posed and lit anew (default: 1)')
    parser.add_argument('--shots', nargs='+', choices=SHOTS, default=SHOTS, metavar='KIND',
                        help=f'what pictures show: {", ".join(SHOTS)} (default: all)')
    parser.add_argument('--focal', type=float, nargs=2, default=(24, 135), metavar=('MIN', 'MAX'),
                        help='focal lengths in mm on a frame 36 mm wide, along the longer side (default: 24 135)')
    parser.add_argument('--backgrounds', type=Path, metavar='DIR', help='folder of pictures to put people in front of')
    parser.add_argument('--shards', type=positive, metavar='N',
                        help='also write WebDataset shards of N samples to DIR/shards')
    parser.add_argument('--engine', choices=ENGINES, default='local',
                        help='ray spreads the work over a Ray cluster; all its machines must see DIR, and the '
                             'backgrounds, under the same paths (extra ray; default: local)')
    parser.add_argument('--stats', action='store_true',
                        help='also print how often classes and key points occur in the samples, as Markdown')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Generate what is missing; 0 when all samples are there."""
    from rich.console import Console

    from sapiens2.synth.make_set import SetOptions, make_set
    from sapiens2.synth.next_steps import describe_next
    from sapiens2.utils.atomic import check_folder
    check_folder(args.out)
    options = SetOptions(args.seed, tuple(args.size), args.val_every, args.backgrounds, args.most_people,
                         tuple(name for name in SHOTS if name in args.shots), tuple(args.focal),
                         args.pictures_per_person)
    console = Console(stderr=True)
    make_set(args.out, args.num, options, args.workers, args.engine, args.shards, console)
    if args.stats:
        from sapiens2.synth.folder import SynthFolder
        from sapiens2.synth.statistics import markdown_of, statistics_of
        print(markdown_of(statistics_of(SynthFolder(args.out, args.val_every, args.pictures_per_person))))
    console.print(describe_next(args.out), highlight=False, markup=False, soft_wrap=True)
    return 0
