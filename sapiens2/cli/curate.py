"""``sapiens2 curate``: from any images to those of people that are worth training on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from sapiens2.cli.arguments import positive, positive_number
from sapiens2.cli.run_options import option
from sapiens2.utils.environment import usable_cores

ENGINES, STEPS = ('local', 'ray'), ('score', 'select', 'write', 'report')
_EPILOG = r'''DIR will hold scores/ (Parquet, all that was measured), selection.parquet (what is kept, and why not), and
shards/ (WebDataset tar files of what is kept, each with its scores beside it) and report.html. A run that was
stopped goes on with the same command. Limits can be moved afterwards: images are scored once. Shards of a selection
are replaced by those of another with --overwrite only.

examples:
  sapiens2 curate configs/curation/humans.py --data-root photographs --out curated
  sapiens2 curate configs/curation/humans.py --data-root photographs --out curated --at-least person_side=200 \
      --steps select report
  sapiens2 curate configs/curation/humans.py --data-root photographs --out curated --at-least person_side=200 \
      --steps write report --overwrite'''


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
                        help='processes at most; the result is the same (default: one a core)')
    parser.add_argument('--engine', choices=ENGINES, default='local',
                        help='ray spreads the scoring over a Ray cluster, whose machines must see images and DIR under '
                             'the same paths (default: local)')
    parser.add_argument('--plan', type=positive_number, nargs='+', metavar='N',
                        help='after that, say what N images would take, from what these took; 4e9, for instance')
    parser.add_argument('--price', type=positive_number, default=0.04, metavar='MONEY',
                        help='of an hour of one core, for --plan (default: %(default)g)')
    for bound in ('at-least', 'at-most'):
        parser.add_argument(f'--{bound}', metavar='COLUMN=NUMBER', nargs='+', action='extend', type=option, default=[],
                            help='limit of a column, in place of the one of the config')
    parser.add_argument('--overwrite', action='store_true',
                        help='replace shards of another selection in DIR/shards; without it they stop the run before '
                             'anything is changed')
    parser.add_argument('--cfg-options', metavar='KEY=VALUE', nargs='+', action='extend', type=option, default=[],
                        help='replace entries of the config, such as balance.target=0.3')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Curate; 0 when all was done, 1 when images were lost on the way."""
    from rich.console import Console

    from sapiens2.curation.run import REPORT, CurationRun
    from sapiens2.curation.select import QUARANTINE
    from sapiens2.curation.settings import ENTRIES
    from sapiens2.utils.config import load_config

    options = dict(args.cfg_options)
    if args.data_root is not None:
        options['source.data_root'] = os.path.expanduser(args.data_root)
    limits = [(column, bound, value) for bound in ('at_least', 'at_most') for column, value in getattr(args, bound)]
    console = Console(stderr=True)
    curation = CurationRun(load_config(args.config, options, ENTRIES), args.out.expanduser(), limits)
    selection = curation(args.steps, args.workers, args.engine, console, args.overwrite)
    counts = selection.counts()
    for reason, count in sorted(counts.items(), key=lambda item: -item[1]):
        console.print(f'{count:>12,}  {reason}', highlight=False, markup=False)
    console.print(f'{len(selection.kept):,} of {len(selection.reason):,} images are kept'
                  + (f'; see {curation.out / REPORT}' if 'report' in args.steps else ''),
                  highlight=False, markup=False, soft_wrap=True)
    if counts.get(QUARANTINE):
        console.print(f'{counts[QUARANTINE]:,} images could not be used; the report and the column error of '
                      f'{curation.out}/scores say why', highlight=False, markup=False, soft_wrap=True)
    if args.plan:
        print(curation.plan(selection, [int(count) for count in args.plan], args.price))
    for complaint in curation.complaints:
        console.print(complaint, highlight=False, markup=False, soft_wrap=True)
    return 1 if curation.complaints else 0
