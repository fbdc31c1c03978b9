"""``sapiens2 export``: a network as a file that other programs run."""

from __future__ import annotations

import argparse
from typing import Any

from sapiens2.cli.arguments import positive, positive_number
from sapiens2.cli.infer_arguments import not_empty, some_path
from sapiens2.cli.infer_weights import RANDOM
from sapiens2.export.formats import FORMATS
from sapiens2.utils.tasks import TASKS, unknown_task

_DESCRIPTION = '''Write a network to a file that other programs run: ONNX, OpenVINO, torch.export, AOTInductor,
TorchScript. The file is then compared with the network and timed; the report lies beside it, OUT.parity.json.
"sapiens2 infer TASK photos/ --weights OUT" runs it.'''
_EPILOG = '''exit code: 0 written and alike, 1 written but further from the network than the tolerance, 2 not written.

examples:
  sapiens2 export seg seg.onnx --model 0.4b --weights sapiens2_0.4b_seg.safetensors
  sapiens2 export pose pose.onnx --model tiny --with-preprocessing --pictures portrait.jpg
  sapiens2 export normal normal.pt2 --format aoti --dtype bf16 --batch 1 --weights normal.safetensors'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('export', help='write a network to a file that other programs run',
                                   description=_DESCRIPTION, epilog=_EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('task', metavar='TASK', type=_task, help=', '.join(TASKS))
    parser.add_argument('target', metavar='OUT', type=some_path, help='file to write')
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--model', metavar='NAME', default='sapiens2_1b', help='default: %(default)s')
    which.add_argument('--config', metavar='CONFIG', type=some_path, help='config file, in place of --model')
    parser.add_argument('--weights', metavar='FILE', type=not_empty,
                        help='checkpoint, or "random" for an untrained network (default: what comes with the package)')
    parser.add_argument('--format', choices=FORMATS, help='default: by the ending of OUT')
    parser.add_argument('--img-size', metavar=('H', 'W'), type=positive, nargs=2,
                        help='size of the images, pixels, which is fixed in the file (default: as in the config)')
    parser.add_argument('--dtype', default='fp32', help='fp32, bf16 or fp16, or a long name (default: %(default)s)')
    batch = parser.add_mutually_exclusive_group()
    batch.add_argument('--batch', metavar='N', type=positive, help='images at a time')
    batch.add_argument('--dynamic-batch', action='store_true', help='any number of images at a time (default)')
    parser.add_argument('--with-preprocessing', action='store_true',
                        help='the file takes uint8 RGB and normalises it (default: normalised float32 RGB)')
    parser.add_argument('--opset', metavar='N', type=positive, help="of ONNX (default: torch's)")
    parser.add_argument('--device', default='cpu',
                        help='that AOTInductor compiles for, and where the file is checked (default: %(default)s)')
    parser.add_argument('--licence', metavar='TEXT', help='of the weights, for the description in the file')
    parser.add_argument('--pictures', metavar='FILE', nargs='+', type=not_empty, default=[],
                        help='compare on the first of these, files or folders: as many as --batch, or two (default: '
                             'noise)')
    parser.add_argument('--tolerance', metavar='SHARE', type=positive_number,
                        help='largest mean difference, as a share of the mean size of the values (default: 0.001 for '
                             'fp32, 0.05 for others)')
    parser.add_argument('--force', action='store_true', help='overwrite OUT')
    parser.set_defaults(func=run)


def _task(text: str) -> str:
    if text not in TASKS:
        raise argparse.ArgumentTypeError(unknown_task(text))
    return text


def run(args: argparse.Namespace) -> int:
    """Export, compare and print; 1 if the file is further from the network than the tolerance, else 0."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.export.export import export_network
    from sapiens2.models.checkpoints.hub import local_weights
    weights = args.weights if args.weights in (None, RANDOM) else local_weights(args.weights)
    report = export_network(
        args.task, args.target, args.config or args.model, weights, args.format,
        tuple(args.img_size) if args.img_size else None, args.dtype, args.batch, args.with_preprocessing, args.opset,
        args.device, args.licence, args.pictures, args.tolerance, args.force)
    print(_text(report))
    return 0 if report['passed'] else 1


def _text(report: dict[str, Any]) -> str:
    from sapiens2.utils.text_table import text_table
    size = 'any number of images' if report['batch'] is None else f'{report["batch"]} image(s)'
    table = text_table(('output', 'shape', 'largest difference', 'mean difference', 'share of mean size'), [
        (output['name'], 'x'.join(map(str, output['shape'])), f'{output["largest_difference"]:.3g}',
         f'{output["mean_difference"]:.3g}', f'{output["share"]:.2g}') for output in report['outputs']], '<<>>>')
    verdict = 'alike' if report['passed'] else (
        'NOT ALIKE: the file is there, but its results are not those of the network')
    return (f'wrote   {report["file"]}, {report["bytes"] / 1e6:,.1f} MB, {FORMATS[report["format"]].title}, '
            f'{report["dtype"]}, {size} of {report["img_size"][0]} x {report["img_size"][1]}\n'
            f'weights {report["weights"]["name"]}, licence: {report["weights"]["licence"] or "not known"}\n\n'
            f'{table}\n\n'
            f'{verdict} (tolerance {report["tolerance"]:g}); {report["seconds_exported"]:.3f} s for the file, '
            f'{report["seconds_original"]:.3f} s for the network here, on {report["threads"]} thread(s): '
            f'{report["times_as_fast"]:.2f} times as fast')
