"""What is wrong with data that people bring."""

from __future__ import annotations


class DataError(ValueError):
    """A fault in a data set. The text names file, annotation or field, fault and remedy."""
