"""The pinned versions: exact, one for each Python, and all that the requirement files ask for within their ranges."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).parents[1] / 'requirements'
PYTHONS = ('3.10', '3.11', '3.12', '3.13')


def lines(name: str) -> list[Requirement]:
    text = (FOLDER / name).read_text(encoding='utf-8').splitlines()
    return [Requirement(line) for line in text if line and not line.startswith(('#', '-'))]


def pins(python: str, name: str = 'constraints.txt') -> dict[str, Requirement]:
    """Package -> its line that counts on a Python; one that has two is an error."""
    found: dict[str, Requirement] = {}
    for line in lines(name):
        if line.marker is None or line.marker.evaluate({'python_version': python}):
            assert found.setdefault(canonicalize_name(line.name), line) is line, f'{line} stands twice for {python}'
    return found


@pytest.mark.parametrize('name', ['constraints.txt', 'baselines-constraints.txt'])
@pytest.mark.parametrize('python', PYTHONS)
def test_constraints_are_exact(name: str, python: str) -> None:
    # pip-audit refuses the whole file otherwise.
    for line in pins(python, name).values():
        assert [part.operator for part in line.specifier] == ['=='], line


@pytest.mark.parametrize('python', PYTHONS)
def test_pins_lie_within_the_ranges(python: str) -> None:
    pinned = pins(python)
    checked = 0
    for file in sorted(FOLDER.glob('*.txt')):
        if 'constraints' in file.name or file.name.startswith('baselines'):
            continue
        for line in lines(file.name):
            pin = pinned.get(canonicalize_name(line.name))
            if pin is not None and (line.marker is None or line.marker.evaluate({'python_version': python})):
                version = next(iter(pin.specifier)).version
                assert line.specifier.contains(version), f'{file.name}: {line}, but {pin}'
                checked += 1
    assert checked > 20
