"""Strategies that damage valid files: bytes, and trees of JSON."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

# Numbers at which sizes, lengths and offsets go wrong.
_EDGES = [struct.pack(form, value) for form, value in (
    ('<I', 0), ('<I', 0xFFFFFFFF), ('<I', 0x7FFFFFFF), ('>I', 0x7FFFFFFF), ('>I', 1 << 14), ('<I', 1 << 14),
    ('<H', 0xFFFF), ('<H', 0x8000), ('>H', 0x8000), ('<Q', 1 << 40), ('<Q', 0xFFFFFFFFFFFFFFFF), ('>I', 1 << 24))]
_PLACE = st.floats(0, 1)
_EDIT = st.one_of(
    st.tuples(st.just('set'), _PLACE, st.binary(min_size=1, max_size=4)),
    st.tuples(st.just('set'), _PLACE, st.sampled_from(_EDGES)),
    # Headers are where most of the meaning lies.
    st.tuples(st.just('set'), st.floats(0, 0.05), st.binary(min_size=1, max_size=2)),
    st.tuples(st.just('set'), st.floats(0, 0.1), st.sampled_from(_EDGES)),
    st.tuples(st.just('insert'), _PLACE, st.binary(min_size=1, max_size=8)),
    st.tuples(st.just('delete'), _PLACE, st.integers(1, 64)),
    st.tuples(st.just('cut'), _PLACE, st.none()),
    st.tuples(st.just('repeat'), _PLACE, st.integers(1, 64)),
)


def mutated(seeds: Mapping[str, bytes]) -> st.SearchStrategy[bytes]:
    """Contents of ``seeds``, by name, with one to five edits."""
    return st.builds(_edited, st.sampled_from(sorted(seeds)).map(seeds.__getitem__),
                     st.lists(_EDIT, min_size=1, max_size=5))


def _edited(content: bytes, edits: list[tuple[str, float, Any]]) -> bytes:
    for kind, share, what in edits:
        place = int(share * len(content))
        before, after = content[:place], content[place:]
        content = {
            'set': lambda: before + what + after[len(what):],
            'insert': lambda: before + what + after,
            'delete': lambda: before + after[what:],
            'cut': lambda: before,
            'repeat': lambda: before + after[:what] * 2 + after[what:],
        }[kind]()
    return content


WILD = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**31, 2**63, -2**63 - 1, 10**30, 10**400, 1e308]),
    st.floats(), st.text(max_size=6),
    st.sampled_from(['1', 'nan', '../../x', '/etc/passwd', '\0', '\ud800', '__class__']),
    st.lists(st.integers(-2, 300) | st.floats() | st.text(max_size=2), max_size=6),
    st.dictionaries(st.sampled_from(['id', 'size', 'counts', 'x']) | st.text(max_size=3),
                    st.integers(-2, 9) | st.text(max_size=3) | st.lists(st.integers(0, 40), max_size=3), max_size=3))


def mutated_tree(seed: Any) -> st.SearchStrategy[Any]:
    """``seed``, a tree of JSON values, with one to three places replaced, removed, doubled, wrapped or renamed."""
    edit = st.tuples(st.sampled_from(['replace', 'replace', 'remove', 'double', 'wrap', 'rename']),
                     st.integers(0, 10**6), WILD)
    return st.lists(edit, min_size=1, max_size=3).map(lambda edits: _changed(seed, edits))


def _changed(seed: Any, edits: list[tuple[str, int, Any]]) -> Any:
    holder = [copy.deepcopy(seed)]
    for kind, number, value in edits:
        places = list(_places(holder))
        parent, key = places[number % len(places)]
        if kind == 'replace' or parent is holder and kind != 'wrap':
            parent[key] = value
        elif kind == 'remove':
            del parent[key]
        elif kind == 'double' and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif kind == 'rename' and isinstance(parent, dict):
            parent[str(value)] = parent.pop(key)
        else:
            parent[key] = [parent[key]]
    return holder[0]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in (enumerate(node) if isinstance(node, list) else node.items()):
        yield node, key
        if isinstance(value, (list, dict)):
            yield from _places(value)


def as_json(tree: Any) -> bytes:
    """Text with NaN, and with lone surrogates as escapes, as Python writes it."""
    return json.dumps(tree).encode()
