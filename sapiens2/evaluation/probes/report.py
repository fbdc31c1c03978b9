"""Figures of several backbones side by side: on the console, and as HTML with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sapiens2.evaluation.probes.classify import Labels
from sapiens2.evaluation.probes.coarse import COARSE, GROUPS
from sapiens2.evaluation.probes.gallery import Row
from sapiens2.evaluation.probes.images import ProbeData
from sapiens2.evaluation.probes.measure import MEAN, SPREAD
from sapiens2.evaluation.probes.options import ProbeOptions
from sapiens2.utils.choices import FEW
from sapiens2.utils.text_table import text_table
from sapiens2.version import __version__
from sapiens2.visualization.html_report import heading, page, paragraph, pictures, table

TRIVIAL = 'trivial'
# Figures that stand for a backbone: key, what people read, and whether more is better.
MAIN = (
    (f'knn/{MEAN}/balanced_percent', 'k-NN %', True),
    (f'linear/{MEAN}/balanced_percent', 'linear %', True),
    (f'retrieval/{MEAN}/mAP_percent', 'mAP %', True),
    ('seg/mIoU_percent', 'mIoU %', True),
    (f'{COARSE}/mIoU_percent', 'coarse %', True),
    ('normal/mean_deg', 'normal deg', False),
    ('depth/rmse_m', 'depth m', False),
    ('relief/rmse_m', 'relief m', False),
    ('albedo/psnr_db', 'albedo dB', True),
)
_DENSE = {'seg/mIoU_percent': 'classes: mean IoU, %', f'{COARSE}/mIoU_percent': 'merged classes: mean IoU, %',
          'seg/aAcc_percent': 'classes: right pixels, %', 'normal/mean_deg': 'normals: mean angle, degrees',
          'normal/within_30_deg_percent': 'normals: within 30 degrees, %', 'depth/rmse_m': 'depth: RMSE, m',
          'depth/delta1_percent': 'depth: within a factor of 1.25, %', 'relief/rmse_m': 'relief: RMSE, m',
          'relief/delta1_percent': 'relief: within a factor of 1.25, %', 'albedo/psnr_db': 'albedo: PSNR, dB',
          'albedo/mae': 'albedo: mean error'}
_NOTES = (
    'Nothing is fine-tuned: features are computed once, and linear maps or neighbours are fitted on the training '
    'pictures and measured on the validation pictures. "trivial" does not look at the picture (the most frequent '
    'class, the mean value, a random order); "pixels" are probes of the raw pixels; "random" is the same network '
    'untrained. A feature is worth something where it is clearly better than all three.')
_DENSE_NOTES = (
    'Depth is learnt as the logarithm of metres and measured as it is, in metres. Relief is depth apart from the scale '
    'of the picture: prediction and truth are aligned by their medians over the people. Merged classes: '
    + ', '.join(GROUPS) + '.')


Results = Mapping[str, Mapping[str, float]]


def rows_of(results: Results, keys: Sequence[str]) -> list[list[str]]:
    """A row for each backbone, its name first; '-' where a figure is missing."""
    return [[label, *(_shown(figures, key) for key in keys)] for label, figures in results.items()]


def _shown(figures: Mapping[str, float], key: str) -> str:
    if key not in figures:
        return '-'
    spread = f' ± {figures[key + SPREAD]:.2f}' if key + SPREAD in figures else ''
    return f'{figures[key]:.2f}{spread}'


def console_table(results: Results) -> str:
    """The figures that stand for each backbone."""
    there = [(key, text) for key, text, _ in MAIN if any(key in figures for figures in results.values())]
    return text_table(['backbone', *(text for _, text in there)], rows_of(results, [key for key, _ in there]))


def html(results: Results, about: Mapping[str, str], data: ProbeData, sets: Sequence[Labels], options: ProbeOptions,
         found: Mapping[str, Sequence[Row]]) -> str:
    """The report."""
    counts = ', '.join(f'{len(data.indices(split))} for {"training" if split == "train" else "validation"}'
                       for split in ('train', 'val'))
    parts = [paragraph(f'{len(data.images)} pictures of {data.root.name}: {counts}. sapiens2 {__version__}, seed '
                       f'{options.seed}.'),
             paragraph(_NOTES), _main(results),
             table(('backbone', 'what it is'), list(about.items()))]
    if any(key.startswith(('knn', 'linear', 'retrieval')) for figures in results.values() for key in figures):
        parts += _class_parts(results, sets, options)
    if any(key in figures for figures in results.values() for key in _DENSE):
        parts += [heading('Patch tokens'), paragraph(_DENSE_NOTES),
                  _by_figure(results, _DENSE)]
    parts += _few_parts(results, options)
    for title, rows in found.items():
        width = max(len(cells) for _, cells in rows)
        parts += [heading(title), pictures([''] * width, rows)]
    return page('Probes of backbones', parts)


def _main(results: Results) -> str:
    there = [(key, f'{text} {"↑" if more else "↓"}') for key, text, more in MAIN
             if any(key in figures for figures in results.values())]
    return table(['backbone', *(text for _, text in there)], rows_of(results, [key for key, _ in there]),
                 '↑ more is better, ↓ less is better. k-NN and linear: accuracy balanced over the values, mean '
                 'over the attributes.')


def _by_figure(results: Results, names: Mapping[str, str], caption: str = '') -> str:
    """A row a figure, a column a backbone."""
    rows = [[text, *(_shown(figures, key) for figures in results.values())] for key, text in names.items()
            if any(key in figures for figures in results.values())]
    return table(['figure', *results], rows, caption)


def _class_parts(results: Results, sets: Sequence[Labels], options: ProbeOptions) -> list[str]:
    what = 'the class token' if options.pool == 'cls' else 'the mean of the patch tokens'
    parts = [heading('Whole pictures'), paragraph(
        f'A picture is {what}. Attributes with at least two values that are frequent enough: ' + '; '.join(
            f'{labels.name} ({", ".join(labels.classes)}; {len(labels.train)} and {len(labels.val)} pictures)'
            for labels in sets) + '.')]
    names = [*(labels.name for labels in sets), MEAN, 'identity']
    for probe, figure, caption in (
            ('knn', 'balanced_percent', 'Nearest neighbours: accuracy balanced over the values, %.'),
            ('linear', 'balanced_percent', 'Linear probe: accuracy balanced over the values, %.'),
            ('retrieval', 'mAP_percent', 'Retrieval: mean average precision, %.'),
            ('retrieval', 'recall_at_1_percent', 'Retrieval: recall at 1, %.')):
        keys = {f'{probe}/{name}/{figure}': name for name in names}
        if any(key in figures for figures in results.values() for key in keys):
            parts.append(_by_figure(results, keys, caption))
    return parts


def _few_parts(results: Results, options: ProbeOptions) -> list[str]:
    """How figures grow with the number of training pictures."""
    figures = [f'linear/{MEAN}/balanced_percent',
               *(key for key, _, _ in MAIN if key.partition('/')[0] in ('seg', COARSE, 'normal', 'depth', 'relief',
                                                                        'albedo'))]
    names = {key: text for key, text, _ in MAIN}
    parts = []
    for figure in figures:
        keys = {f'{FEW}/{shots}/{figure}': f'{shots}' for shots in options.shots} | {figure: 'all'}
        if any(key in values for values in results.values() for key in keys if key.startswith(FEW)):
            rows = [[text, *(_shown(values, key) for values in results.values())] for key, text in keys.items()]
            parts.append(table(['pictures', *results], rows, f'{names[figure]}, mean and deviation of {options.draws} '
                               'draws' + ('; pictures of each class.' if figure.startswith('linear') else '.')))
    return [heading('Few training pictures'), *parts] if parts else []
