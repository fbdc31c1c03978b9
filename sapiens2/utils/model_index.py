"""The index of released weights: which files there are, where, and under which licence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import yaml

from sapiens2.utils.suggest import UnknownNameError, unknown_name

INDEX = Path(__file__).resolve().parents[1] / 'models' / 'checkpoints' / 'model-index.yml'


@dataclass(frozen=True)
class Release:
    """One set of weights.

    Attributes:
        name: as in ``sapiens2 zoo``.
        family: 'Sapiens2' or 'Sapiens' (v1).
        task: 'pretrain' for a bare backbone.
        size: '1b' for instance.
        released: whether the authors published it.
        parameters: backbone and decoder; None if not known.
        repository: on huggingface.co; None if not released.
        file: in the repository.
        url: of the file.
        code_license, weights_license: of the authors' program and of the weights.
        license_url: their text.
        config: config file of this project that the weights load into; None for bare backbones and what has none.
        note: what else there is to know.
    """

    name: str
    family: str
    task: str
    size: str
    released: bool
    parameters: Optional[int]
    repository: Optional[str]
    file: Optional[str]
    url: Optional[str]
    code_license: str
    weights_license: Optional[str]
    license_url: str
    config: Optional[str]
    note: Optional[str]


def load_model_index() -> list[Release]:
    """All sets of weights, those included that were announced or have a recipe but were never released."""
    index = yaml.safe_load(INDEX.read_text(encoding='utf-8'))
    licenses = {collection['Name']: collection['License'] for collection in index['Collections']}
    return [_release(entry, licenses[entry['In Collection']]) for entry in index['Models']]


def _release(entry: dict, license: dict[str, str]) -> Release:
    released = entry['Released']
    return Release(
        name=entry['Name'], family=entry['In Collection'], task=entry['Task'], size=entry['Size'], released=released,
        parameters=entry.get('Metadata', {}).get('Parameters'), repository=entry.get('Repository'),
        file=entry.get('File'), url=entry.get('Weights'), code_license=license['Code'],
        weights_license=license['Weights'] if released else None, license_url=license['URL'],
        config=entry.get('Config'), note=entry.get('Note'))


def find_release(name: str) -> Release:
    """The set of weights called ``name``.

    Raises:
        UnknownNameError: if there is none; the nearest names are offered.
    """
    index = {release.name: release for release in load_model_index()}
    if name not in index:
        raise UnknownNameError(unknown_name(name, index, 'set of weights'))
    return index[name]
