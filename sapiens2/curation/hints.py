"""What the user of a selection should be told: what leaves out most, what failed, and what nobody knows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sapiens2.curation.chain import Chain
from sapiens2.curation.columns import DROPPED, ERROR, LAST
from sapiens2.curation.filters import Limit, known_values
from sapiens2.curation.score import figures_of, unknown_columns
from sapiens2.curation.select import QUARANTINE, Selection, Selector, read_scores

# A limit that leaves out more of the images is worth a word.
_MUCH = 0.5


def broken_stages(paths: Sequence[Path], selection: Selection) -> list[str]:
    """A text for each stage that failed on all images that it was shown."""
    broken = [(name, int(figures['images'])) for name, figures in figures_of(paths).items()
              if figures['images'] and figures['failed'] == figures['images']]
    if not broken:
        return []
    errors = read_scores(paths, [ERROR]).column(ERROR).filter(selection.reason == QUARANTINE)
    first = errors[len(errors) - 1].as_py()
    return [f'{name} failed on all {count:,} images that it was shown; one of the reasons: {first}'
            for name, count in broken]


def hints(paths: Sequence[Path], chain: Chain, selector: Selector, selection: Selection) -> Iterator[str]:
    """Texts for the user of a selection."""
    figures = figures_of(paths)
    asked = [*(limit.column for limit in selector.filters), *(name for stage in chain.stages
                                                              for name in stage.asked_for())]
    seen = {name for name in asked for stage in [chain.stages[chain.made_by[name]].name]
            if figures.get(stage, {}).get('images', 0) > figures.get(stage, {}).get('failed', 0)}
    for name in unknown_columns(paths, [name for name in dict.fromkeys(asked) if name in seen]):
        yield f'{name} is not known of any image: {chain.columns[name].meaning}'
    counts = selection.counts()
    limit = max(selector.filters, key=lambda one: counts.get(one.name, 0), default=None)
    if limit is not None and counts.get(limit.name, 0) > _MUCH * len(selection.reason):
        yield _loosened(paths, chain, limit, selection)


def _loosened(paths: Sequence[Path], chain: Chain, limit: Limit, selection: Selection) -> str:
    """What a limit leaves out, and how it is moved."""
    out = selection.reason == limit.name
    table = read_scores(paths, [limit.column, DROPPED, LAST]).filter(out)
    text = f'"{limit.name}" leaves out {int(out.sum()):,} of {len(out):,} images.'
    values, _ = known_values(table.column(limit.column))
    if limit.at_least is None and limit.at_most is None or not np.isfinite(values).any():
        return f'{text} {limit.column}: {chain.columns[limit.column].meaning}'
    values = values[np.isfinite(values)]
    middle = float(np.median(values))
    bound = 'at-least' if limit.at_least is not None and middle < limit.at_least else 'at-most'
    whose = 'these'
    if bound == 'at-least' and middle == values.min() < values.max():  # where nothing was found: that is no limit
        text += f' {int((values == middle).sum()):,} of these have {middle:.3g}.'
        whose, middle = 'the others', float(np.median(values[values > middle]))
    middle = _outwards(middle, bound)
    text += (f' Half of {whose} have {middle:.3g} or {"more" if bound == "at-least" else "less"} ({limit.column}: '
             f'{chain.columns[limit.column].meaning}). The limit is moved by --{bound} {limit.column}={middle:.3g}')
    last = table.column(LAST).fill_null(len(chain.stages)).to_numpy()
    if (last < len(chain.stages) - 1).any():
        return text + ' and another --out: images that it dropped have not been seen by later stages.'
    return text + ' with --steps select report.'


def _outwards(value: float, bound: str) -> float:
    """Three digits of a limit, rounded so that it still lets the value pass."""
    step = 10.0**(math.floor(math.log10(abs(value))) - 2) if value else 1.0
    return (math.floor if bound == 'at-least' else math.ceil)(value / step) * step
