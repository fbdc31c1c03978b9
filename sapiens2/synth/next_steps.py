"""What to do with a folder of generated samples: the commands that check it, show it and train on it."""

from __future__ import annotations

import shlex
from pathlib import Path

from sapiens2.utils.paths import configs_dir

TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')


def next_commands(root: Path) -> list[list[str]]:
    """The commands as lists of words; those that train only where there are samples for both."""
    commands = [['sapiens2', 'data', 'check', str(root), '--strict'],
                ['sapiens2', 'data', 'browse', str(root), '--out', f'{root}_seen']]
    if all((root / 'annotations' / f'keypoints_{split}.json').is_file() for split in ('train', 'val')):
        commands += [['sapiens2', 'train', _shortest(configs_dir() / task / f'sapiens2-tiny_{task}_synth-256x192.py'),
                      '--cfg-options', f'data_root={root}'] for task in TASKS]
    return commands


def describe_next(root: Path) -> str:
    """The commands, one a line, ready to be typed."""
    return '\n'.join(['next:', *(f'  {shlex.join(command)}' for command in next_commands(root))])


def _shortest(path: Path) -> str:
    """The path from the current folder on if the file lies below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
