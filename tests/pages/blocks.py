"""What a page of the documents tells a reader to type, in order, and the marks of what not every machine can run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional

# A command or an example that needs one of these is marked ``# needs ...``: at its end, or in a line of its own for the
# rest of the block. More words may follow behind a colon or a comma.
MARKS = ('a GPU', 'the network', 'a camera', 'hours', 'an environment of its own')
_BLOCK = re.compile(r'^(?P<indent> *)```(?P<language>bash|python)\n(?P<text>.*?)^ *```', re.MULTILINE | re.DOTALL)
_MARK = re.compile(r'(?:^|\s)# needs (.*)')
_SYNOPSIS = re.compile(r'\[-|\[[A-Z]|\|[a-z]')


class Part(NamedTuple):
    """A command, with its continued lines, or an example in Python."""

    kind: str  # command, synopsis, program, config, fragment
    text: str
    line: int
    mark: Optional[str]


def parts(page: Path) -> list[Part]:
    """Commands and examples of a page, in order.

    Raises:
        ValueError: for a mark that is not one of the known ones.
    """
    text = page.read_text(encoding='utf-8')
    found: list[Part] = []
    for block in _BLOCK.finditer(text):
        first = text.count('\n', 0, block.start('text')) + 1
        body = re.sub(rf'^{block["indent"]}', '', block['text'], flags=re.MULTILINE)
        found += _commands(body, first) if block['language'] == 'bash' else [_example(body, first)]
    for part in found:
        if part.mark is not None and re.split('[:,]', part.mark)[0].strip() not in MARKS:
            raise ValueError(f'{page}:{part.line}: unknown mark "needs {part.mark}"; known: ' + ', '.join(MARKS))
    return found


def _commands(body: str, line: int) -> Iterator[Part]:
    mark_of_rest, pending, begin = None, '', line
    for number, row in enumerate(body.splitlines(), line):
        begin = begin if pending else number
        pending += row + '\n'
        if row.endswith('\\'):
            continue
        command, pending = pending, ''
        mark = _MARK.search(command)
        if command.lstrip().startswith('#'):
            mark_of_rest = mark[1] if mark else mark_of_rest
        elif command.strip():
            kind = 'synopsis' if _SYNOPSIS.search(command.partition('#')[0]) else 'command'
            yield Part(kind, command, begin, mark[1].strip() if mark else mark_of_rest)


def _example(body: str, line: int) -> Part:
    """An example that imports what it uses is a program; one with ``_base_`` is a config; others are fragments."""
    mark = _MARK.search(body.splitlines()[0])
    tree = ast.parse(body)
    kind = 'fragment'
    if any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body):
        kind = 'program'
    elif body.startswith('_base_'):
        kind = 'config'
    return Part(kind, body, line, mark[1].strip() if mark else None)
