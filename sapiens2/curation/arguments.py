"""Entries of a config against what takes them: names, types and ranges, checked before anything is scored."""

from __future__ import annotations

import collections.abc
import inspect
import math
import os
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import check_names


@dataclass(frozen=True)
class Least:
    """The smallest value of an entry; stands in the annotation of what takes it."""

    value: float


# Whole numbers from 1, and from 0.
Count = Annotated[int, Least(1)]
NotNegative = Annotated[int, Least(0)]

_NAMES = {int: 'a whole number', float: 'a finite number', str: 'text', bool: 'True or False', type(None): 'None'}
_LISTS = (list, tuple, collections.abc.Sequence)
_DICTIONARIES = (dict, collections.abc.Mapping)


def check_arguments(where: str, component: Callable, given: Mapping[str, Any]) -> None:
    """Check arguments by the annotations of ``component``.

    Args:
        where: entry of the config that has them; empty for the config itself.
        component: class or function. Arguments of a class that end in ``**kwargs`` are those of its bases, too.
        given: name -> value. A 'type' is passed over.

    Raises:
        ConfigError: naming the entry, if a value is of another type, or too small.
        UnknownNameError: if ``component`` takes no argument of a name.
    """
    known, is_open = _annotations(component)
    given = {name: value for name, value in given.items() if name != 'type'}
    if not is_open:
        check_names(given, known, where, f'argument of {component.__name__}')
    for name, value in given.items():
        if not fits(value, known.get(name, Any)):
            entry, value, kind = _misfit(f'{where}.{name}' if where else name, value, known[name])
            raise ConfigError(f'{entry} must be {described(kind)}, got {value!r}')


def _annotations(component: Callable) -> tuple[dict[str, Any], bool]:
    """Argument -> type, and whether there may be others."""
    functions = [component] if not inspect.isclass(component) else [
        base.__dict__['__init__'] for base in component.__mro__ if base is not object and '__init__' in base.__dict__]
    known: dict[str, Any] = {}
    for function in functions:
        parameters = inspect.signature(function).parameters.values()
        # Those of a stage of the user's may name what its file has for type checkers alone; it checks itself then.
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError:
            hints = {}
        for one in parameters:
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name != 'self':
                known.setdefault(one.name, hints.get(one.name, Any))
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            return known, False
    return known, bool(functions) and not inspect.isclass(component)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value, as a config has it, is of a type. True is no number, and neither are NaN and infinity."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if origin is Annotated:
        return fits(value, parts[0]) and all(
            value is None or value >= part.value for part in parts[1:] if isinstance(part, Least))
    if origin is Union:
        return any(fits(value, part) for part in parts)
    if origin in _LISTS:
        return isinstance(value, (list, tuple)) and all(fits(item, parts[0]) for item in value)
    if origin in _DICTIONARIES:
        return isinstance(value, Mapping) and all(
            fits(name, parts[0]) and fits(item, parts[1]) for name, item in value.items())
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return isinstance(value, str) if origin is os.PathLike else isinstance(value, origin or kind)


def _misfit(entry: str, value: Any, kind: Any) -> tuple[str, Any, Any]:
    """The innermost entry of dictionaries that does not fit, its value, and the type that it should have."""
    for part in typing.get_args(kind) if typing.get_origin(kind) is Union else (kind,):
        if typing.get_origin(part) in _DICTIONARIES and isinstance(value, Mapping):
            below = typing.get_args(part)[1]
            for name, item in value.items():
                if not fits(item, below):
                    return _misfit(f'{entry}.{name}', item, below)
    return entry, value, kind


def described(kind: Any) -> str:
    """A type in words."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return ' '.join([described(parts[0]), *(f'of at least {part.value:g}' for part in parts[1:])])
    if origin is Union:
        # A number may be whole, so that need not be said.
        return ' or '.join(dict.fromkeys(described(part) for part in parts if part is not int or float not in parts))
    if origin in _LISTS:
        return 'a list' if parts[0] is Any else f'a list, each {described(parts[0])}'
    if origin in _DICTIONARIES:
        return 'a dictionary' if parts[1] is Any else f'a dictionary, each value {described(parts[1])}'
    return _NAMES.get(kind, 'text' if origin is os.PathLike else f'a {getattr(kind, "__name__", kind)}')
