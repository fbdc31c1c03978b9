"""``sapiens2 features``: class and patch tokens of pictures, as files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Optional

from sapiens2.cli.infer_arguments import not_empty, some_path
from sapiens2.cli.probe import add_machine
from sapiens2.utils.choices import FEATURE_FORMATS
from sapiens2.utils.printable import printable

_EPILOG = '''A file holds cls (C,), the class token; mean (C,), the mean of the patches; patches (h, w, C); all float32.
The picture keeps its shape between black borders: patches[rows[0]:rows[1], columns[0]:columns[1]] are those of the
picture itself. It is called like its picture, in the same sub-folders.

What is finished in DIR, made of the same pictures with the same weights and settings, is not made again: the same
command continues a run.

exit code: 0 all done, 1 a picture was skipped (and named), 2 nothing could be started.

examples:
  sapiens2 features photos --model tiny --out features
  sapiens2 features photos --model sapiens2_0.1b --weights backbone.safetensors --out features
  sapiens2 features portrait.jpg --weights work_dirs/pretrain/iter_20000.pth --out features --pictures'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('features', help='write class and patch features of photographs',
                                   description='Write the tokens of a backbone for each picture.', epilog=_EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('inputs', metavar='INPUT', nargs='+', type=not_empty,
                        help='image, folder (with its sub-folders), glob, or .txt with a path a line')
    parser.add_argument('--out', metavar='DIR', type=some_path, required=True, help='folder for the results')
    parser.add_argument('--overwrite', action='store_true', help='make again what is finished in DIR')
    model = parser.add_mutually_exclusive_group()
    model.add_argument('--model', metavar='NAME', type=not_empty,
                       help='architecture (sapiens2_1b or 1b, sapiens_1b) or timm/NAME; default: told from the '
                            'checkpoint')
    model.add_argument('--config', metavar='CONFIG', type=not_empty, help='config file, in place of --model')
    parser.add_argument('--weights', metavar='FILE', type=not_empty,
                        help='checkpoint of any kind, or "random"; "--model tiny" has its own, of its network for seg')
    parser.add_argument('--format', choices=FEATURE_FORMATS, default='npz', help='of the files (default: %(default)s)')
    parser.add_argument('--pictures', action='store_true',
                        help='also write a picture of the first three principal components of the patches')
    parser.add_argument('--seed', type=int, default=0, help='of random weights (default: 0)')
    add_machine(parser)
    parser.set_defaults(func=run)


def _own_weights(model: str) -> Optional[str]:
    """The weights that come with the package for a model; None for timm's, which have their own, and for a checkpoint.

    Raises:
        ValueError: if there are none.
    """
    from sapiens2.evaluation.probes.backbones import PIXELS, TIMM, full_name
    from sapiens2.weights import embedded_weights
    if model == PIXELS or model.startswith(TIMM) or Path(model).exists():
        return None
    # Of the tasks' networks the one that tells parts of people apart in whole pictures.
    file = embedded_weights('seg', full_name(model))
    if file is None:
        raise ValueError(f'--model {model} comes without weights: give a checkpoint, --weights FILE, or --weights '
                         'random for an untrained network')
    return str(file)


def run(args: argparse.Namespace) -> int:
    """Write the features; 1 if a picture was skipped, else 0."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.apis.features import write_features
    from sapiens2.evaluation.probes import build_backbone, parse_backbone
    what = args.config or args.model
    if not what and not args.weights:
        raise ValueError('name a checkpoint (--weights), with --model or --config where it does not say what it is')
    weights = args.weights or (None if args.config else _own_weights(what))
    text = f'{what}@{weights}' if what and weights else what or weights
    model = build_backbone(parse_backbone(text), tuple(args.size) if args.size else None, args.device, args.dtype,
                           args.seed)
    summary = write_features(model, args.inputs, args.out, args.format, args.pictures, batch_size=args.batch_size,
                             workers=args.workers, resume=not args.overwrite)
    for text in summary.skipped:
        print(printable(f'skipped {text}'), file=sys.stderr)
    if summary.finished_before:
        print(f'finished before by the same weights and settings (--overwrite makes them again): '
              f'{summary.finished_before}', file=sys.stderr)
    print(args.out)
    return 1 if summary.skipped else 0
