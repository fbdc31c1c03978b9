"""``sapiens2 plan``: memory and time of a training run before it is started."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sapiens2.cli.arguments import positive, positive_number, share
from sapiens2.cli.run_options import option

if TYPE_CHECKING:
    from mmengine.config import Config

    from sapiens2.planning import Gpu, Run

RECOMPUTE = {'none': 0, 'full': 1, 'selective': 2}
STRATEGIES = ('single', 'ddp', 'fsdp2', 'hybrid')
FIGURES = {'gpu_memory': 'memory', 'peak': 'half', 'network': 'network'}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'plan', help='predict memory and time of a training run',
        description='Predict what a training run needs on given GPUs: memory of each by part, time of an update, days. '
                    'A step runs on tensors without content, so nothing is computed and any size can be planned.')
    parser.add_argument('config', metavar='CONFIG', help='config file of a training run')
    parser.add_argument('--cfg-options', metavar='KEY=VALUE', nargs='+', action='extend', type=option, default=[],
                        help='replace entries of the config')
    parser.add_argument('--gpu', default='h100-80', metavar='NAME',
                        help='one of sapiens2/planning/gpus.yml: a100-80, h200, rtx4090... (default: %(default)s)')
    parser.add_argument('--gpus', type=Path, metavar='FILE',
                        help='more GPUs, in the form of sapiens2/planning/gpus.yml')
    parser.add_argument('--num', type=positive, metavar='N', help='GPUs (default: 1, or those of --nodes)')
    parser.add_argument('--nodes', type=positive, metavar='N', help='nodes that the GPUs are in')
    parser.add_argument('--per-node', type=positive, metavar='N', help='GPUs of a node (default: 8)')
    parser.add_argument('--strategy', metavar='NAME',
                        help=f'{", ".join(STRATEGIES)} (default: what the config says, or ddp)')
    parser.add_argument('--batch-size', type=positive, metavar='N',
                        help='images of a GPU and pass (default: the config)')
    parser.add_argument('--accumulate', type=positive, metavar='N', help='passes of an update (default: the config)')
    parser.add_argument('--checkpointing', choices=RECOMPUTE,
                        help='recompute activations: of all blocks, or of every second (default: the config)')
    parser.add_argument('--offload', action='store_true', default=None,
                        help='parameters and optimizer in the memory of the host')
    parser.add_argument('--precision', choices=('bf16', 'fp32'), help='of the forward pass (default: the config)')
    parser.add_argument('--images', type=positive_number, metavar='N', help='images to see in all: tells the days')
    parser.add_argument('--gpu-memory', type=positive_number, metavar='GIB', help='in place of the table')
    parser.add_argument('--peak', type=positive_number, metavar='TFLOPS',
                        help='of 16-bit products, in place of the table')
    parser.add_argument('--network', type=positive_number, metavar='GB/S',
                        help='to other nodes, in place of the table')
    parser.add_argument('--efficiency', type=share, default=0.6, metavar='SHARE',
                        help='of the peak that matrix products reach (default: %(default)s)')
    parser.add_argument('--rate', type=positive_number, metavar='IMAGES/S',
                        help='measured on one GPU, in place of counting')
    parser.add_argument('--load-rate', type=positive_number, default=20.0, metavar='IMAGES/S',
                        help='of each worker of a data loader (default: %(default)g)')
    parser.add_argument('--json', action='store_true', help='print JSON: bytes and seconds')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the plan; 0 if it fits, 1 if not."""
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from rich.console import Console

    from sapiens2.planning import Planner, Rates, find_gpu
    from sapiens2.planning.report import plain, text
    from sapiens2.utils.config import load_config
    gpu = _changed(find_gpu(args.gpu, args.gpus), args)
    cfg = load_config(args.config, dict(args.cfg_options))
    wanted = _run(cfg, args)
    if not args.efficiency:
        raise ValueError('--efficiency must be above 0')
    rates = Rates(products=args.efficiency, load=args.load_rate, measured=args.rate)
    console = Console(stderr=True)
    with console.status('') as status:

        def tell(what: str) -> None:
            text = f'recording a step: {what}'
            if console.is_terminal:
                status.update(text)
            else:
                console.print(text, highlight=False)

        plan = Planner(cfg, gpu, rates, tell).plan(wanted)
    if args.json:
        print(json.dumps(plain(plan, args.images), indent=2))
    else:
        print(text(plan, args.config, args.gpu, rates, args.images))
    return 0 if plan.fits else 1


def _changed(gpu: Gpu, args: argparse.Namespace) -> Gpu:
    return replace(gpu, **{figure: value for name, figure in FIGURES.items() if (value := getattr(args, name))})


def _run(cfg: Config, args: argparse.Namespace) -> Run:
    """What is planned: options before the config."""
    from sapiens2.planning import Run, Settings, Spread, is_half
    from sapiens2.utils.config import ConfigError
    num, per_node = args.num, args.per_node or 8
    if args.nodes is not None:
        num = num or args.nodes * per_node
        if num % args.nodes or args.per_node not in (None, num // args.nodes):
            per = f' and --per-node {args.per_node}' if args.per_node else ''
            raise ConfigError(f'--nodes {args.nodes} does not go with --num {num}{per}: give two of the three')
        per_node = num // args.nodes
    strategy: dict[str, Any] = cfg.get('strategy') or {}
    is_fsdp = strategy.get('type') == 'FSDP2'
    shard_size = strategy.get('shard_size') if is_fsdp and args.strategy is None else None
    default = ('hybrid' if shard_size == 'node' else 'fsdp2') if is_fsdp else 'ddp' if (num or 1) > 1 else 'single'
    spread = Spread(
        args.strategy or default, num or 1, per_node,
        offload=bool(is_fsdp and strategy.get('cpu_offload')) if args.offload is None else True,
        shard_size=shard_size if isinstance(shard_size, int) else None,
        reduce_every_batch=strategy.get('reduce_every_batch', False) if is_fsdp else True)
    batch = args.batch_size or cfg.get('train_dataloader', {}).get('batch_size')
    if not batch:
        raise ConfigError('the config has no train_dataloader.batch_size: give --batch-size')
    recompute = RECOMPUTE[args.checkpointing] if args.checkpointing else strategy.get('recompute')
    half = args.precision == 'bf16' if args.precision else is_half(cfg) or spread.is_sharded
    accumulate = args.accumulate or cfg.get('optim_wrapper', {}).get('accumulative_counts', 1)
    return Run(Settings(batch, recompute, half), spread, accumulate)
