"""Kinds of values that options of the command take."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> int:
    """A whole number from 1."""
    return _at_least(1, text)


def not_negative(text: str) -> int:
    """A whole number from 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'must be a whole number, this is {text!r}') from error
    if number < least:
        raise argparse.ArgumentTypeError(f'must be at least {least}, this is {text}')
    return number


def positive_number(text: str) -> float:
    """A number more than 0."""
    number = _number(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f'must be more than 0, this is {text}')
    return number


def not_negative_number(text: str) -> float:
    """A number from 0."""
    number = _number(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f'must be at least 0, this is {text}')
    return number


def share(text: str) -> float:
    """A number from 0, less than 1."""
    number = _number(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f'must be at least 0 and less than 1, this is {text}')
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'must be a number, this is {text!r}') from error
