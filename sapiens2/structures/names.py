"""How errors call a sample."""

from __future__ import annotations

from typing import Optional

from sapiens2.structures.data_sample import DataSample


def sample_name(sample: Optional[DataSample], index: int) -> str:
    """The sample's id, else its image path, else its place in the batch."""
    known = sample.metainfo if sample is not None else {}
    return str(known.get('sample_id') or known.get('img_path') or f'sample {index} of the batch')
