"""What a source says of an image beside its content: JSON and text files, as img2dataset writes them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from typing import Any, BinaryIO

from sapiens2.utils.image_errors import ImageReadError

JSON, TEXT = 'json', 'txt'
# What the content of a text file is called, unless the JSON file has it too.
CAPTION = 'caption'


def sample_name(name: str) -> str:
    """Of a member or file: what comes before the first dot behind the last slash, as WebDataset has it."""
    folder, slash, base = name.rpartition('/')
    return folder + slash + base.partition('.')[0]


def fields_of(contents: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Fields of an image.

    Args:
        contents: of the files beside it, by ``JSON`` and ``TEXT``.
        name: of the image, for errors.

    Raises:
        ImageReadError: if one is damaged.
    """
    fields: dict[str, Any] = {}
    try:
        if JSON in contents:
            fields = json.loads(contents[JSON])
        if TEXT in contents:
            text = contents[TEXT].decode('utf-8')
            if isinstance(fields, dict):
                fields.setdefault(CAPTION, text)
    except (ValueError, RecursionError) as error:  # of JSON, that is nested too deeply too, and of UTF-8
        raise ImageReadError(name, f'the metadata beside it cannot be read: {error}') from error
    if not isinstance(fields, dict):
        raise ImageReadError(name, f'the JSON file beside it holds {type(fields).__name__}, not an object with fields')
    return fields


def text_members(file: BinaryIO) -> dict[tuple[str, str], tuple[int, int]]:
    """Sample and ending -> offset and size, bytes, of the JSON and text files in a tar file."""
    found = {}
    file.seek(0)
    with tarfile.open(fileobj=file, mode='r:') as tar:
        while (member := tar.next()) is not None:
            tar.members = []  # it would keep all
            ending = member.name.rpartition('.')[2].lower()
            if member.isreg() and ending in (JSON, TEXT):
                found[sample_name(member.name), ending] = member.offset_data, member.size
    return found
