"""Sapiens2-tiny against HRNet, ViTPose and SegFormer of its size: same data, updates, batch and metric, several seeds.

    sapiens2 synth --num 5000 --size 256 192 --out data/synth
    PYTHONPATH=. python projects/openmmlab/compare.py --data data/synth --out work_dirs/openmmlab --seeds 0 1 2

What is stopped or killed goes on when the same command is given again; rows and seeds that are done are not run again.
The table, with the command of each row, is in DIR/table.md and DIR/table.json.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch.utils.flop_counter import FlopCounterMode

from sapiens2.evaluation.trivial import trivial_scores
from sapiens2.quickstart.steps import Diary, Step, StepFailed, newest_iteration, run_lanes
from sapiens2.registry import MODELS, register_all
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.config import load_config

CONFIGS = Path('projects/openmmlab/configs')
SIZE = (128, 96)  # (H, W) of what the networks see
PROGRAM = (sys.executable, '-m', 'sapiens2.cli')
# So many training samples are enough for the average that the last row of each table answers with.
AVERAGED = 500
FIGURES = {
    'pose': ('pose/PCK20_percent', 'pose/PCK05_percent', 'pose/NME_percent', 'pose/AP'),
    'seg': ('seg/mIoU_percent', 'seg/mAcc_percent', 'seg/aAcc_percent'),
}


@dataclass(frozen=True)
class Row:
    """One network of the table."""

    name: str
    task: str
    config: Path

    @property
    def short(self) -> str:
        """Name for folders and files."""
        return self.config.stem


ROWS = tuple(Row(name, task, CONFIGS / f'{file}.py') for name, task, file in (
    ('Sapiens2-tiny, our decoder', 'pose', 'sapiens2-tiny_pose_synth-128x96'),
    ('ViTPose (MMPretrain) of its size, our decoder', 'pose', 'theirs_in_ours/vitpose-tiny_pose_synth-128x96'),
    ('HRNet-W18-small (MMPose), one layer', 'pose', 'theirs_in_ours/hrnet-w18-small_pose_synth-128x96'),
    ('Sapiens2-tiny, our decoder', 'seg', 'sapiens2-tiny_seg_synth-128x96'),
    ('SegFormer-b0 (MMSegmentation), its own head', 'seg', 'theirs_in_ours/segformer-b0_seg_synth-128x96'),
    ('MiT-b0 and FPN (MMSegmentation), our decoder', 'seg', 'theirs_in_ours/mit-b0-fpn_seg_synth-128x96'),
))


def main() -> int:
    args = parse()
    # A polite end, so that the program that runs saves its work and is not left behind.
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    rows = [row for row in ROWS if row.task in args.tasks and (not args.rows or row.short in args.rows)]
    if not rows:
        print(f'--rows: none of them is a row of --tasks {" ".join(args.tasks)}. Rows: '
              + ', '.join(row.short for row in ROWS), file=sys.stderr)
        return 1
    plan = {'data': str(args.data.resolve()), 'iterations': args.iterations, 'batch': args.batch,
            'held_out': args.held_out, 'options': args.options}
    diary = Diary(args.out, plan, 'comparison')
    # Seed by seed, so that a table of fewer seeds is complete early.
    lanes = [[training(args, row, seed), measuring(args, row, seed)] for seed in args.seeds for row in rows]
    try:
        if not args.table:
            run_lanes(lanes, diary, Console(stderr=True), args.at_once, args.threads)
            for row in {row.task: row for row in reversed(rows)}.values():
                measure_trivial(args, row)
    except KeyboardInterrupt:
        print('stopped; the same command goes on', file=sys.stderr)
        return 130
    except StepFailed as error:
        print(error, file=sys.stderr)
        return 1
    table = [summary(args, row, diary) for row in rows]
    trivial = {task: json.loads(path.read_text(encoding='utf-8')) for task in args.tasks
               if (path := trivial_file(args, task)).exists()}
    write(args.out / 'table.json', json.dumps(table, indent=2))
    write(args.out / 'table.md', markdown(args, table, trivial))
    print(markdown(args, table, trivial))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=Path, required=True, help='folder that sapiens2 synth has made')
    parser.add_argument('--out', type=Path, required=True, help='folder for everything')
    parser.add_argument('--seeds', type=int, nargs='+', default=[0, 1, 2])
    parser.add_argument('--tasks', nargs='+', choices=FIGURES, default=list(FIGURES))
    parser.add_argument('--rows', nargs='+', metavar='NAME', help='names of configs, without .py (default: all)')
    parser.add_argument('--iterations', type=int, default=1000, help='updates of each network')
    parser.add_argument('--batch', type=int, default=8, help='pictures of an update')
    parser.add_argument('--held-out', type=int, default=0, metavar='N',
                        help='measure on the first N held-out people (pose) or pictures (seg) only; 0: on all')
    parser.add_argument('--options', nargs='*', default=[], metavar='KEY=VALUE', help='--cfg-options of all trainings')
    parser.add_argument('--at-once', type=int, default=1, help='programs beside one another')
    parser.add_argument('--threads', type=int, default=1, help='of each program')
    parser.add_argument('--table', action='store_true', help='run nothing, make the table of what is done')
    return parser.parse_args()


def folder(args: argparse.Namespace, row: Row, seed: int) -> Path:
    """Work directory of a row and seed."""
    return args.out / f'{row.short}-seed{seed}'


def training(args: argparse.Namespace, row: Row, seed: int) -> Step:
    """Train a row."""
    command = (*PROGRAM, 'train', str(row.config), '--work-dir', str(folder(args, row, seed)), '--resume', '--seed',
               str(seed), '--cfg-options', f'data_root={args.data}', f'train_cfg.max_iters={args.iterations}',
               f'train_cfg.val_interval={args.iterations + 1}', f'train_dataloader.batch_size={args.batch}',
               'default_hooks.logger.interval=10', 'default_hooks.checkpoint.interval=100',
               # Training ends with a validation in any case; the figures are those of `sapiens2 test`.
               'val_dataloader.dataset.indices=8', *args.options)
    result = folder(args, row, seed) / f'iter_{args.iterations}.pth'
    return Step(f'train {row.short} {seed}', command, result, args.iterations, newest_iteration)


def measuring(args: argparse.Namespace, row: Row, seed: int) -> Step:
    """Measure a row on the held-out people."""
    result = folder(args, row, seed) / 'metrics.json'
    command = (*PROGRAM, 'test', str(row.config), str(training(args, row, seed).result), '--work-dir',
               str(folder(args, row, seed) / 'test'), '--dump', str(result), '--cfg-options', f'data_root={args.data}',
               'test_dataloader.batch_size=8',
               *([f'test_dataloader.dataset.indices={args.held_out}'] if args.held_out else []))
    return Step(f'test {row.short} {seed}', command, result)


def trivial_file(args: argparse.Namespace, task: str) -> Path:
    """Figures of the predictor that does not look at the picture."""
    return args.out / f'trivial_{task}.json'


def measure_trivial(args: argparse.Namespace, row: Row) -> None:
    """Measure the average of the training data on what the rows of this task are measured on, unless that is done."""
    if not trivial_file(args, row.task).exists():
        cfg = load_config(row.config, {'data_root': str(args.data)})
        cfg.train_dataloader.dataset.indices = AVERAGED
        if args.held_out:
            cfg.test_dataloader.dataset.indices = args.held_out
        write(trivial_file(args, row.task), json.dumps(trivial_scores(cfg), indent=2, default=float))


def cost(row: Row) -> dict[str, int]:
    """Parameters, and multiply-adds of matrix products, convolutions and attention for one picture."""
    register_all()
    model = MODELS.build(load_config(row.config).model).eval()
    # With gradient: without it attention takes a fast path that the counter does not know.
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, 3, *SIZE))
    return {'parameters': sum(parameter.numel() for parameter in model.parameters()),
            'multiply_adds': counter.get_total_flops() // 2}


def summary(args: argparse.Namespace, row: Row, diary: Diary) -> dict[str, Any]:
    """Figures of each seed that is done, and what the row cost."""
    seeds = [seed for seed in args.seeds if diary.is_done(measuring(args, row, seed))]
    found = [json.loads(measuring(args, row, seed).result.read_text(encoding='utf-8')) for seed in seeds]
    seconds = [diary.seconds(training(args, row, seed).name) for seed in seeds]
    return {'name': row.name, 'task': row.task, 'config': str(row.config), **cost(row), 'seeds': seeds,
            'minutes': [round(value / 60, 1) for value in seconds],
            'figures': {key: [figures[key] for figures in found] for key in FIGURES[row.task]},
            'command': shlex.join(('sapiens2', *training(args, row, args.seeds[0]).command[len(PROGRAM):]))}


def cell(values: list[float]) -> str:
    """Mean and spread for people."""
    if not values:
        return '-'
    spread = f' ± {statistics.stdev(values):.2f}' if len(values) > 1 else ''
    return f'{statistics.fmean(values):.2f}{spread}'


def markdown(args: argparse.Namespace, table: list[dict[str, Any]], trivial: dict[str, dict[str, float]]) -> str:
    """A table a task, with a last row for the figures of ``trivial``, then the commands."""
    lines = [f'{args.iterations:,} updates of {args.batch} pictures of {SIZE[0]}x{SIZE[1]}'
             + (f', measured on the first {args.held_out} held out' if args.held_out else '')
             + '; mean ± standard deviation.', '']
    for task, keys in FIGURES.items():
        rows = [entry for entry in table if entry['task'] == task]
        if not rows:
            continue
        lines += ['| ' + ' | '.join((task, 'parameters', 'multiply-adds', *(f'`{key}`' for key in keys), 'seeds',
                                     'minutes')) + ' |', '|---|' + '---:|' * (len(keys) + 2) + '---|---|']
        lines += ['| ' + ' | '.join((
            entry['name'], f'{entry["parameters"] / 1e6:.2f} M', f'{entry["multiply_adds"] / 1e9:.3f} G',
            *(cell(entry['figures'][key]) for key in keys), ', '.join(map(str, entry['seeds'])),
            ', '.join(map(str, entry['minutes'])))) + ' |' for entry in rows]
        if task in trivial:
            cells = ' | '.join(cell([trivial[task][key]]) for key in keys)
            lines.append(f'| no network: the average of {AVERAGED} training samples | - | - | {cells} | - | - |')
        lines.append('')
    lines += ['The first seed of each row:', '', '```bash', *(entry['command'] for entry in table), '```']
    return '\n'.join(lines) + '\n'


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with atomic_path(path) as partial:
        partial.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    sys.exit(main())
