"""Options of ``sapiens2 test`` about predictions that were made elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from sapiens2.utils.choices import ALIGNMENTS, CONVENTIONS

# Option -> its entry of ``PredictionOptions``.
_ENTRIES = ('convention', 'missing', 'ending', 'label_map', 'depth_unit', 'true_camera')


def add_prediction_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    parser.add_argument('--predictions', metavar='PATH',
                        help='in place of CHECKPOINT: folder of predictions, one file an image; for pose also a COCO '
                             'results file')
    parser.add_argument('--align', metavar='NAME',
                        help='for pointmaps and depth: fit what is predicted to the truth, by image '
                             f'({", ".join(ALIGNMENTS)}), and measure depth too')
    group = parser.add_argument_group('options of --predictions')
    group.add_argument('--convention', metavar='NAME',
                       help=f'who made the files (default {CONVENTIONS[0]}; {", ".join(CONVENTIONS[1:])})')
    group.add_argument('--missing', metavar='POLICY',
                       help='error (default), or skip: leave out images and pixels without prediction, and count them')
    group.add_argument('--ending', metavar='.EXT', help='look at files with this ending alone')
    group.add_argument('--label-map', metavar='NAME_OR_JSON',
                       help='for seg: what becomes of stored labels; a map of the class set, or a JSON file')
    group.add_argument('--depth-unit', metavar='METRES', type=float,
                       help='of one step of depth in whole numbers (default 0.001)')
    group.add_argument('--true-camera', action='store_true', default=None,
                       help='turn depth without K into points with the K of the data set')


def test_predictions(cfg: Any, args: argparse.Namespace) -> dict[str, float]:
    """Measure ``args.predictions``, with a bar of progress."""
    from rich.console import Console

    from sapiens2.evaluation.predictions import PredictionOptions, measure_predictions
    from sapiens2.utils.progress import progress_bar
    given = {name: getattr(args, name) for name in (*_ENTRIES, 'align') if getattr(args, name) is not None}
    with progress_bar(Console(stderr=True), transient=True) as bar:
        def follow(indices: Iterable[int], count: int) -> Iterator[int]:
            yield from bar.track(indices, total=count, description='measured')

        return measure_predictions(cfg, args.predictions, PredictionOptions(**given), follow)


def check_arguments(args: argparse.Namespace) -> None:
    """Exactly one of checkpoint and predictions is given, and options that fit.

    Raises:
        ConfigError: naming the option.
    """
    from sapiens2.utils.config import ConfigError
    if (args.checkpoint is None) == (args.predictions is None):
        raise ConfigError('give either CHECKPOINT, which is run, or --predictions, which are read')
    unused = [f'--{name.replace("_", "-")}' for name in _ENTRIES if getattr(args, name) is not None]
    if args.predictions is None and unused:
        raise ConfigError(f'{", ".join(unused)}: of --predictions, which is not given')
    if args.predictions is not None and args.dump and args.dump.suffix == '.pkl':
        raise ConfigError('--dump: predictions are there already; give a .json file for the figures')
    if args.predictions is not None and args.launcher != 'none':
        raise ConfigError('--launcher: predictions are read by one process; leave it out')
