"""``sapiens2 curate``: from any images to those of people that are worth training on."""

from __future__ import annotations

import argparse
from pathlib import Path

from sapiens2.cli.arguments import positive, positive_number
from sapiens2.cli.run_options import option
from sapiens2.utils.environment import usable_cores

ENGINES, STEPS = ('local', 'ray'), ('score', 'select', 'write', 'report')
_EPILOG = '''DIR will hold scores/ (Parquet, all that was measured), selection.parquet (what is kept, and why not), and
shards/ (WebDataset tar files of what is kept, each with its scores beside it) and report.html. A run that was
stopped goes on with the same command. Limits can be moved afterwards: images are scored once.

examples:
  sapiens2 curate configs/curation/humans.py --data-root photographs --out curated
  sapiens2 curate configs/curation/humans.py --data-root photographs --out curated --steps select report'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'curate', help='choose images of people worth training on',
        description='Measure images, leave out bad ones and duplicates, balance the rest, and write shards for '
                    'pretraining. Needs the extra curation: pip install "sapiens2[curation]".',
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('config', metavar='CONFIG', help='what to measure and to keep, see configs/curation')
    parser.add_argument('--out', type=Path, required=True, metavar='DIR', help='folder to write to')
    parser.add_argument('--data-root', metavar='PATH', help='where the images are, in place of the one in the config')
    parser.add_argument('--steps', nargs='+', choices=STEPS, default=STEPS, metavar='STEP',
                        help=f'of {", ".join(STEPS)} (default: all)')
    parser.add_argument('--workers', type=positive, default=usable_cores(), metavar='N',
                        help='processes; the result is the same (default: one a core)')
    parser.add_argument('--engine', choices=ENGINES, default='local',
                        help='ray spreads the scoring over a Ray cluster, whose machines must see images and DIR under '
                             'the same paths (default: local)')
    parser.add_argument('--plan', type=positive_number, nargs='+', metavar='N',
                        help='after that, say what N images would take, from what these took; 4e9, for instance')
    parser.add_argument('--price', type=positive_number, default=0.04, metavar='MONEY',
                        help='of an hour of one core, for --plan (default: %(default)g)')
    parser.add_argument('--cfg-options', metavar='KEY=VALUE', nargs='+', action='extend', type=option, default=[],
                        help='replace entries of the config, such as filters.0.at_least=256')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Curate; 0 when all was done."""
    from rich.console import Console

    from sapiens2.curation.run import DEFAULTS, REPORT, CurationRun
    from sapiens2.curation.select import QUARANTINE
    from sapiens2.utils.config import load_config

    options = dict(args.cfg_options)
    if args.data_root:
        options['source.data_root'] = args.data_root
    console = Console(stderr=True)
    curation = CurationRun(load_config(args.config, options, DEFAULTS), args.out)
    selection = curation(args.steps, args.workers, args.engine, console)
    counts = selection.counts()
    for reason, count in sorted(counts.items(), key=lambda item: -item[1]):
        console.print(f'{count:>12,}  {reason}', highlight=False, markup=False)
    console.print(f'{len(selection.kept):,} of {len(selection.reason):,} images are kept'
                  + (f'; see {args.out / REPORT}' if 'report' in args.steps else ''), highlight=False, soft_wrap=True)
    if counts.get(QUARANTINE):
        console.print(f'{counts[QUARANTINE]:,} images could not be used; the report and the column error of '
                      f'{args.out}/scores say why', highlight=False, soft_wrap=True)
    if args.plan:
        print(curation.plan(selection, [int(count) for count in args.plan], args.price))
    return 0
