"""The people of one picture: near one another, and none inside another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Optional

import numpy as np

from sapiens2.synth.people import make_person
from sapiens2.synth.scene import Person

# Chances of one, two, three and four people.
CROWD = (0.55, 0.25, 0.12, 0.08)
# Metres between two people's middles at least, and to the next at most: near enough to hide one another.
NEAREST, FARTHEST = 0.55, 1.6
# Metres between the surfaces of two people: side of the cells of space that only one of them may be in or beside.
CLEARANCE = 0.02
# Metres that somebody who touches another is moved away at a time.
STEP = 0.08
_CELLS = 2**20


def make_people(rng: np.random.Generator, most: int = len(CROWD),
                look_of: Optional[Callable[[int], np.random.Generator]] = None) -> list[Person]:
    """One to ``most`` people, each near another, their surfaces ``CLEARANCE`` or more apart.

    Args:
        rng: source of chance.
        most: 1 to 4.
        look_of: from a person's number to the source of the looks, see ``make_person``; default: ``rng``.
    """
    chances = np.array(CROWD[:most])
    people: list[Person] = []
    taken = np.zeros(0, np.int64)
    for number in range(1 + rng.choice(len(chances), p=chances / chances.sum())):
        person = make_person(rng, look=look_of(number) if look_of else None)
        if people:
            taken = _distinct(np.concatenate([taken, _around(_cells(people[-1]))]))
            person = _find_place(rng, person, people, taken)
        people.append(person)
    return people


def _find_place(rng: np.random.Generator, person: Person, others: list[Person], taken: np.ndarray) -> Person:
    """The person, who stands at the origin, beside one of the others; ``taken``: cells in and around the others."""
    middles = [other.mesh.vertices[:, [0, 2]].mean(0) for other in others]
    start = middles[rng.integers(len(middles))]
    angle, distance = rng.uniform(0, 2 * np.pi), rng.uniform(NEAREST, FARTHEST)
    while True:
        place = start + distance * np.array([np.cos(angle), np.sin(angle)])
        moved = _moved(person, place)
        if min(np.linalg.norm(place - middle) for middle in middles) >= NEAREST \
                and not _has_any(taken, _cells(moved)):
            return moved
        distance += STEP


def _moved(person: Person, place: np.ndarray) -> Person:
    """The person moved by (x, z), metres."""
    shift = np.array([place[0], 0, place[1]], np.float32)
    return replace(person, mesh=replace(person.mesh, vertices=person.mesh.vertices + shift),
                   keypoints=person.keypoints + shift)


def _cells(person: Person) -> np.ndarray:
    """(n,) numbers of the cells of space that hold vertices."""
    x, y, z = (np.floor(person.mesh.vertices / CLEARANCE).astype(np.int64) + _CELLS // 2).T
    return _distinct((x * _CELLS + y) * _CELLS + z)


def _around(cells: np.ndarray) -> np.ndarray:
    """The cells and their 26 neighbours."""
    near = np.arange(-1, 2)
    steps = ((near[:, None, None] * _CELLS + near[:, None]) * _CELLS + near).ravel()
    return _distinct((cells[:, None] + steps).ravel())


def _distinct(numbers: np.ndarray) -> np.ndarray:
    """Like ``np.unique``, which takes several times as long for hundreds of thousands of integers."""
    numbers = np.sort(numbers)
    return numbers[np.append(True, numbers[1:] != numbers[:-1])]


def _has_any(ordered: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether any of the numbers is among others, which are in order."""
    place = np.searchsorted(ordered, numbers)
    return bool((ordered[np.minimum(place, len(ordered) - 1)] == numbers).any())
