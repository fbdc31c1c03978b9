"""Tables as lines of text, for logs and terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str = '') -> str:
    """Columns as wide as their widest cell, two spaces apart.

    Args:
        header: of each column.
        rows: a cell for each column.
        align: '<' or '>' for each column: to the left or to the right. Default: the first to the left, others to the
            right.
    """
    align = align or '<' + '>' * (len(header) - 1)
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    return '\n'.join('  '.join(f'{cell:{side}{width}}' for cell, side, width in zip(row, align, widths)).rstrip()
                     for row in (header, *rows))


def figure_table(figures: Mapping[str, float]) -> str:
    """Figures and their values, rounded to four decimals; those of single classes ('seg/IoU_percent/Hair') follow in a
    table with a row for each class."""
    of_class: dict[str, dict[str, str]] = {}
    rows, columns = [], {}
    for name, value in figures.items():
        figure, _, owner = name.rpartition('/')
        if '/' in figure:
            of_class.setdefault(owner, {})[figure] = f'{value:,.4f}'
            columns[figure] = None
        else:
            rows.append((name, f'{value:,.4f}'))
    text = text_table(('figure', 'value'), rows)
    if not of_class:
        return text
    return f'{text}\n\n' + text_table(('class', *columns), [
        (owner, *(values.get(column, '-') for column in columns)) for owner, values in of_class.items()])
