"""Takes fields out of evaluated samples, with errors that name the sample and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapiens2.structures.names import sample_name
from sapiens2.utils.suggest import UnknownNameError, unknown_name

Sample = Mapping[str, Any]
_REMEDIES = {
    'eval_fields': 'load the ground truth of the validation set with LoadFields(for_eval=True)',
    'pred_fields': 'the model must predict it',
    'gt_instances': "the validation set must carry it; detected boxes (bbox_file) have no key points, so give "
                    "CocoPoseMetric(ann_file=...)",
    'pred_instances': 'the model must predict it',
}


def take(sample: Sample, index: int, part: str, name: str) -> Any:
    """Field ``name`` of ``part`` of a sample.

    Args:
        sample: as a dictionary, as MMEngine's evaluator gives it.
        index: its place in the batch.
        part: 'eval_fields', 'pred_fields', 'gt_instances' or 'pred_instances'.
        name: of the field.

    Raises:
        UnknownNameError: naming sample, field and remedy.
    """
    fields = sample.get(part, {})
    if name not in fields:
        raise UnknownNameError(f'{sample_name(sample, index)}: {part} ' + unknown_name(name, fields, 'field')
                               + f' It must have {name!r}: {_REMEDIES[part]}')
    return fields[name]
