"""``sapiens2 data``: check data sets, look at them, convert public ones."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from sapiens2.cli import data_convert
from sapiens2.cli.arguments import not_negative, positive
from sapiens2.cli.run_options import option
from sapiens2.utils.environment import usable_cores
from sapiens2.utils.tasks import SPLITS, TASKS

_INTERRUPTED = 130
_TARGET = '''TARGET is a training config, whose data sets are taken as they are configured; a folder with images/ and
labels/, normals/, depths/ and cameras/, masks/ or albedos/, which may lie in train/, val/ and test/; or a COCO JSON.'''
_CHECK = 'Read everything once and name whatever is wrong: file, annotation and field. ' + _TARGET
_CHECK_EPILOG = '''exit code: 0 no errors, 1 errors, 2 nothing could be checked, 130 interrupted (what was found so far
is shown). Warnings name what is possible but seldom meant; --strict makes them errors.

examples:
  sapiens2 data check configs/pose/sapiens2-1b_pose_coco_wholebody-1024x768.py --cfg-options data_root=/data/coco
  sapiens2 data check my_data/ --task normal --json faults.json
  sapiens2 data check annotations/people.json --images photos/'''
_BROWSE = 'Draw samples as the network gets them, augmented, beside their ground truth. ' + _TARGET
_BROWSE_EPILOG = '''The same seed draws the same samples in the same way.

example:
  sapiens2 data browse configs/seg/sapiens2-1b_seg_folder-1024x768.py --cfg-options data_root=my_data --out pictures'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('data', help='check, look at and convert data sets',
                                   description='Check data sets, look at them, convert public ones.')
    verbs = parser.add_subparsers(dest='data_verb', metavar='VERB', required=True)
    check = verbs.add_parser('check', help='read everything once and name what is wrong', description=_CHECK,
                             epilog=_CHECK_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_target(check, (*SPLITS, 'all'), 'all')
    check.add_argument('--workers', metavar='N', type=not_negative,
                       help='processes that read; 0 reads in this one (default: as many as there are cores)')
    check.add_argument('--limit', metavar='N', type=positive, help='samples of each data set, spread evenly over it')
    check.add_argument('--json', metavar='OUT', type=Path, help='file for all faults')
    check.add_argument('--max-shown', metavar='N', type=not_negative, default=10,
                       help='faults of one kind that are named here; more are counted (default: %(default)s)')
    check.add_argument('--strict', action='store_true', help='take warnings for errors')
    check.set_defaults(func=run_check)
    browse = verbs.add_parser('browse', help='draw samples with their ground truth', description=_BROWSE,
                              epilog=_BROWSE_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_target(browse, SPLITS, 'train')
    browse.add_argument('--out', metavar='DIR', type=Path, required=True, help='folder for the pictures')
    browse.add_argument('--num', metavar='N', type=positive, default=16, help='samples (default: %(default)s)')
    browse.add_argument('--seed', type=not_negative, default=0, help='of samples and augmentation (default: 0)')
    browse.add_argument('--no-augment', action='store_true', help='leave out the random steps of the pipeline')
    browse.set_defaults(func=run_browse)
    data_convert.add_parser(verbs)


def _add_target(parser: argparse.ArgumentParser, splits: tuple[str, ...], default: str) -> None:
    parser.add_argument('target', metavar='TARGET', help='config (.py), folder, or COCO annotation file (.json)')
    parser.add_argument('--split', choices=splits, default=default, help='default: %(default)s')
    parser.add_argument('--task', choices=TASKS, help='of a folder or JSON (default: whatever is there)')
    parser.add_argument('--images', metavar='DIR', help='folder of the images of a JSON (default: looked for near it)')
    parser.add_argument('--cfg-options', metavar='KEY=VALUE', nargs='+', action='extend', type=option, default=[],
                        help='replace entries of the config, such as data_root=PATH; for a folder or JSON, arguments '
                             'of its data set, such as label_map=map_34_to_29')


def run_check(args: argparse.Namespace) -> int:
    """Check; 0 if there are no errors, 1 if there are, 130 if interrupted."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.cli.data_report import CheckReport
    from sapiens2.apis.data_check.run import Plan, make_plan, pass_through, read_all
    from sapiens2.apis.data_check.sources import sources_of
    from sapiens2.utils.atomic import check_folder
    if args.json is not None:
        check_folder(args.json.parent)
    splits = SPLITS if args.split == 'all' else (args.split,)
    sources = sources_of(args.target, splits=splits, task=args.task, images=args.images,
                         options=dict(args.cfg_options))
    report = CheckReport(args.max_shown, args.strict, args.json is not None)
    for source in sources:
        report.say(source.detected or f'{args.target}: {source.name}')
    workers = usable_cores() if args.workers is None else args.workers
    plan, complete = Plan(), False
    try:
        plan = make_plan(sources, args.limit)
        for fault in plan.faults:
            report.add(fault)
        workers = min(workers, len(plan.samples))
        for faults in report.follow(read_all(plan, workers), len(plan.samples)):
            for fault in faults:
                report.add(fault)
        for fault in pass_through(plan):
            report.add(fault)
        complete = True
    except KeyboardInterrupt:
        report.say('interrupted: this is what was found so far')
    counts = Counter(part for part, _ in plan.samples)
    report.print_summary(workers, [counts[part] for part in range(len(plan.parts))])
    if args.json is not None:
        report.write_json(args.json, (source.name for source in sources), complete)
    if not complete:
        return _INTERRUPTED
    return 1 if report.errors else 0


def run_browse(args: argparse.Namespace) -> int:
    """Draw; 1 if a sample could not be drawn, which is named, else 0."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.apis.data_check.browse import browse
    from sapiens2.apis.data_check.sources import sources_of
    from sapiens2.utils.printable import printable
    sources = sources_of(args.target, splits=(args.split,), task=args.task, images=args.images,
                         options=dict(args.cfg_options))
    print(printable(sources[0].detected or f'{args.target}: {sources[0].name}'), file=sys.stderr)
    for source in sources[1:]:
        print(printable(f'not drawn here: {source.detected or source.name} To see it: sapiens2 data browse '
                        f'{source.config.get("ann_file") or args.target} --out DIR'), file=sys.stderr)
    pages, problems = browse(sources[0], args.out, args.num, args.seed, augment=not args.no_augment)
    for problem in problems:
        print(f'not drawn: {printable(problem)}', file=sys.stderr)
    print('\n'.join(str(page) for page in pages))
    return 1 if problems else 0
