"""What the source says of images: addresses, captions, and scores that others have made, as in LAION's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from sapiens2.curation.columns import METADATA, NAME, Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES
from sapiens2.utils.suggest import unknown_name

# Column -> its type, its meaning, and the fields that it is taken from: the first that is there, in any case.
LAION: dict[str, tuple[str, str, tuple[str, ...]]] = {
    'url': ('string', 'address the image comes from', ('url',)),
    'caption': ('string', 'text that stood beside it', ('caption', 'text', 'alt_text')),
    'width': ('int32', 'as the source has it, pixels', ('original_width', 'width')),
    'height': ('int32', 'as the source has it, pixels', ('original_height', 'height')),
    'pwatermark': ('float32', 'probability of a watermark', ('pwatermark', 'watermark_score')),
    'punsafe': ('float32', 'probability that it is not safe for work', ('punsafe', 'unsafe_score')),
    'nsfw': ('string', "what the source calls it: 'UNLIKELY', 'UNSURE', 'NSFW'", ('nsfw',)),
    'aesthetic': ('float32', 'score of beauty', ('aesthetic', 'aesthetic_score', 'aesthetics')),
    'similarity': ('float32', 'of image and caption by CLIP', ('similarity', 'clip_similarity')),
    'license': ('string', 'as the source has it', ('license', 'licence')),
}
TYPES = {'string': str, 'float32': float, 'int32': int, 'int64': int, 'bool': bool}
# What does not fit into a column would end the run when its table is written.
_LARGEST = {'int32': 2**31, 'int64': 2**63, 'float32': float.fromhex('0x1.ffffffp127')}
_TRUTH = {'true': True, 'false': False, '1': True, '0': False, 1: True, 0: False}
_NOT_SINGLE = (list, tuple, dict, bytes)


@CURATION_STAGES.register_module()
class Metadata(Stage):
    """Takes fields of the source as columns, whose names begin with ``prefix``. It is best the first stage.

    Fields are columns of a Parquet file, and entries of JSON files beside the images, in folders and in tar files; a
    text file (.txt) there is the caption. What an image lacks is missing. A field that is not of its type puts the
    image in quarantine.

    Args:
        fields: more fields -> 'string', 'float32', 'int32', 'int64' or 'bool'; besides those of ``LAION``.
        prefix: of the columns, so that they are not taken for what is measured here.
        kwargs: of ``Stage``.
    """

    inputs = (METADATA,)

    def __init__(self, fields: Optional[Mapping[str, str]] = None, prefix: str = 'meta_', **kwargs: Any) -> None:
        super().__init__(**kwargs)
        table = dict(LAION)
        for name, kind in (fields or {}).items():
            if kind not in TYPES:
                raise ValueError(f'Metadata.fields.{name}: ' + unknown_name(kind, TYPES, 'type'))
            table[name.lower()] = (kind, f'field {name} of the source', (name.lower(),))
        self.table = {f'{prefix}{name}': entry for name, entry in table.items()}
        self.outputs = {name: Column(kind, meaning) for name, (kind, meaning, _) in self.table.items()}
        self._asked_for = [f'{prefix}{name.lower()}' for name in fields or {}]

    def asked_for(self) -> Sequence[str]:
        return self._asked_for

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            fields = {name.lower(): value for name, value in record[METADATA].items()}
            for column, (kind, _, names) in self.table.items():
                value = next((fields[name] for name in names if fields.get(name) is not None), None)
                record[column] = _converted(value, kind, column, record[NAME])


def _converted(value: Any, kind: str, column: str, name: str) -> Any:
    """The value as its column has it; None stays."""
    # pandas stores what is missing as NaN, in columns of any type.
    if value is None or value != value or value == '' and kind != 'string':
        return None
    try:
        if kind == 'bool':
            return _TRUTH[value.strip().lower() if isinstance(value, str) else value]
        if isinstance(value, _NOT_SINGLE) or isinstance(value, bool) and kind != 'string':
            raise TypeError(f'is no {kind}')
        if kind != 'string' and float(value) != float(value):
            return None
        converted = _whole(value) if kind.startswith('int') else TYPES[kind](value)
        if kind in _LARGEST and not -_LARGEST[kind] <= converted < _LARGEST[kind]:
            raise ValueError(f'more than {kind} holds')
        if kind == 'string':
            converted.encode()  # half of a character, which JSON can hold, is no text in a table
        return converted
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError(f'{name}: its metadata have {value!r} for {column}, which is no {kind}') from error


def _whole(value: Any) -> int:
    """A whole number; one that is written as one is not rounded to the 53 bits of a float."""
    text = value.strip().lstrip('+-') if isinstance(value, str) else ''
    if isinstance(value, int) or text.isdecimal():
        return int(value)
    if not float(value).is_integer():
        raise ValueError('has a fraction')
    return int(float(value))
