"""Calls of ``sapiens2 test CONFIG --predictions FOLDER``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapiens2.cli.main import main

CONFIGS = Path(__file__).parents[1] / 'configs'


class Measure:
    """Measures predictions with the tiny config of a task and data of ``write_data``."""

    def __init__(self, capsys: pytest.CaptureFixture) -> None:
        self._capsys = capsys

    def __call__(self, task: str, data: Path, predictions: Path, *options: str) -> dict[str, float]:
        """The figures."""
        code, out, said = self._run(task, data, predictions, *options)
        assert code == 0, said
        return json.loads(out)

    def fails(self, task: str, data: Path, predictions: Path, *options: str) -> str:
        """What is said, without line breaks, when it cannot be measured."""
        code, _, said = self._run(task, data, predictions, *options)
        assert code == 2
        return said.replace('\n', '')

    def _run(self, task: str, data: Path, predictions: Path, *options: str) -> tuple[int, str, str]:
        config, = (path for path in (CONFIGS / task).glob('sapiens2-tiny_*.py') if '_synth-' not in path.name)
        more = ['ann_file=people.json'] if task == 'pose' else []
        code = main(['test', str(config), '--predictions', str(predictions), '--json', '--work-dir',
                     str(data.parent / 'work'), *options, '--cfg-options', f'data_root={data}', *more])
        return code, *self._capsys.readouterr()
