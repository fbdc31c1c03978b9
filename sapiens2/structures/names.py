"""How errors call a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from sapiens2.structures.data_sample import DataSample


def sample_name(sample: Union[DataSample, Mapping[str, Any], None], index: int) -> str:
    """The sample's id, else its image path, else its place in the batch."""
    known = {} if sample is None else sample
    return str(known.get('sample_id') or known.get('img_path') or f'sample {index} of the batch')
