"""``pip install`` in a page: what it names exists. Nothing is installed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_REQUIREMENT = re.compile(r'(?P<name>[A-Za-z][\w.-]*|\.)(?:\[(?P<extras>[\w,-]+)\])?(?:[=<>~!].*)?')


def check(words: Sequence[str]) -> int:
    """0 if extras, files and packages of the command are those of the project; what is not is said."""
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    extras = set(re.findall(r"'([\w-]+)'", re.search(r'EXTRAS = \((.*?)\)', setup, re.DOTALL)[1]))
    listed = {name.lower() for file in (ROOT / 'requirements').rglob('*.txt')
              for name in re.findall(r'^(?:# *pip install .*? )?([A-Za-z][\w.-]*)', file.read_text(), re.MULTILINE)}
    wrong = [] if words[0] == 'install' else [words[0]]
    values = iter(words[1:])
    for word in values:
        if word == '-r':
            file = next(values)
            wrong += [] if (ROOT / file).is_file() else [file]
        elif not word.startswith('-'):
            named = _REQUIREMENT.fullmatch(word)
            own = named and named['name'] in ('.', 'sapiens2')
            wanted = set((named['extras'] or '').split(',')) - {''} if named else set()
            if not named or (wanted - extras if own else named['name'].lower() not in listed):
                wrong.append(word)
    print(*(f'pip: no such extra, file or package of the project: {word}' for word in wrong), sep='\n')
    return int(bool(wrong))
