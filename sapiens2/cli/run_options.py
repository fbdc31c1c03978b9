"""Arguments that ``sapiens2 train`` and ``sapiens2 test`` share, and which of their errors are the user's."""

from __future__ import annotations

import argparse
import ast
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAUNCHERS = ('none', 'pytorch', 'slurm', 'mpi')


def option(text: str) -> tuple[str, Any]:
    """Parse one KEY=VALUE; the value is a Python literal, or else a string."""
    key, separator, value = text.partition('=')
    if not separator or not key:
        raise argparse.ArgumentTypeError(f'{text!r} is not of the form KEY=VALUE')
    named = {'true': True, 'false': False, 'none': None}
    if value.lower() in named:
        return key, named[value.lower()]
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError):  # TypeError: of a literal that cannot be, {[]: 1} for instance
        return key, value
    except (MemoryError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f'{key}: the value is nested too deeply') from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shared arguments."""
    parser.add_argument('config', metavar='CONFIG', help='config file')
    parser.add_argument('--work-dir', metavar='DIR',
                        help='where logs and checkpoints go (default: work_dirs/<name of the config>)')
    parser.add_argument('--cfg-options', metavar='KEY=VALUE', nargs='+', action='extend', type=option, default=[],
                        help='replace entries of the config, such as optim_wrapper.optimizer.lr=1e-4')
    # Before the verb it has a meaning, too, which a default would undo.
    parser.add_argument('--traceback', action='store_true', default=argparse.SUPPRESS,
                        help='show where in the program an error arose')
    parser.add_argument('--launcher', choices=LAUNCHERS, default='none', help='what started the processes')


def run_guarded(run: Callable[[], None]) -> int:
    """Call ``run``; 0 if all went well.

    Errors in config, options, data or weights, and those of the file system, pass on, to be shown as one message, and
    so do values that this package refuses. Of any other error in a long run its place in the program matters more, so
    it is shown with its traceback: 1.
    """
    from sapiens2.utils.light_imports import import_mmengine
    import_mmengine()
    from sapiens2.datasets.errors import DataError
    from sapiens2.models.checkpoints import CheckpointError
    from sapiens2.utils.config import ConfigError
    from sapiens2.utils.image_io import ImageReadError
    try:
        run()
    except (ConfigError, DataError, CheckpointError, ImageReadError, OSError):
        raise
    except Exception as error:
        if isinstance(error, (ValueError, KeyError)) and raised_here(error):
            raise
        traceback.print_exc()
        return 1
    return 0


def raised_here(error: Exception) -> bool:
    """Whether this package raised ``error`` itself, in words that say what to change; a library's say little."""
    package = Path(__file__).resolve().parents[1]
    *_, last = traceback.walk_tb(error.__traceback__)
    return package in Path(last[0].f_code.co_filename).resolve().parents
