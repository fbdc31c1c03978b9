"""Facts of generated people: what their descriptions say, as far as it is seen in the picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import numpy as np

from projects.xtuner_llava.facts import (Person, Picture, Point, face_seen, from_left_to_right, in_picture, raised,
                                         shown)
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.utils.image_io import read_labels

# Shares of the picture below which a person, and a part or garment of a person, is not spoken of.
_PERSON_SEEN, _PART_SEEN = 0.005, 0.001

_PLACES = {'room': 'in a room', 'outdoor': 'outdoors', 'studio': 'in a studio', 'backdrop': 'in front of a backdrop'}
_DOES = {'stand': 'stands', 'sit': 'sits', 'walk': 'walks', 'bend': 'bends down', 'crouch': 'crouches',
         'reach': 'reaches out'}
_HAIR = {'short': 'short hair', 'long': 'long hair', 'bob': 'a bob', 'curly': 'curly hair', 'buzz': 'a buzz cut',
         'ponytail': 'a ponytail', 'bun': 'a bun'}
_EXPRESSIONS = {'neutral': 'is calm', 'smile': 'smiles', 'grin': 'grins', 'talk': 'talks', 'frown': 'frowns',
                'surprise': 'is surprised', 'shout': 'shouts', 'tongue': 'shows the tongue',
                'pucker': 'puckers the lips', 'sad': 'is sad', 'sneer': 'sneers'}
# Classes of which enough must be seen -> garments, the outermost first, of which one is spoken of.
_GARMENTS: dict[tuple[str, ...], dict[str, str]] = {
    ('Upper_Clothing',): {
        'dress': 'a dress', 'jacket': 'a jacket', 'sweater': 'a sweater', 'shirt': 'a shirt',
        'long sleeve': 'a long-sleeved top', 'tshirt': 'a T-shirt', 'tank top': 'a tank top', 'crop top': 'a crop top'},
    ('Lower_Clothing',): {
        'skirt': 'a skirt', 'shorts': 'shorts', 'cropped trousers': 'cropped trousers', 'leggings': 'leggings',
        'trousers': 'trousers'},
    ('Eyeglass',): {'glasses': 'glasses', 'sunglasses': 'sunglasses'},
    ('Left_Shoe', 'Right_Shoe'): {'sneakers': 'sneakers', 'boots': 'boots', 'shoes': 'shoes'},
}


def synth_pictures(root: Path, split: str) -> Iterator[Picture]:
    """The pictures of one split of a folder of ``sapiens2 synth``, in order.

    Of people, garments and hair only those are spoken of of whom enough is seen, and of expressions only those on
    faces that are seen.

    Args:
        split: 'train' or 'val'.

    Raises:
        DataError: naming the folder that holds no generated people, or the file that is damaged.
    """
    files = sorted((root / split / 'people').glob('*.json'))
    if not files:
        raise DataError(f'{root / split / "people"} holds no *.json: name a folder that `sapiens2 synth` has made')
    names, classes = (load_metainfo(table)[key] for table, key in (('sapiens308', 'keypoint_names'),
                                                                   ('seg29', 'classes')))
    for file in files:
        content = read_json(str(file))
        labels, instances = (read_labels(root / split / kind / f'{file.stem}.png') for kind in ('labels', 'instances'))
        try:
            people = [_person(person, _shares(labels, instances, person['instance'], classes), names, labels.shape)
                      for person in content['people'] if person['area'] >= _PERSON_SEEN * labels.size]
            place = _PLACES.get(content['scene']['place'])
        except (KeyError, TypeError) as error:
            raise DataError(f'{file}: it is no description of `sapiens2 synth` ({error!r}); make the set '
                            'anew') from error
        yield Picture(f'{split}/images/{file.stem}.jpg', from_left_to_right(people), place)


def _shares(labels: np.ndarray, instances: np.ndarray, instance: int, classes: list[str]) -> dict[str, float]:
    """Share of the picture of each class of one person."""
    counts = np.bincount(labels[instances == instance], minlength=len(classes))
    return dict(zip(classes, counts / labels.size))


def _person(person: dict[str, Any], seen: dict[str, float], names: list[str], size: tuple[int, int]) -> Person:
    points: dict[str, Point] = dict(zip(names, person['keypoints']))
    described, has_face = person['description'], face_seen(points)
    x, y, width, height = person['bbox']
    box = x / size[1], y / size[0], (x + width) / size[1], (y + height) / size[0]
    return Person(
        box=tuple(min(max(value, 0.0), 1.0) for value in box),
        shown=shown(points),
        face_seen=has_face,
        raised=raised(points),
        does=(_DOES.get(described['pose']['family'])
              if in_picture(points, 'hip') and in_picture(points, 'knee') else None),
        hair=_HAIR.get(described['hair']) if seen['Hair'] >= _PART_SEEN else None,
        expression=(_EXPRESSIONS.get(described['expression'])
                    if has_face and seen['Face_Neck'] >= _PERSON_SEEN else None),
        wears=tuple(filter(None, (_garment(described['wears'], texts) for classes, texts in _GARMENTS.items()
                                  if sum(seen[name] for name in classes) >= _PART_SEEN))),
    )


def _garment(wears: list[str], texts: dict[str, str]) -> Optional[str]:
    return next((text for name, text in texts.items() if name in wears), None)
