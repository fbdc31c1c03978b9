"""Configurations that come inside a file of somebody else, such as an exported network: they name parts, run no code.

A configuration is as powerful as a program: MMEngine takes ``type='package.module.function'`` for any function there
is, imports what ``custom_imports`` and ``_scope_`` name, and calls it with arguments of the configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Entries that make MMEngine import modules.
_IMPORTS = ('custom_imports', '_scope_', 'default_scope', 'imports')


def check_foreign_config(config: Any, name: str) -> None:
    """Refuse a configuration that could run code.

    Args:
        config: tree of dictionaries and lists.
        name: of the file, for errors.

    Raises:
        ValueError: naming the file and the entry, if a type is anything but the bare name of a registered component, or
            an entry imports modules.
    """
    for entry, reason in _faults(config, 'config'):
        raise ValueError(f'{name}: its {entry} {reason}, which could run code. Files that `sapiens2 export` wrote hold '
                         'no such entry: export the network again from its weights')


def _faults(node: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            entry = f'{path}.{key}'
            if key in _IMPORTS:
                yield entry, 'imports modules'
            elif key == 'type' and not (isinstance(value, str) and _is_registered(value)):
                yield entry, f'is {value!r:.80}, no component of this project'
            yield from _faults(value, entry)
    elif isinstance(node, (list, tuple)):
        for number, value in enumerate(node):
            yield from _faults(value, f'{path}.{number}')


def _is_registered(name: str) -> bool:
    """Whether a registry of this project or of MMEngine has a component of this name. None is imported for it."""
    from mmengine.registry import Registry

    from sapiens2 import registry

    registries = [one for one in vars(registry).values() if isinstance(one, Registry)]
    for one in registries:
        one.import_from_location()
    return any(name in place.module_dict for one in registries for place in (one, one.parent) if place is not None)
