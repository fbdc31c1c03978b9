"""Tables as lines of text, for logs and terminals."""

from __future__ import annotations

from collections.abc import Sequence


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
