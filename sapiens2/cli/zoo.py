"""``sapiens2 zoo``: the weights that were released."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING, Optional

from sapiens2.utils.text_table import text_table

if TYPE_CHECKING:
    from sapiens2.utils.model_index import Release


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'zoo', help='list the weights that were released, and those that were not',
        description='List every set of weights of Sapiens2 and of the first Sapiens backbones: task, size, parameters, '
                    'whether the authors released it, repository on huggingface.co, licences.')
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
        print('\n'.join(f'{field:<22} {value}' for field, value in _rows(releases[0])))
    else:
        print(text_table(('NAME', 'TASK', 'SIZE', 'PARAMETERS', 'FILE (MB)', 'RELEASED', 'REPOSITORY',
                          'LICENCE OF CODE', 'LICENCE OF WEIGHTS'), [
                              (release.name, release.task, release.size, _count(release.parameters),
                               _megabytes(release), 'yes' if release.released else 'no', release.repository or '-',
                               release.code_license, release.weights_license or '-') for release in releases],
                         align='<<<>><<<<'))
        released = sum(release.released for release in releases)
        print(f'\n{released} of these {len(releases)} were released by the authors: no albedo weights and none of a '
              'task at 4K. Sizes of files are estimated: four bytes a parameter.\n'
              'Matting has weights for transformers, but no decoder here.\n'
              'sapiens2 zoo NAME gives the address of a file.')
    return 0


def _rows(release: Release) -> list[tuple[str, str]]:
    """Everything known of one set of weights."""
    rows = []
    for field, value in dataclasses.asdict(release).items():
        if field == 'parameters':
            rows += [(field, _count(value))] if value else []
            if value and release.released:
                rows.append(('size of the file', f'about {_megabytes(release)} MB, estimated: four bytes a parameter'))
        elif value is not None:
            rows.append((field.replace('_', ' '), {True: 'yes', False: 'no'}[value] if isinstance(value, bool)
                         else str(value)))
    return rows


def _count(parameters: Optional[int]) -> str:
    return f'{parameters:,}' if parameters else '-'


def _megabytes(release: Release) -> str:
    """Size of a released file in float32, in units of 1e6 bytes."""
    return f'{4 * release.parameters / 1e6:,.0f}' if release.released and release.parameters else '-'
