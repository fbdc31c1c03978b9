"""``python tools/benchmark.py SPEC.yml --out DIR``: measure models in the same way, and write one table."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from rich.console import Console

from sapiens2.cli.run_options import option
from sapiens2.evaluation.benchmark.jobs import Job, prepare_jobs
from sapiens2.evaluation.benchmark.run import run_jobs
from sapiens2.evaluation.benchmark.spec import Spec, read_spec
from sapiens2.evaluation.benchmark.table import markdown, table_of
from sapiens2.utils.atomic import atomic_path, check_folder
from sapiens2.utils.progress import progress_bar

DESCRIPTION = 'Measure models, and predictions made elsewhere, on the same data with the same metrics; write one table.'
_INTERRUPTED = 130


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the benchmark.

    Returns:
        0: all rows are measured; 1: some could not be, which the table names; 2: it could not be started; 130:
        interrupted, and the same command goes on.
    """
    args = _parse(argv)
    console = Console(stderr=True)
    # A polite end, so that the row that runs is not left behind.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        spec = read_spec(args.spec, dict(args.cfg_options))
        chosen = {row.name for row in spec.chosen(args.rows)}
        with progress_bar(console, transient=True) as bar:
            jobs = prepare_jobs(spec, args.out, lambda rows: bar.track(rows, total=len(rows), description='read'))
        asked = [job for job in jobs if job.row.name in chosen]
        if args.dry_run:
            _say(asked)
            return 0
        check_folder(args.out)
        failed = run_jobs(asked, args.out, console)
    except KeyboardInterrupt:
        print('stopped; the same command goes on', file=sys.stderr)
        return _INTERRUPTED
    except (OSError, ValueError) as error:
        print(f'benchmark: error: {error}', file=sys.stderr)
        return 2
    print(write_table(spec, jobs, args.out), end='')
    print(f'Table: {args.out / "table.md"}', file=sys.stderr)
    return 1 if failed else 0


def _parse(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='benchmark', description=DESCRIPTION)
    parser.add_argument('spec', metavar='SPEC.yml', type=Path, help='which rows there are')
    parser.add_argument('--out', metavar='DIR', type=Path, required=True,
                        help='for table.md, table.json, and what goes on after a stop')
    parser.add_argument('--rows', metavar='NAME', nargs='+', default=[], help='measure these alone')
    parser.add_argument('--cfg-options', metavar='KEY=VALUE', nargs='+', action='extend', type=option, default=[],
                        help='entries of the configs of all rows to replace, such as data_root=PATH')
    parser.add_argument('--dry-run', action='store_true', help='check everything, say what would be done, do nothing')
    return parser.parse_args(argv)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _say(jobs: Sequence[Job]) -> None:
    """Which rows are done, and the commands of the others."""
    for job in jobs:
        changed = job.changed()
        state = 'done' if job.result_path.exists() else \
            f'again, since {", ".join(changed)} changed' if changed else 'to be measured'
        print(f'{job.row.name}: {state}\n    {job.command}')


def write_table(spec: Spec, jobs: Sequence[Job], out: Path) -> str:
    """Write table.json and table.md, of all rows; returns the latter."""
    table = table_of(spec, jobs)
    text = markdown(table)
    for name, content in (('table.json', json.dumps(table, indent=2) + '\n'), ('table.md', text)):
        with atomic_path(out / name) as partial:
            partial.write_text(content, encoding='utf-8')
    return text
