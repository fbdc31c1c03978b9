"""The image size that weights are for. Their shapes do not tell, because the positions are computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Optional

# Entry of a safetensors file's metadata: 'H W'.
METADATA_KEY = 'img_size'


def noted_size(config: Any) -> Optional[tuple[int, int]]:
    """(H, W) out of a number or a pair of numbers, None for anything else."""
    sides = [config] * 2 if isinstance(config, int) else config
    if not isinstance(sides, (list, tuple)) or len(sides) != 2:
        return None
    return (sides[0], sides[1]) if all(type(side) is int and side > 0 for side in sides) else None


def size_in_metadata(metadata: Any) -> Optional[tuple[int, int]]:
    """(H, W) as ``convert`` notes it in a safetensors file; None if it is not there."""
    text = metadata.get(METADATA_KEY) if isinstance(metadata, Mapping) else None
    words = text.split() if isinstance(text, str) else []
    return noted_size([int(word) for word in words]) if all(word.isdigit() for word in words) else None


def size_in_archive(tree: Any) -> Optional[tuple[int, int]]:
    """(H, W) of the backbone in the config that MMEngine keeps in its checkpoints; the config is not executed.

    None if it has no config, or one that names several sizes.
    """
    meta = tree.get('meta') if isinstance(tree, Mapping) else None
    text = meta.get('cfg') if isinstance(meta, Mapping) else None
    if not isinstance(text, str):
        return None
    try:
        sizes = {noted_size(ast.literal_eval(value)) for value in _values(ast.parse(text), 'img_size')}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return sizes.pop() if len(sizes) == 1 else None


def _values(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """What stands behind ``name=`` and ``'name':`` anywhere in a program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == name:
            yield node.value
        elif isinstance(node, ast.Dict):
            yield from (value for key, value in zip(node.keys, node.values)
                        if isinstance(key, ast.Constant) and key.value == name)
