"""The report of a quickstart: what was done, how good it is, and pictures."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sapiens2.evaluation.trivial import AVERAGES
from sapiens2.quickstart.gallery import SCORE_THR, Row
from sapiens2.quickstart.plan import Plan, shown
from sapiens2.quickstart.steps import Diary
from sapiens2.utils.config import load_config
from sapiens2.utils.environment import usable_cores, version_of
from sapiens2.version import __version__
from sapiens2.visualization.html_report import commands, heading, page, paragraph, pictures, table

# Of two figures, how much better the second one is.
_GAINS = {
    'error': lambda trivial, trained: f'{abs(1 - trained / trivial):.0%} {"less" if trained <= trivial else "MORE"}',
    'score': lambda trivial, trained: f'{trained / trivial:.1f} times' if trivial else f'{trained:+.2f}',
    'decibel': lambda trivial, trained: f'{trained - trivial:+.1f} dB',
}


@dataclass(frozen=True)
class Figure:
    """A figure of the report: its key, as ``sapiens2 test`` gives it, its name with the unit, and how it is compared.
    """

    key: str
    text: str
    gain: str


# Of each task, the figure that counts and another one.
FIGURES = {
    'seg': (Figure('seg/mIoU_percent', 'mean IoU of the classes, %', 'score'),
            Figure('seg/aAcc_percent', 'pixels with the right class, %', 'score')),
    'normal': (Figure('normal/mean_deg', 'mean angle, degrees', 'error'),
               Figure('normal/within_30_deg_percent', 'pixels within 30 degrees, %', 'score')),
    'pointmap': (Figure('pointmap/l2_m', 'mean distance, metres', 'error'),
                 Figure('pointmap/within_20_cm_percent', 'pixels within 20 cm, %', 'score')),
    'albedo': (Figure('albedo/psnr_db', 'peak signal to noise, dB', 'decibel'),
               Figure('albedo/mae', 'mean error, of 1', 'error')),
    'pose': (Figure('pose/PCK05_percent', 'points within 5 % of the box, %', 'score'),
             Figure('pose/NME_percent', 'mean distance, % of the box', 'error')),
}
_NOTES = {
    'pose': f"The people's boxes are given. Points whose heat map peaks below {SCORE_THR} are left out.",
    'pointmap': 'Depth: red is near, blue is far; the same colours for truth and prediction.',
    'normal': 'RGB = (n + 1) / 2; x to the right, y down, z away from the camera.',
}


def rows_of_figures(plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """Task, figure, trivial, trained, gain."""
    rows = []
    for task, figures in FIGURES.items():
        trivial, trained = _read(plan.trivial_figures(task)), _read(plan.figures(task))
        for figure in figures:
            low, high = trivial[figure.key], trained[figure.key]
            rows.append((task, figure.text, f'{low:.2f}', f'{high:.2f}', _GAINS[figure.gain](low, high)))
    return rows


def report(plan: Plan, diary: Diary, galleries: Mapping[str, list[Row]]) -> str:
    """The report as HTML."""
    minutes = sum(map(diary.seconds, ('generation', 'training', 'report'))) / 60
    parts = [
        paragraph(f'Networks of five tasks, trained from random weights on {plan.people - plan.held_out} generated '
                  f'pictures, each of one whole person, and measured on {plan.held_out} others, in {minutes:.1f} '
                  f'minutes on {_machine()}.'),
        paragraph('These are very small networks (pictures of 128 x 96 pixels) after minutes of training. They show '
                  'that the whole chain works and learns, and are of no use on photographs.', note=True),
    ]
    if plan.people < Plan.people:
        parts.append(paragraph('This was the quick version (--quick): a few iterations, which teach a network nothing. '
                               'Expect figures no better than trivial.', note=True))
    parts += [
        heading('Figures on held-out people'),
        table(('task', 'figure', 'trivial', 'trained', 'gain'), rows_of_figures(plan),
              'Trivial is a predictor that does not look at the picture, fitted on the same training pictures and '
              'measured in the same way: '
              + '; '.join(f'{task}, {average.says}' for task, average in AVERAGES.items()) + '.'),
        heading('What was trained'),
        table(('task', 'iterations', 'samples seen', 'minutes'), [
            (task, f'{count:,}', f'{count * load_config(plan.config(task)).train_dataloader.batch_size:,}',
             f'{diary.seconds(f"train {task}") / 60:.1f}') for task, count in plan.iterations.items()],
            'Several networks are trained at once, one a core. A sample is a picture; for pose, a person. The pictures '
            f'were generated in {diary.seconds("generation") / 60:.1f} minutes.'),
        heading('Pictures'),
        paragraph('The first held-out pictures, not chosen, and a photograph (Eileen Collins, NASA, public domain, '
                  'from scikit-image), which is unlike anything that was trained on.'),
    ]
    for task, rows in galleries.items():
        parts += [heading(task), *([paragraph(_NOTES[task])] if task in _NOTES else []),
                  pictures(('picture', 'ground truth', 'prediction'), rows)]
    steps = [plan.generation(), *(step for lane in plan.lanes() for step in lane)]
    parts += [heading('Commands'),
              paragraph('What was run. To train longer, generate more people and raise train_cfg.max_iters.'),
              commands([shown(step.command) for step in steps])]
    return page('sapiens2 quickstart', parts)


def _read(path: Path) -> dict[str, float]:
    return json.loads(path.read_text(encoding='utf-8'))


def _machine() -> str:
    return (f'{usable_cores()} cores ({platform.machine()}, {platform.system()}), Python {platform.python_version()}, '
            f'torch {version_of("torch")}, sapiens2 {__version__}')
