"""The table of a benchmark: for people as Markdown, a block a task, and for programs as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from sapiens2.evaluation.benchmark.jobs import Job
from sapiens2.evaluation.benchmark.machine import hardware, versions
from sapiens2.evaluation.benchmark.spec import Spec
from sapiens2.utils.tasks import TASKS

# Task -> figures that have a column, where a row has them; all others are in the JSON.
_COLUMNS = {
    'pose': ('pose/AP', 'pose/AR', 'pose/PCK05_percent', 'pose/NME_percent'),
    'seg': ('seg/mIoU_percent', 'seg/mAcc_percent', 'seg/aAcc_percent'),
    'normal': ('normal/mean_deg', 'normal/median_deg', 'normal/within_11_25_deg_percent',
               'normal/within_30_deg_percent'),
    'pointmap': ('pointmap/l2_m', 'pointmap/within_10_cm_percent', 'depth/abs_rel', 'depth/delta1_percent'),
    'albedo': ('albedo/mae', 'albedo/rmse', 'albedo/psnr_db', 'albedo/ssim'),
}
_MISSING = ('predictions/missing_images', 'predictions/missing_pixels')
# Characters of an error in the table; the JSON has all of it.
_LONGEST = 200
DONE, FAILED, WAITING = 'done', 'failed', 'not measured'


def table_of(spec: Spec, jobs: Sequence[Job]) -> dict[str, Any]:
    """All that is known of the rows, in JSON's types."""
    return {'spec': str(spec.path), 'rows': [_row(job) for job in jobs], 'versions': versions(),
            'hardware': hardware()}


def _row(job: Job) -> dict[str, Any]:
    result = job.result()
    known = {'name': job.row.name, 'task': job.task, 'data': job.data, 'command': job.command,
             'align': job.row.align or 'none', 'depends_on': dict(job.depends_on)}
    if result is not None:
        return {**known, 'status': DONE, **result}
    error = job.error_path.read_text(encoding='utf-8') if job.error_path.exists() else None
    return {**known, 'status': WAITING if error is None else FAILED, 'error': error}


def markdown(table: Mapping[str, Any]) -> str:
    """The table for people.

    Args:
        table: of ``table_of``.
    """
    lines = [f'# Benchmark {table["spec"]}']
    for task in TASKS:
        rows = [row for row in table['rows'] if row['task'] == task]
        if rows:
            lines += ['', f'## {task}: {rows[0]["data"]}', '', *_task_table(task, rows)]
    lines += ['', '## Commands', '', '```bash']
    lines += [line for row in table['rows'] for line in (f'# {_one_line(row["name"])}', row['command'])]
    lines += ['```', '', '## Versions and hardware', '']
    lines += [f'* {", ".join(f"{name} {value}" for name, value in table["versions"].items())}',
              *(f'* {name}: {value}' for name, value in table['hardware'].items())]
    return '\n'.join(lines) + '\n'


def _task_table(task: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of the table of one task."""
    figures = [name for name in _COLUMNS[task] if any(name in row.get('figures', {}) for row in rows)]
    aligned = any(row['align'] != 'none' for row in rows)
    notes = [_note(row) for row in rows]
    head = ['row', *(['aligned by'] if aligned else []), 'images', *map(_heading, figures), 'parameters',
            'multiply-adds', 'images/s', *(['note'] if any(notes) else [])]
    lines = [_line(head), '|---|' + ('---|' if aligned else '') + '---:|' * (len(figures) + 4)
             + ('---|' if any(notes) else '')]
    for row, note in zip(rows, notes):
        cells = [_cell(row['name']), *([row['align']] if aligned else []), _count(row.get('images')),
                 *(_figure(row.get('figures', {}).get(name)) for name in figures), _count(row.get('parameters')),
                 _giga(row.get('multiply_adds')), _figure(row.get('images_per_second'))]
        lines.append(_line([*cells, *([_cell(note)] if any(notes) else [])]))
    return lines


def _note(row: Mapping[str, Any]) -> str:
    """What keeps a row from being a whole one."""
    if row['status'] != DONE:
        error = _one_line(row['error'] or '')
        return row['status'] + (f': {error[:_LONGEST]}' if error else '') + (' ...' if len(error) > _LONGEST else '')
    return ', '.join(f'{row["figures"][name]:,.0f} {name.rpartition("_")[2]} left out' for name in _MISSING
                     if row['figures'].get(name))


def _heading(figure: str) -> str:
    """'pointmap/within_10_cm_percent' -> 'within 10 cm, %'."""
    name = figure.partition('/')[2] if not figure.startswith('depth/') else figure.replace('/', ' ')
    name = re.sub(r'_percent$', ', %', name)
    name = re.sub(r'_(deg|m|db)$', lambda unit: f', {dict(deg="deg", m="m", db="dB")[unit[1]]}', name)
    return name.replace('11_25', '11.25').replace('_', ' ')


def _line(cells: Sequence[str]) -> str:
    return f'| {" | ".join(cells)} |'


def _cell(text: str) -> str:
    return _one_line(text).replace('|', '\\|')


def _one_line(text: str) -> str:
    return ' '.join(text.split())


def _figure(value: Optional[float]) -> str:
    return '-' if value is None else f'{value:.2f}' if abs(value) >= 10 else f'{value:.4f}'


def _count(value: Optional[int]) -> str:
    return '-' if value is None else f'{value:,}'


def _giga(value: Optional[int]) -> str:
    return '-' if value is None else f'{value / 1e9:,.2f} G'
