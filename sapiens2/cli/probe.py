"""``sapiens2 probe``: what the frozen features of backbones tell of pictures."""

from __future__ import annotations

import argparse
from pathlib import Path

from sapiens2.cli.arguments import not_negative, positive
from sapiens2.utils.choices import PROBES

_DESCRIPTION = '''Measure frozen backbones side by side: k-NN, linear probes and retrieval by class token,
linear probes of patch tokens for classes, normals, depth and albedo, all of them also with few training
pictures, and pictures of what the features see. Raw pixels and an untrained network are measured along, for
orientation.'''
_EPILOG = '''BACKBONE is [NAME=]WHAT[@WEIGHTS], where WHAT is
  a checkpoint                   ours, v1, or of pretraining; its architecture is read off it
  a config (.py), @WEIGHTS       of a model or of pretraining
  an architecture, @WEIGHTS      sapiens2_1b, sapiens_1b ...
  timm/NAME                      with the weights of timm (extra timm), or @FILE
  pixels                         no network
and WEIGHTS may be "random".

examples:
  sapiens2 probe work_dirs/pretrain/iter_20000.pth --data data/synth --out probes
  sapiens2 probe ours=a.pth dino=timm/vit_small_patch14_dinov2 --data data/synth --out probes --size 512 384
  sapiens2 probe sapiens2_0.1b@backbone.safetensors --data photos --out probes --probes knn retrieval'''


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser('probe', help='measure what frozen backbones know', description=_DESCRIPTION,
                                   epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('backbones', metavar='BACKBONE', nargs='+', help='see below')
    parser.add_argument('--data', metavar='DIR', type=Path, required=True,
                        help='folder of `sapiens2 synth`, of train/ and val/ with ground truth, of folders of classes, '
                             'or with a labels.csv')
    parser.add_argument('--out', metavar='DIR', type=Path, required=True,
                        help='folder for results and features; the same command goes on with a run that was stopped')
    parser.add_argument('--probes', metavar='PROBE', nargs='+', choices=PROBES,
                        help=f'of {", ".join(PROBES)} (default: all that the data allow)')
    parser.add_argument('--pool', choices=('cls', 'mean'), default='cls',
                        help='what stands for a picture: class token or mean of the patches (default: cls)')
    parser.add_argument('--cells', type=positive, default=2, metavar='N',
                        help='along a side of a patch, each with a prediction of its own (default: 2)')
    parser.add_argument('--shots', type=positive, nargs='+', default=(1, 10, 100), metavar='N',
                        help='training pictures of few-shot probes (default: 1 10 100)')
    parser.add_argument('--draws', type=positive, default=5, metavar='N',
                        help='few-shot training sets, whose spread is told (default: 5)')
    parser.add_argument('--seed', type=not_negative, default=0, help='of draws, random weights and splits (default: 0)')
    parser.add_argument('--no-baselines', action='store_true', help='leave out pixels and the untrained network')
    parser.add_argument('--shown', type=positive, default=6, metavar='N', help='pictures in the report (default: 6)')
    add_machine(parser)
    parser.set_defaults(func=run)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add the options of how features are computed, which ``features`` has, too."""
    parser.add_argument('--size', type=positive, nargs=2, metavar=('H', 'W'),
                        help="network's input, pixels, brought to whole patches (default: what it is made for)")
    parser.add_argument('--device', default='auto', help='auto, cuda, mps or cpu (default: %(default)s)')
    parser.add_argument('--dtype', default='auto', help='auto, bf16, fp32, or a long name (default: %(default)s)')
    parser.add_argument('--batch-size', type=positive, metavar='N', help='pictures at a time (default: 1 on a CPU, '
                                                                         'else 16)')
    parser.add_argument('--workers', type=not_negative, default=0, metavar='N',
                        help='processes that read pictures (default: 0, this one)')


def run(args: argparse.Namespace) -> int:
    """Probe; 0 when all figures are there."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.evaluation.probes import Machine, ProbeOptions, probe
    options = ProbeOptions(
        tuple(args.probes) if args.probes else None, tuple(args.size) if args.size else None, args.pool, args.cells,
        tuple(sorted(set(args.shots))), args.draws, args.seed, not args.no_baselines, args.shown)
    probe(args.backbones, args.data, args.out, options,
          Machine(args.device, args.dtype, args.batch_size, args.workers))
    print(args.out / 'report.html')
    return 0
