"""Lists in messages."""

from __future__ import annotations

from sapiens2.utils.first_few import first_few


def test_a_long_list_is_cut_short() -> None:
    assert first_few(list('abcd'), 2) == ['a', 'b', 'and 2 more']
    assert first_few(list('ab'), 2) == ['a', 'b'] and first_few([]) == []
