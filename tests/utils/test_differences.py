"""In which entries two nested values differ."""

from __future__ import annotations

import pytest

from sapiens2.utils.differences import NOT_SET, differences


@pytest.mark.parametrize(('one', 'two', 'expected'), [
    ({'a': {'b': 1}}, {'a': {'b': 1}}, []),
    ({'a': {'b': 1}}, {'a': {'b': 2}}, [('a.b', 1, 2)]),
    ({'a': 1}, {'a': 1, 'c': 2}, [('c', NOT_SET, 2)]),
    ({'a': {}}, {'a': 1}, [('a', {}, 1)]),
    ({'a': [1, {'b': 2}, 3]}, {'a': (1, {'b': 4})}, [('a.1.b', 2, 4), ('a.2', 3, NOT_SET)]),
])
def test_entries_that_differ_are_named(one, two, expected):
    assert list(differences(one, two)) == expected


def test_entries_stand_under_the_one_that_is_given():
    assert list(differences([], [{'type': 'Decode'}], 'stages')) == [('stages.0', NOT_SET, {'type': 'Decode'})]
