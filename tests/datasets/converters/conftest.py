"""Run a converter as the command does, and train on its result as the printed command says."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sapiens2.cli import data_convert
from sapiens2.cli.main import build_parser
from sapiens2.registry import DATASETS
from sapiens2.utils.config import load_config

ROOT = Path(__file__).parents[3]


class Result(NamedTuple):
    """What a run of ``sapiens2 data convert`` gave."""

    code: int
    commands: list[str]
    messages: str


@pytest.fixture
def convert(capsys: pytest.CaptureFixture, tmp_path: Path) -> Callable[..., Result]:
    """Convert a set; ``words`` are options of the command line."""
    parser = argparse.ArgumentParser()
    data_convert.add_parser(parser.add_subparsers())

    def run(name: str, source: Path, *words: object, target: Path = tmp_path / 'out', workers: int = 1) -> Result:
        capsys.readouterr()
        args = parser.parse_args(['convert', name, str(source), str(target), f'--workers={workers}', *map(str, words)])
        code = args.func(args)
        captured = capsys.readouterr()
        return Result(code, captured.out.splitlines()[1:], captured.err)

    return run


@pytest.fixture
def build_from_command() -> Callable[..., Any]:
    """The data set that a printed command trains on, its pipeline included."""

    def build(command: str, part: str = 'train') -> Any:
        words = shlex.split(command)
        assert words[:2] == ['python', 'tools/train.py']
        args = build_parser().parse_args(['train', str(ROOT / words[2]), *words[3:]])
        dataset = load_config(args.config, dict(args.cfg_options))[f'{part}_dataloader'].dataset
        dataset.serialize_data = False
        return DATASETS.build(dataset)

    return build
