"""Finds the weights inside what training programs wrap around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from sapiens2.models.checkpoints.errors import CheckpointError

# Wrappings, the preferred one first where several lie side by side: an average of the weights is what is meant for use.
WRAPPINGS = ('teacher', 'ema', 'state_dict', 'model', 'module')
# Wrappers of modules, which put their names anywhere into those of parameters.
SHELLS = {'module', '_orig_mod', '_fsdp_wrapped_module', '_checkpoint_wrapped_module'}
# First parts of names that belong to models: whatever stands beside them is no wrapping.
MODEL_PARTS = {'backbone', 'decode_head', 'scale_head', 'head', 'neck', 'embeddings', 'patch_embed', 'cls_token',
               'pos_embed', 'blocks', 'layers'}


def flatten(tree: Any) -> dict[str, Tensor]:
    """All tensors in nested mappings, by dotted name; anything else in them is left out."""
    flat: dict[str, Tensor] = {}

    def collect(node: Any, prefix: str) -> None:
        for key, value in node.items():
            if isinstance(value, Tensor):
                flat[f'{prefix}{key}'] = value
            elif isinstance(value, Mapping):
                collect(value, f'{prefix}{key}.')

    if isinstance(tree, Mapping):
        collect(tree, '')
    return flat


def levels(names: list[str]) -> Iterator[str]:
    """Prefixes of ever deeper wrappings around ``names``, from '' on, until parts of a model come into view."""
    prefix = ''
    while True:
        yield prefix
        first = {name[len(prefix):].split('.')[0] for name in names if name.startswith(prefix)}
        wrapping = next((name for name in (*WRAPPINGS, *sorted(SHELLS)) if name in first), None)
        if wrapping is None or first & MODEL_PARTS:
            return
        prefix += f'{wrapping}.'


def unwrap(flat: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """What lies below ``prefix``, without it and without the names of wrapper modules.

    Raises:
        CheckpointError: if two entries get the same name.
    """
    inner: dict[str, Any] = {}
    for name, value in flat.items():
        if name.startswith(prefix):
            short = '.'.join(part for part in name[len(prefix):].split('.') if part not in SHELLS)
            if short in inner:
                raise CheckpointError(f'the checkpoint holds {short!r} twice, one of them as {name!r}')
            inner[short] = value
    return inner
