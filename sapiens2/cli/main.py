"""The ``sapiens2`` command: finds the verb's file, and turns errors that a user can mend into one clear line."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Optional

from sapiens2.utils.suggest import unknown_name
from sapiens2.version import __version__

# Verb -> module of this package that has ``add_parser``, in the order of the help text.
VERBS = {name: f'sapiens2.cli.{name}' for name in (
    'infer', 'serve', 'features', 'train', 'test', 'probe', 'data', 'synth', 'curate', 'flops', 'plan', 'convert',
    'export', 'zoo', 'doctor')}
_INTERRUPTED = 130


def build_parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog='sapiens2', description='High-resolution vision transformers for people: pose, segmentation, normals, '
                                     'pointmaps and albedo.')
    parser.add_argument('--version', action='version', version=f'sapiens2 {__version__}')
    parser.add_argument('--traceback', action='store_true', help='show where in the program an error arose')
    subparsers = parser.add_subparsers(dest='verb', metavar='VERB', required=True)
    for module in VERBS.values():
        importlib.import_module(module).add_parser(subparsers)
    return parser


def _message(error: Exception) -> str:
    # str() of a KeyError is the representation of its argument, quotes and escapes included.
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    # A data loader puts the traceback of its worker before the text.
    marker = f'\n{type(error).__module__}.{type(error).__qualname__}: '
    if text.startswith('Caught ') and marker in text:
        text = text.rpartition(marker)[2].rstrip()
    return text or type(error).__name__


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one verb.

    Returns:
        0: all was done; 1: done except for what was named on the way; 2: could not be started; 130: interrupted.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    verb = next((word for word in argv if not word.startswith('-')), None)
    if verb is not None and verb not in VERBS:
        parser.error(unknown_name(verb, VERBS, 'verb'))
    args = parser.parse_args(argv)
    try:
        return args.func(args)
    except KeyboardInterrupt as stop:
        print(str(stop) or 'interrupted', file=sys.stderr)
        return _INTERRUPTED
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        if args.traceback:
            raise
        print(f'sapiens2 {args.verb}: error: {_message(error)}', file=sys.stderr)
        print('(--traceback shows where in the program it arose)', file=sys.stderr)
        return 2
