"""``sapiens2 test``: measure a checkpoint, or predictions made elsewhere, on the test data of a config."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sapiens2.cli.prediction_options import add_prediction_arguments, check_arguments, test_predictions
from sapiens2.cli.run_options import add_arguments, run_guarded

DESCRIPTION = 'Measure a checkpoint, or predictions made elsewhere, on the test data of a config.'


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('test', help='measure a checkpoint', description=DESCRIPTION)
    add_arguments(parser)
    parser.add_argument('checkpoint', metavar='CHECKPOINT', nargs='?', help='weights in any supported format')
    parser.add_argument('--dump', metavar='FILE', type=Path,
                        help='.json gets the metrics, .pkl the predictions of all samples')
    parser.add_argument('--json', action='store_true', help='print the metrics as JSON, with all digits')
    add_prediction_arguments(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Test, and print the metrics; 0 if all went well. The log goes to the error stream."""
    def test() -> None:
        from mmengine.dist import is_main_process

        from sapiens2.engine import launch
        from sapiens2.utils.atomic import atomic_path
        from sapiens2.utils.config import ConfigError
        from sapiens2.utils.text_table import figure_table
        if args.dump and args.dump.suffix not in ('.json', '.pkl'):
            raise ConfigError(f'--dump: {str(args.dump)!r} must end in .json (metrics) or .pkl (predictions)')
        check_arguments(args)
        cfg = launch.prepare(args.config, work_dir=args.work_dir, options=dict(args.cfg_options),
                             launcher=args.launcher)
        predictions = args.dump if args.dump and args.dump.suffix == '.pkl' else None
        if args.predictions is not None:
            launch.check_data(cfg, 'test_dataloader')
            metrics = test_predictions(cfg, args)
        else:
            if args.align is not None:
                from sapiens2.evaluation.predictions.run import add_alignment
                add_alignment(cfg, args.align)
            metrics = launch.test(cfg, args.checkpoint, predictions)
        if not is_main_process():
            return
        text = json.dumps(metrics, indent=2, default=float)
        print(text if args.json else figure_table(metrics))
        if args.dump and predictions is None:
            with atomic_path(args.dump) as partial:
                partial.write_text(text + '\n', encoding='utf-8')

    return run_guarded(test)
