"""Which images are kept: limits on columns, apart from the stages that measure them, so that they can be moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from sapiens2.curation.columns import NUMBER, TEXT, TRUTH, Column
from sapiens2.registry import CURATION_FILTERS
from sapiens2.utils.config import ConfigError

if TYPE_CHECKING:
    import pyarrow

Value = Union[float, int, str, bool]
MISSING = ('drop', 'keep')
_TYPES = {NUMBER: (int, float), TEXT: str, TRUTH: bool}


@CURATION_FILTERS.register_module()
class Limit:
    """Keeps images of which a column lies within limits.

    Args:
        column: its name.
        at_least: smallest value that is kept.
        at_most: largest value that is kept.
        one_of: values that are kept.
        missing: 'drop' or 'keep' images of which the value is not known, because nothing was found to measure.
        name: by which reports call the filter; default: column and limits.
    """

    def __init__(self, column: str, at_least: Optional[float] = None, at_most: Optional[float] = None,
                 one_of: Optional[Sequence[Value]] = None, missing: str = 'drop', name: Optional[str] = None) -> None:
        if at_least is None and at_most is None and one_of is None:
            raise ValueError(f'the filter of column {column!r} has no limit: set at_least, at_most or one_of')
        if missing not in MISSING:
            raise ValueError(f'the filter of column {column!r}: missing must be one of {", ".join(MISSING)}, '
                             f'got {missing!r}')
        if at_least is not None and at_most is not None and at_least > at_most:
            raise ValueError(f'the filter of column {column!r}: at_least {at_least:g} is more than at_most {at_most:g}')
        self.column, self.at_least, self.at_most = column, at_least, at_most
        self.one_of = None if one_of is None else list(one_of)
        self.missing = missing
        self.name = name or self._described()

    def _described(self) -> str:
        parts = []
        if self.at_least is not None:
            parts.append(f'>= {self.at_least:g}')
        if self.at_most is not None:
            parts.append(f'<= {self.at_most:g}')
        if self.one_of is not None:
            parts.append('in ' + ', '.join(map(str, self.one_of)))
        return f'{self.column} {" and ".join(parts)}'

    def check(self, column: Column) -> None:
        """See that the limits can be those of a column.

        Raises:
            ValueError: naming the column, if it holds something else.
        """
        bounds = [name for name in ('at_least', 'at_most') if getattr(self, name) is not None]
        if column.holds not in _TYPES:
            raise ValueError(f'{self.column!r} holds {column.holds} of each image, which has no limit')
        if bounds and column.holds != NUMBER:
            raise ValueError(f'{bounds[0]} is a number, and {self.column!r} holds {column.holds}; take one_of')
        for value in self.one_of or ():
            if isinstance(value, bool) != (column.holds == TRUTH) or not isinstance(value, _TYPES[column.holds]):
                raise ValueError(f'one_of has {value!r}, and {self.column!r} holds {column.holds}')

    def keeps(self, value: Optional[Value]) -> bool:
        """Whether an image with this value is kept."""
        return bool(self.mask([value])[0])

    def mask(self, values: Union[Sequence[Any], pyarrow.ChunkedArray]) -> np.ndarray:
        """(N,) bool, whether images with these values are kept; None, NaN count as missing.

        A column of an Arrow table is taken as it is, without an object for each value.
        """
        known, missing = known_values(values)
        kept = np.full(len(values), self.missing == 'keep')
        inside = np.ones(len(known), dtype=bool)
        if len(known):
            if self.at_least is not None:
                inside &= known >= self.at_least
            if self.at_most is not None:
                inside &= known <= self.at_most
            if self.one_of is not None:
                inside &= np.isin(known, self.one_of)
        kept[~missing] = inside
        return kept


def moved(filters: Sequence[Mapping[str, Any]], column: str, bound: str, value: Any) -> list[Mapping[str, Any]]:
    """Filters of a config with one limit moved; the limit is added if no filter has it.

    Args:
        filters: configurations of ``Limit``.
        column: of the limit.
        bound: 'at_least' or 'at_most'.
        value: the new limit.

    Raises:
        ConfigError: if several filters have this limit.
    """
    of_column = [number for number, limit in enumerate(filters) if limit.get('column') == column]
    having = [number for number in of_column if filters[number].get(bound) is not None] or of_column
    if len(having) > 1:
        raise ConfigError(f'{bound} of {column}: several filters are of this column; name the one you mean: '
                          f'--cfg-options {" or ".join(f"filters.{number}.{bound}={value}" for number in having)}')
    if not having:
        return [*filters, {'type': Limit.__name__, 'column': column, bound: value}]
    return [{**limit, bound: value} if number == having[0] else limit for number, limit in enumerate(filters)]


def known_values(values: Union[Sequence[Any], pyarrow.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
    """The values that are known, and (N,) bool, which are not: None and NaN."""
    if hasattr(values, 'is_null'):
        import pyarrow.compute

        missing = values.is_null(nan_is_null=True)
        return values.filter(pyarrow.compute.invert(missing)).to_numpy(), missing.to_numpy()
    missing = np.array([value is None or value != value for value in values], dtype=bool)
    return np.array([value for value, lacks in zip(values, missing) if not lacks]), missing
