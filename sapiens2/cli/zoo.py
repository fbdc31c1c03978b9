"""``sapiens2 zoo``: the weights that were released."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Optional


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'zoo', help='list the weights that were released',
        description='List every set of weights of Sapiens2 and of the first Sapiens backbones: task, size, parameters, '
                    'whether it was released, repository on huggingface.co, licences.')
    parser.add_argument('name', nargs='?', metavar='NAME', help='say everything about one of them')
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the list, or one entry; 0 on success."""
    from sapiens2.utils.model_index import find_release, load_model_index
    releases = [find_release(args.name)] if args.name else load_model_index()
    if args.json:
        entries = [dataclasses.asdict(release) for release in releases]
        print(json.dumps(entries[0] if args.name else entries, indent=2))
    elif args.name:
        rows = [(field.replace('_', ' '), str(value)) for field, value in dataclasses.asdict(releases[0]).items()
                if value is not None]
        print('\n'.join(f'{field:<16} {value}' for field, value in rows))
    else:
        print(_table([('NAME', 'TASK', 'SIZE', 'PARAMETERS', 'RELEASED', 'REPOSITORY', 'LICENCE OF CODE',
                       'LICENCE OF WEIGHTS')] + [
                           (release.name, release.task, release.size, _count(release.parameters),
                            'yes' if release.released else 'no', release.repository or '-', release.code_license,
                            release.weights_license or '-') for release in releases]))
        released = sum(release.released for release in releases)
        print(f'\n{released} of {len(releases)} were released; no albedo weights and none of a task at 4K were. '
              'sapiens2 zoo NAME gives the address of a file.')
    return 0


def _count(parameters: Optional[int]) -> str:
    return f'{parameters:,}' if parameters else '-'


def _table(rows: list[tuple[str, ...]]) -> str:
    """Columns separated by two spaces, as wide as their widest entry."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return '\n'.join('  '.join(f'{cell:<{width}}' for cell, width in zip(row, widths)).rstrip() for row in rows)
