"""Values of options."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from sapiens2.cli.arguments import not_negative, positive, positive_number, share


@pytest.mark.parametrize('kind, good, bad', [
    (positive, ('1', '12'), ('0', '-3', '1.5', 'many', '')),
    (not_negative, ('0', '7'), ('-1', '0.0', 'none')),
    (positive_number, ('0.1', '2'), ('0', '-1', 'nan', 'inf', 'tall')),
    (share, ('0', '0.99'), ('1', '-0.1', 'nan', 'half')),
])
def test_values(kind: Callable[[str], float], good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    assert [kind(text) for text in good] == [float(text) for text in good]
    for text in bad:
        with pytest.raises(argparse.ArgumentTypeError, match='must be'):
            kind(text)
