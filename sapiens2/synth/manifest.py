"""The note of what a folder of generated samples was made with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.utils.atomic import atomic_path

# Options of the command that are not called like their entries.
_OPTIONS = {'focal_lengths': 'focal'}


def note_options(path: Path, options: Mapping[str, Any], versions: Mapping[str, str]) -> None:
    """Note options and versions of packages in a manifest, or compare the options with those that are noted.

    Raises:
        DataError: if other options are noted, another generation of the generator, or the file is no manifest.
    """
    manifest: dict[str, Any] = {'options': dict(options), 'versions': []}
    if path.exists():
        manifest = _read(path, options)
        _compare(path, manifest, options)
    if dict(versions) not in manifest['versions']:
        manifest['versions'].append(dict(versions))
        with atomic_path(path) as partial:
            partial.write_text(json.dumps(manifest, indent=2), encoding='utf-8')


def _read(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    remedy = 'give another folder, or delete this one to make it again'
    try:
        manifest = read_json(str(path))
    except DataError as error:
        raise DataError(f'{error}; {remedy}') from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get('options'), dict) \
            or not isinstance(manifest.get('versions'), list) or manifest['options'].get('format') != options['format']:
        raise DataError(f'{path} is no manifest of generated samples; {remedy}')
    return manifest


def _compare(path: Path, manifest: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    noted = manifest['options']
    if noted.get('generation') != options['generation']:
        releases = sorted({str(versions.get('sapiens2')) for versions in manifest['versions']
                           if isinstance(versions, dict)})
        raise DataError(
            f'{path}: the samples in this folder are of generation {noted.get("generation")!r} of the generator, and '
            f'this release makes generation {options["generation"]}, other pictures for the same seed. The folder can '
            f'be trained on as it is; to add to it, use the release that made it (sapiens2 '
            f'{" or ".join(releases) or "unknown"}), or give another folder')
    others = [name for name, value in options.items() if noted.get(name) != value]
    if others:
        differences = ', '.join(f'{name} is {_text(noted.get(name))} (asked for: {_text(options[name])})'
                                for name in others)
        raise DataError(f'{path}: the samples in this folder were made with other options: {differences}. To add to '
                        f'them, give {_to_type({name: noted.get(name) for name in others})}; for the options asked '
                        'for, give another folder')


def _text(value: Any) -> str:
    if isinstance(value, Mapping):  # backgrounds
        return f'{value.get("number")} pictures ({str(value.get("sha256"))[:8]})'
    if isinstance(value, list):
        return ' '.join(map(_text, value))
    return f'{value:g}' if isinstance(value, float) else 'none' if value is None else str(value)


def _to_type(noted: Mapping[str, Any]) -> str:
    """The options of the command that make these entries what is noted."""
    parts = [' '.join(f'--{_OPTIONS.get(name, name.replace("_", "-"))} {_text(value)}' for name, value in noted.items()
                      if name != 'backgrounds')]
    if 'backgrounds' in noted:
        parts.append('no --backgrounds' if noted['backgrounds'] is None
                     else '--backgrounds with the folder of those pictures')
    return ' and '.join(filter(None, parts))
