"""What differs between the config of a run that goes on and that of its checkpoint."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

# What may differ: where things are, what is shown and kept, and bases that other entries were made from.
_PASSED_OVER = ('work_dir', 'resume', 'load_from', 'started_from', 'launcher', 'log_level', 'log_processor',
                'visualizer', 'default_hooks', 'experiment_name', 'env_cfg', 'randomness', 'default_scope')
_SHOWN = 10
_LENGTH = 80
_GONE = object()


def config_changes(before: str, now: str) -> list[str]:
    """One line for each entry of training, data or model that differs, at most ten and how many more.

    Args:
        before, now: texts of configs, as ``Config.pretty_text`` gives them. They are read, not run.
    """
    old, new = (dict(_entries(text)) for text in (before, now))
    if not old:
        return []
    lines = [f'{entry}: {_text(new.get(entry, _GONE))}, was {_text(old.get(entry, _GONE))}'
             for entry in sorted(old.keys() | new.keys()) if old.get(entry, _GONE) != new.get(entry, _GONE)]
    return lines[:_SHOWN] + ([f'and {len(lines) - _SHOWN} more'] if len(lines) > _SHOWN else [])


def _entries(text: str) -> Iterator[tuple[str, Any]]:
    """Entries by dotted path; none of a text that is no config."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError):
        return
    used = [statement for statement in statements if isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)]
    for statement in used:
        name = statement.targets[0].id
        if name in _PASSED_OVER:
            continue
        value = _value(statement.value)
        # Variables of a config file, whose values stand where they are used.
        if isinstance(value, dict) or name in ('param_scheduler', 'custom_hooks', 'strategy', 'fine_tuning'):
            yield from _flat(name, value)


def _value(node: ast.expr) -> Any:
    """The value of an expression of a config; the text of what is no plain value."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == 'dict' and not node.args:
        return {str(item.arg): _value(item.value) for item in node.keywords}
    if isinstance(node, ast.Dict):
        return {ast.unparse(key) if key else '**': _value(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item) for item in node.elts]
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f'{path}.{key}', item)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for number, item in enumerate(value):
            yield from _flat(f'{path}.{number}', item)
    else:
        yield path, value


def _text(value: Any) -> str:
    text = 'not set' if value is _GONE else repr(value)
    return text if len(text) <= _LENGTH else f'{text[:_LENGTH]}...'
