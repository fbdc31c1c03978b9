"""Unified pretraining against its two halves and against strong augmentation: several seeds, same compute, then probes.

    sapiens2 synth --num 2000 --size 256 192 --most-people 1 --pictures-per-person 4 --out data/synth
    python benchmarks/pretrain_ablation.py --data data/synth --out work_dirs/ablation --seeds 0 1 2
    python benchmarks/pretrain_ablation.py --out work_dirs/ablation --status

Every variant gets the same number of operations, counted in the matrix products, convolutions and attention of one
whole step, forward and backward, the teacher's forward included: a cheaper step is repeated more often. A twentieth of
each training is its warm-up. What is stopped or killed goes on when the same command is given again. The table, mean
and standard deviation over the seeds, is in DIR/table.md and DIR/table.json.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from torch.utils.flop_counter import FlopCounterMode

from sapiens2.cli.run_options import option
from sapiens2.evaluation.probes.options import FEW
from sapiens2.evaluation.probes.report import MAIN, TRIVIAL
from sapiens2.models.checkpoints.build import RANDOM, build_model
from sapiens2.quickstart.steps import Diary, Step, StepFailed, log_file, newest_iteration, run_lanes
from sapiens2.registry import DATASETS, FUNCTIONS, register_all
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.config import load_config
from sapiens2.utils.paths import configs_dir

VARIANTS = {'unified': '', 'mae': '_mae', 'cl': '_cl', 'dino': '_dino'}
CONFIG = 'sapiens2-tiny_pretrain_synth-256x192'
PLAN = 'ablation'
POOLS = ('cls', 'mean')
PATCH = 16
_PROGRAM = (sys.executable, '-m', 'sapiens2.cli')


def main() -> int:
    args = parse()
    if args.status:
        return show_status(args.out)
    # A polite end, so that the programs that run save their work and are not left behind.
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    plan = {'data': str(args.data.resolve()), 'seeds': args.seeds, 'iterations': args.iterations,
            'size': args.size, 'options': dict(args.options), 'quick': args.quick}
    diary, console = Diary(args.out, plan, PLAN), Console(stderr=True)
    compute = load_compute(args)
    try:
        run_lanes([[training(args, compute, variant, seed)] for seed in args.seeds for variant in VARIANTS], diary,
                  console, args.at_once, args.threads)
        run_lanes([[probing(args, compute, seed, pool) for pool in POOLS] for seed in args.seeds], diary, console,
                  args.at_once, args.threads)
    except KeyboardInterrupt:
        print('stopped; the same command goes on', file=sys.stderr)
        return 130
    except StepFailed as error:
        print(error, file=sys.stderr)
        return 1
    table = summary(args, compute, diary)
    write(args.out / 'table.json', json.dumps(table, indent=2))
    write(args.out / 'table.md', markdown(table))
    print(markdown(table))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=Path, help='folder that sapiens2 synth has made')
    parser.add_argument('--out', type=Path, required=True, help='folder for everything')
    parser.add_argument('--seeds', type=int, nargs='+', default=[0, 1, 2])
    parser.add_argument('--iterations', type=int, default=800, help='of the unified variant; the others '
                                                                     'follow from the operations')
    parser.add_argument('--size', type=int, nargs=2, default=[256, 192], metavar=('H', 'W'),
                        help='of the global crops and of the pictures that are probed, in pixels')
    parser.add_argument('--options', nargs='*', type=option, default=[], metavar='KEY=VALUE',
                        help='--cfg-options of all trainings')
    parser.add_argument('--at-once', type=int, default=2, help='programs beside one another')
    parser.add_argument('--threads', type=int, default=1, help='of each program')
    parser.add_argument('--quick', action='store_true', help='a few iterations: shows that everything runs')
    parser.add_argument('--status', action='store_true', help='say how far the work in --out is, and do nothing')
    args = parser.parse_args()
    if not args.status and args.data is None:
        parser.error('--data is missing')
    if any(side < 2 * PATCH or side % PATCH for side in args.size):
        parser.error(f'--size: both sides must be multiples of {PATCH} and at least {2 * PATCH}')
    if args.quick:
        args.seeds, args.iterations = args.seeds[:2], 4
    return args


def config(variant: str) -> Path:
    """Config of a variant."""
    return configs_dir() / 'pretrain' / f'{CONFIG}{VARIANTS[variant]}.py'


def cfg_options(args: argparse.Namespace, steps: int) -> dict[str, Any]:
    """Entries of the config of a training of ``steps``."""
    images, warm_up = str(args.data / 'train' / 'images'), max(1, steps // 20)
    crops = 'train_dataloader.dataset.pipeline_options.MultiCrop'
    return {'data_root': images, 'train_dataloader.dataset.data_root': images, 'train_cfg.max_iters': steps,
            'param_scheduler.0.end': warm_up + 1, 'param_scheduler.1.begin': warm_up,
            'default_hooks.logger.interval': 10, 'model.backbone.img_size': tuple(args.size),
            f'{crops}.global_crops.size': tuple(args.size),
            f'{crops}.local_crops.size': tuple(max(PATCH, side * 3 // 8 // PATCH * PATCH) for side in args.size),
            **dict(args.options)}


def step_flops(args: argparse.Namespace, variant: str) -> tuple[int, int]:
    """Floating-point operations of one step and samples in its batch."""
    register_all()
    cfg = load_config(config(variant), cfg_options(args, 1))
    loader = cfg.train_dataloader
    dataset = DATASETS.build(loader.dataset)
    collate = FUNCTIONS.get(loader.collate_fn['type'])
    batch = collate([dataset[index % len(dataset)] for index in range(loader.batch_size)])
    model = build_model(cfg.model, RANDOM, 'cpu').train()
    model.set_progress(0, 1)
    prepared = model.data_preprocessor(batch, True)
    with FlopCounterMode(display=False) as counter:
        losses = model(**prepared, mode='loss')
        sum(value.sum() for name, value in losses.items() if 'loss' in name).backward()
    return counter.get_total_flops(), loader.batch_size


def load_compute(args: argparse.Namespace) -> dict[str, dict[str, int]]:
    """Operations of a step, and how many steps each variant gets; counted once."""
    path = args.out / 'compute.json'
    if not path.exists():
        counted = {variant: step_flops(args, variant) for variant in VARIANTS}
        budget = args.iterations * counted['unified'][0]
        write(path, json.dumps({variant: {'flops_a_step': flops, 'batch_size': batch, 'steps': max(
            1, round(budget / flops))} for variant, (flops, batch) in counted.items()}, indent=2))
    return json.loads(path.read_text(encoding='utf-8'))


def training(args: argparse.Namespace, compute: dict[str, dict[str, int]], variant: str, seed: int) -> Step:
    """Pretrain a variant."""
    steps = compute[variant]['steps']
    folder = args.out / f'{variant}-{seed}'
    options = (f'{key}={value!r}' for key, value in cfg_options(args, steps).items())
    command = (*_PROGRAM, 'train', str(config(variant)), '--work-dir', str(folder), '--resume', '--seed', str(seed),
               '--cfg-options', *options)
    return Step(f'{variant} {seed}', command, folder / f'iter_{steps}.pth', steps, newest_iteration)


def probing(args: argparse.Namespace, compute: dict[str, dict[str, int]], seed: int, pool: str) -> Step:
    """Probe the variants of a seed, an untrained network and pixels; the mean of the patches is for whole pictures."""
    out = args.out / f'probes-{seed}-{pool}'
    backbones = [f'{variant}={training(args, compute, variant, seed).result}' for variant in VARIANTS]
    more = ['--draws', '2', '--shots', '1'] if args.quick else []
    if pool != POOLS[0]:
        more += ['--probes', 'knn', 'linear', 'retrieval']
    command = (*_PROGRAM, 'probe', *backbones, f'random={config("unified")}@random', 'pixels', '--data', str(args.data),
               '--out', str(out), '--size', *map(str, args.size), '--pool', pool, '--seed', str(seed), *more)
    return Step(f'probes {seed} {pool}', command, out / 'metrics.json')


def figures_of(metrics: Path, pool: str) -> dict[str, dict[str, float]]:
    """The figures of the table, by backbone."""
    found = json.loads(metrics.read_text(encoding='utf-8'))['figures']
    keys = [key for key, _, _ in MAIN if key.split('/')[0] in ('knn', 'linear', 'retrieval') or pool == POOLS[0]]
    keys += [f'{FEW}/{shots}/{key}' for shots in (1, 10, 100) for key in keys] if pool == POOLS[0] else []
    return {name: {f'{pool}: {key}' if key.split('/')[0] in ('knn', 'linear', 'retrieval') else key: figures[key]
                   for key in keys if key in figures} for name, figures in found.items()}


def summary(args: argparse.Namespace, compute: dict[str, dict[str, int]], diary: Diary) -> dict[str, Any]:
    """Mean and standard deviation over the seeds, and what it cost."""
    values: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seed in args.seeds:
        for pool in POOLS:
            for name, figures in figures_of(args.out / f'probes-{seed}-{pool}' / 'metrics.json', pool).items():
                for key, value in figures.items():
                    values[name][key].append(value)
    cost = {variant: {**compute[variant], 'minutes': [
        round(diary.seconds(f'{variant} {seed}') / 60, 1) for seed in args.seeds]} for variant in VARIANTS}
    return {'seeds': args.seeds, 'compute': cost, 'figures': {
        name: {key: {'mean': statistics.fmean(found), 'deviation': statistics.stdev(found) if len(found) > 1 else 0.0,
                     'values': found} for key, found in figures.items()} for name, figures in values.items()}}


def markdown(table: dict[str, Any]) -> str:
    """The table for people: a row a figure, a column a backbone."""
    names = [name for name in (*VARIANTS, 'random', 'pixels', TRIVIAL) if name in table['figures']]
    keys = list(dict.fromkeys(key for name in names for key in table['figures'][name]))
    lines = [f'Seeds {", ".join(map(str, table["seeds"]))}; mean ± standard deviation.', '',
             '| variant | steps | samples | operations a step | minutes |', '|---|---:|---:|---:|---|']
    lines += [f'| {name} | {cost["steps"]:,} | {cost["steps"] * cost["batch_size"]:,} | '
              f'{cost["flops_a_step"] / 1e9:.1f} G | {", ".join(map(str, cost["minutes"]))} |'
              for name, cost in table['compute'].items()]
    lines += ['', f'| figure | {" | ".join(names)} |', '|---|' + '---:|' * len(names)]
    for key in keys:
        cells = [table['figures'][name].get(key) for name in names]
        lines.append(f'| {key} | ' + ' | '.join(
            '-' if cell is None else f'{cell["mean"]:.2f} ± {cell["deviation"]:.2f}' for cell in cells) + ' |')
    return '\n'.join(lines) + '\n'


def show_status(out: Path) -> int:
    """Print how far the work is."""
    path = out / f'{PLAN}.json'
    compute = out / 'compute.json'
    if not compute.exists():
        print('nothing is done yet')
        return 0
    steps = json.loads(compute.read_text(encoding='utf-8'))
    done = json.loads(path.read_text(encoding='utf-8'))['steps'] if path.exists() else {}
    names = sorted({*done, *(file.stem.replace('_', ' ') for file in (out / 'logs').glob('*.log'))})
    for name in names:
        if done.get(name, {}).get('done'):
            print(f'{name}: done in {done[name]["seconds"] / 60:.1f} minutes')
            continue
        running = log_file(out, name).with_suffix('.pid').exists()
        variant = name.partition(' ')[0]
        of = f'{newest_iteration(log_file(out, name))} of {steps[variant]["steps"]} steps' if variant in steps else ''
        print(f'{name}: {"runs" if running else "stopped"} {of}'.rstrip())
    return 0


def write(path: Path, text: str) -> None:
    with atomic_path(path) as partial:
        partial.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    sys.exit(main())
