"""Measures rows one after the other, each in a process of its own, and goes on after one that fails."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from sapiens2.evaluation.benchmark.jobs import Job
from sapiens2.evaluation.benchmark.measure import share_done
from sapiens2.evaluation.benchmark.spec import file_name
from sapiens2.quickstart.steps import Diary, Step, StepFailed, run_lanes
from sapiens2.utils.atomic import atomic_path

_PARTS = 100


def run_jobs(jobs: Sequence[Job], out: Path, console: Console) -> int:
    """Measure the jobs that are not done; returns how many failed.

    What a row prints goes to ``logs/`` in ``out``. A KeyboardInterrupt stops the row that runs.
    """
    diary, failed = Diary(out, {}, 'benchmark'), 0
    for number, job in enumerate(jobs, 1):
        heading = f'{number} of {len(jobs)}, {job.row.name}:'
        if job.result_path.exists():
            console.print(f'{heading} is done', highlight=False, markup=False)
            continue
        changed = job.changed()
        console.print(heading + (f' measured again, since {", ".join(changed)} changed' if changed else ' begins'),
                      highlight=False, markup=False)
        try:
            run_lanes([[_step(job)]], diary, console)
        except StepFailed as error:
            failed += 1
            if not job.error_path.exists():  # killed, for instance for its memory
                job.error_path.write_text(str(error).splitlines()[0], encoding='utf-8')
            console.print(f'{heading} failed: {job.error_path.read_text(encoding="utf-8")}', highlight=False,
                          markup=False)
    return failed


def _step(job: Job) -> Step:
    """The program that measures a row; what it needs is written to the job's folder."""
    with atomic_path(job.folder / 'job.json') as partial:
        partial.write_text(json.dumps({'row': dataclasses.asdict(job.row), 'depends_on': dict(job.depends_on)},
                                      indent=2), encoding='utf-8')
    job.error_path.unlink(missing_ok=True)
    program = (sys.executable, '-m', 'sapiens2.evaluation.benchmark.measure', str(job.folder))
    return Step(file_name(job.row.name), program, job.result_path, _PARTS, lambda log: share_done(log, _PARTS))
