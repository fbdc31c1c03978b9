"""``sapiens2 doctor``: what this installation consists of and what is wrong with it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from sapiens2.utils import environment
from sapiens2.version import __version__


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command."""
    parser = subparsers.add_parser(
        'doctor', help='report versions and devices, and problems of the installation',
        description='Report versions, devices and optional packages; exit code 1 if something is wrong. '
                    'Paste the report into bug reports.')
    parser.set_defaults(func=run)


def _section(title: str, rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return '\n'.join([title, *(f'  {name:<{width}}  {value}' for name, value in rows)])


def run(args: argparse.Namespace) -> int:
    """Print the report; 1 if there is a problem, else 0."""
    from sapiens2.utils.paths import configs_dir
    problems = environment.package_problems()
    print(_section('sapiens2', [('version', __version__), *environment.system_rows()]))
    print(_section('Required packages', environment.package_rows(environment.REQUIRED)))
    print(_section('Optional packages', environment.package_rows(environment.OPTIONAL)))
    try:
        print(_section('Devices', environment.torch_rows()))
        problems += environment.torch_problems()
    except (ImportError, OSError) as error:
        problems.append(f'torch does not load: {type(error).__name__}: {error}')
    try:
        print(_section('Files', [('configs', str(configs_dir()))]))
    except FileNotFoundError as error:
        problems.append(str(error))
    print(_section('Problems', [(f'{number}.', text) for number, text in enumerate(problems, 1)]) if problems
          else 'No problems found.')
    return 1 if problems else 0
