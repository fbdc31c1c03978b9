"""Arguments of the steps of a pipeline, changed without writing the pipeline again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sapiens2.datasets.errors import DataError
from sapiens2.utils.suggest import unknown_name


def with_options(pipeline: Sequence[Any], options: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """``pipeline`` with the arguments of some steps replaced.

    Args:
        pipeline: configurations of steps, or steps.
        options: name of a step's type -> its arguments, merged into those that every step of that type has.

    Raises:
        DataError: if no step is of that type.
    """
    types = [step['type'] for step in pipeline if isinstance(step, Mapping)]
    for name in options:
        if name not in types:
            raise DataError('pipeline_options: ' + unknown_name(name, types, 'step of this pipeline'))
    return [_merged(step, options[step['type']]) if isinstance(step, Mapping) and step['type'] in options else step
            for step in pipeline]


def _merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
