"""Facts as conversations in LLaVA's format: a caption, or questions with answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from projects.xtuner_llava.facts import Person, Picture

IMAGE = '<image>'  # stands for the picture in a question
_DESCRIBE = ('Describe the picture.', 'What is in the picture?', 'Who is in the picture?')
_NUMBERS = ('nobody', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve')
_ORDER = ('first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth')
_MOST_TURNS, _MOST_DESCRIBED = 4, 4

Turn = tuple[str, str]  # question, answer


def caption_record(picture: Picture) -> dict[str, Any]:
    """One question for a description, and the description."""
    return _record(picture, [(_random_of(picture).choice(_DESCRIBE), describe(picture))])


def dialogue_record(picture: Picture) -> dict[str, Any]:
    """How many people there are, and up to three more questions, the same in every run."""
    counted, *others = turns(picture)
    chance = _random_of(picture)
    return _record(picture, [counted, *chance.sample(others, min(len(others), _MOST_TURNS - 1))])


def _random_of(picture: Picture) -> random.Random:
    return random.Random(picture.file)


def _record(picture: Picture, turns_of_it: list[Turn]) -> dict[str, Any]:
    spoken = []
    for number, (question, answer) in enumerate(turns_of_it):
        spoken.append({'from': 'human', 'value': f'{IMAGE}\n{question}' if number == 0 else question})
        spoken.append({'from': 'gpt', 'value': answer})
    return {'id': picture.file, 'image': picture.file, 'conversations': spoken}


def describe(picture: Picture) -> str:
    """A sentence on the picture, and one on each of the first four people from the left."""
    sentences = [' '.join(filter(None, (count_text(len(picture.people)).capitalize(), picture.place))) + '.']
    for number, person in enumerate(picture.people[:_MOST_DESCRIBED]):
        said = _said(person)
        if said:
            sentences.append(f'{_name(number, picture).capitalize()} {_listed(said)}.')
    return ' '.join(sentences)


def _said(person: Person) -> list[str]:
    found = [person.does or ('is ' + person.where)]
    if person.shown:
        found.append(f'is shown {person.shown}' if person.shown.startswith('from') else f'shows {person.shown}')
    if person.hair:
        found.append(f'has {person.hair}')
    if person.wears:
        found.append(f'wears {_listed(person.wears)}')
    return found


def turns(picture: Picture) -> Iterator[Turn]:
    """Every question that the facts answer, the number of people first."""
    many = len(picture.people)
    yield 'How many people are in the picture?', f'There {"are" if many > 1 else "is"} {count_text(many)}.'
    if picture.place:
        yield 'Where was the picture taken?', f'{picture.place.capitalize()}.'
    for number, person in enumerate(picture.people[:_MOST_DESCRIBED]):
        yield from _turns_on(_name(number, picture), person)


def _turns_on(name: str, person: Person) -> Iterator[Turn]:
    subject, box = name.capitalize(), ', '.join(f'{value:.2f}' for value in person.box)
    yield f'Where is {name}?', f'{subject} is {person.where}, in the box [{box}].'
    if person.shown:
        yield f'How much of {name} is in the picture?', f'{person.shown.capitalize()}.'
    if person.face_seen is not None:
        yield f'Is the face of {name} seen?', 'Yes.' if person.face_seen else 'No.'
    if person.raised is not None:
        yield f'Which hands has {name} raised above the shoulders?', _raised_text(person.raised)
    if person.does:
        yield f'What does {name} do?', f'{subject} {person.does}.'
    if person.wears:
        yield f'What does {name} wear?', f'{subject} wears {_listed(person.wears)}.'
    if person.hair:
        yield f'What hair has {name}?', f'{subject} has {person.hair}.'
    if person.expression:
        yield f'What does the face of {name} say?', f'{subject} {person.expression}.'


def count_text(count: int) -> str:
    """'nobody', 'one person', 'two people'; digits above twelve."""
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    return number if count == 0 else f'{number} {"person" if count == 1 else "people"}'


def _raised_text(sides: tuple[str, ...]) -> str:
    return ('None.', f'The {"".join(sides)} hand.', 'Both hands.')[len(sides)]


def _name(number: int, picture: Picture) -> str:
    return 'the person' if len(picture.people) == 1 else f'the {_ORDER[number]} person from the left'


def _listed(items: tuple[str, ...] | list[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return ' and '.join(filter(None, (', '.join(items[:-1]), items[-1])))
