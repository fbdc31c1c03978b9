"""From nothing to trained networks of all five tasks, in about a quarter of an hour on two cores.

Makes people up, trains a very small network of each task on them, measures it on others, tries it on a photograph, and
writes a report, report.html. Stopped at any point (Ctrl-C), the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from mmengine.logging import MMLogger
from rich.console import Console
from rich.table import Table

from sapiens2.evaluation.trivial import trivial_scores
from sapiens2.quickstart.gallery import gallery
from sapiens2.quickstart.plan import Plan
from sapiens2.quickstart.report import report, rows_of_figures
from sapiens2.quickstart.steps import Diary, StepFailed, run_lanes
from sapiens2.utils.atomic import atomic_path, check_folder
from sapiens2.utils.config import load_config
from sapiens2.utils.environment import usable_cores
from sapiens2.utils.image_io import write_image
from sapiens2.utils.progress import progress_bar


def main() -> int:
    """Run; 0: done, 1: a step failed, 2: could not be started, 130: interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, default=Path('work_dirs/quickstart'), help='default: %(default)s')
    parser.add_argument('--seed', type=int, default=0, help='of people and networks (default: %(default)s)')
    parser.add_argument('--quick', action='store_true', help='only show that everything runs; nothing is learnt')
    args = parser.parse_args()
    console = Console(stderr=True)
    MMLogger.get_current_instance().setLevel('WARNING')  # tables of figures and of loaded weights
    try:
        check_folder(args.out)
        plan = (Plan.quick if args.quick else Plan)(args.out, args.seed)
        run(plan, console)
    except KeyboardInterrupt:
        console.print('Stopped. The same command goes on from here.')
        return 130
    except StepFailed as error:
        console.print(str(error), style='red', highlight=False, markup=False, soft_wrap=True)
        return 1
    except (ValueError, OSError, ImportError) as error:
        console.print(f'quickstart: error: {error}', style='red', highlight=False, markup=False, soft_wrap=True)
        return 2
    return 0


def run(plan: Plan, console: Console) -> None:
    """Do what ``plan`` says and is not done yet, then write the report."""
    start = time.perf_counter()
    diary = Diary(plan.out, plan.noted())
    cores = usable_cores()
    console.rule(f'1. {plan.people} made-up people')
    people = plan.generation()
    if not diary.is_done(people):
        with diary.noting('generation'):
            run_lanes([[people]], diary, console)
    console.rule('2. Training and test')
    lanes = plan.lanes()
    # Networks this small gain nothing from a second thread.
    if not all(diary.is_done(step) for lane in lanes for step in lane):
        with diary.noting('training'):
            run_lanes(lanes, diary, console, at_once=min(cores, len(lanes)), threads=max(1, cores // len(lanes)))
    console.rule('3. Figures and pictures')
    with diary.noting('report'):
        measure_trivial(plan, console)
        write_portrait(plan.portrait)
        galleries = {}
        with progress_bar(console) as progress:
            for task in progress.track(plan.iterations, description='pictures'):
                galleries[task] = gallery(task, _config(plan, task), plan.checkpoint(task), plan.portrait)
    path = plan.out / 'report.html'
    with atomic_path(path) as partial:
        partial.write_text(report(plan, diary, galleries), encoding='utf-8')
    table = Table('task', 'figure', 'trivial', 'trained', 'gain')
    for row in rows_of_figures(plan):
        table.add_row(*row)
    console.print(table)
    console.print(f'Report: {path} ({(time.perf_counter() - start) / 60:.1f} minutes this time)', highlight=False,
                  soft_wrap=True)


def measure_trivial(plan: Plan, console: Console) -> None:
    """Measure the predictors that do not look at the picture, unless that is done."""
    missing = [task for task in plan.iterations if not plan.trivial_figures(task).exists()]
    with progress_bar(console) as progress:
        for task in progress.track(missing, description='trivial'):
            scores = trivial_scores(_config(plan, task))
            with atomic_path(plan.trivial_figures(task)) as partial:
                partial.write_text(json.dumps(scores, indent=2, default=float), encoding='utf-8')


def write_portrait(path: Path) -> None:
    """The photograph that scikit-image carries, unless it is there."""
    if not path.exists():
        from skimage.data import astronaut
        write_image(path, astronaut()[..., ::-1].copy())


def _config(plan: Plan, task: str):  # noqa: ANN202 - MMEngine's Config
    return load_config(plan.config(task), {'data_root': str(plan.data)})


if __name__ == '__main__':
    sys.exit(main())
