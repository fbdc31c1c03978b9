"""Steps of a chain that work at the same time."""

from __future__ import annotations

import threading

import pytest

from sapiens2.utils.overlap import ahead, in_background


def test_results_come_in_order_whatever_takes_longest():
    first = threading.Event()

    def work(number):
        if number == 0:
            assert first.wait(10)  # the first is done last
        elif number == 2:
            first.set()
        return number * number

    assert list(ahead(work, range(6), 3, 4)) == [0, 1, 4, 9, 16, 25]


def test_no_more_than_the_limit_are_taken():
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    for chain in (ahead(lambda number: number, items(), 2, 3), in_background(items(), 3)):
        taken.clear()
        assert next(chain) == 0
        assert len(taken) <= 5
        chain.close()


@pytest.mark.parametrize('chain', [
    lambda items: ahead(lambda item: item, items, 2, 2), lambda items: in_background(items, 2),
    lambda items: in_background(ahead(lambda item: item, items, 2, 2), 2)])
def test_what_goes_wrong_is_raised_in_its_place(chain):
    def items():
        yield 1
        raise ValueError('broken')

    results = chain(items())
    with pytest.raises(ValueError, match='broken'):
        list(results)


def test_a_consumer_that_stops_stops_the_thread():
    before = threading.active_count()
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    chain = in_background(items(), 2)
    next(chain)
    chain.close()
    assert closed.wait(10) and threading.active_count() == before
