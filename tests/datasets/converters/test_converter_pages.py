"""What the pages of the public sets say is what the converters do."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from sapiens2.cli import data_convert
from sapiens2.datasets.converters import CONVERTERS, label_tables
from sapiens2.datasets.converters.base import Converter, held_out

PAGES = Path(__file__).parents[3] / 'docs/en/datasets'


def rows(page: str) -> list[list[str]]:
    """The cells of all table rows of a page."""
    lines = (PAGES / page).read_text(encoding='utf-8').splitlines()
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines if line.startswith('|')]


def test_the_command_knows_all_converters() -> None:
    assert list(data_convert.NAMES) == list(CONVERTERS)
    assert set(data_convert.SET_OPTIONS) == {name for kind in CONVERTERS.values() for name in kind.OPTIONS}


@pytest.mark.parametrize('kind', CONVERTERS.values())
def test_converters_go_to_other_processes(kind: type[Converter]) -> None:
    copy = pickle.loads(pickle.dumps(kind(Path('source'), Path('target'))))
    assert (type(copy), copy.source, copy.options) == (kind, Path('source'), kind.OPTIONS)


@pytest.mark.parametrize('name', data_convert.NAMES)
def test_each_set_has_a_page_with_its_command(name: str) -> None:
    listed = re.search(rf'\]\(([a-z0-9_]+\.md)\) \| `{name}`', (PAGES / 'README.md').read_text(encoding='utf-8'))
    text = (PAGES / listed[1]).read_text(encoding='utf-8')
    assert f'sapiens2 data convert {name} SRC' in text
    for word in ('Terms:', '## Expected', '## Citation'):
        assert word in text


@pytest.mark.parametrize('page, table', [('lip.md', label_tables.LIP), ('celebamask_hq.md', label_tables.CELEBAMASK)])
def test_class_tables_of_the_pages(page: str, table: dict) -> None:
    said = [(row[-2], None if row[-1].startswith('ignored') else row[-1]) for row in rows(page)]
    assert said[2:2 + len(table)] == list(table.items())
    assert ['10', 'Torso-skin', label_tables.CIHP['Torso-skin']] in rows('cihp.md')


def test_classes_that_are_trained_on() -> None:
    for page, table in (('lip.md', label_tables.LIP), ('cihp.md', label_tables.CIHP)):
        count = len({target for target in table.values() if target})
        assert f'trains {count} of the 29 classes' in (PAGES / page).read_text(encoding='utf-8')


def test_held_out_groups() -> None:
    chosen = [group for group in map(str, range(5000)) if held_out(group, 0.1)]
    assert 400 < len(chosen) < 600
    assert set(chosen) <= {group for group in map(str, range(5000)) if held_out(group, 0.2)}
    assert not any(held_out(group, 0) for group in map(str, range(100)))
