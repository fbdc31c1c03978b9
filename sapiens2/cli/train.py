"""``sapiens2 train``: train a model as a config says."""

from __future__ import annotations

import argparse

from sapiens2.cli.run_options import add_arguments, run_guarded

DESCRIPTION = 'Train a model as a config says. Logs, checkpoints and the resolved config go to the work directory.'


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('train', help='train a model', description=DESCRIPTION)
    add_arguments(parser)
    parser.add_argument('--resume', metavar='CHECKPOINT', nargs='?', const='auto',
                        help='go on from CHECKPOINT, or without one from the newest in the work directory')
    parser.add_argument('--amp', action='store_true',
                        help='run the forward pass in bfloat16, where the device computes in it')
    parser.add_argument('--seed', type=int, help='seed of the whole run (default: that of the config)')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Train; 0 if all went well."""
    def train() -> None:
        from sapiens2.engine import launch
        cfg = launch.prepare(args.config, work_dir=args.work_dir, options=dict(args.cfg_options),
                             launcher=args.launcher, seed=args.seed)
        launch.train(cfg, resume=args.resume, amp=args.amp)

    return run_guarded(train)
