"""What a run works on, in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

from torch import nn
from torch.utils.data import DataLoader

from sapiens2.utils.tasks import HEAD_OF_TASK

_SHOWN = 8  # figures on one line


def describe_model(model: nn.Module, config: Mapping[str, Any]) -> str:
    """Task, backbone, size of the input, and how many parameters there are and are trained.

    Args:
        model: without a wrapper.
        config: ``model`` of the run's config.
    """
    # torch's fully_shard gives what it divides a class of its own.
    head, name = (type(part).__name__.removeprefix('FSDP') for part in (getattr(model, 'decode_head', None), model))
    task = next((task for task, of_task in HEAD_OF_TASK.items() if of_task == head), name)
    backbone = config.get('backbone') or {}
    words = [task]
    if backbone:
        arch = backbone.get('arch') or backbone.get('model_name')
        words.append(arch if isinstance(arch, str) else str(backbone.get('type')))
    if backbone.get('img_size'):
        words.append('x'.join(map(str, backbone['img_size'])) + ' (H x W)')
    total = sum(parameter.numel() for parameter in model.parameters())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return f'{", ".join(words)}: {total:,} parameters' + (f', {trained:,} of them trained' if trained < total else '')


def describe_data(loaders: Mapping[str, Optional[DataLoader]]) -> str:
    """Samples of each split that there is, by its name."""
    return 'Data: ' + ', '.join(_counts(loaders))


def _counts(loaders: Mapping[str, Optional[DataLoader]]) -> Iterator[str]:
    for name, loader in loaders.items():
        if loader is not None:
            yield f'{len(loader.dataset):,} {name} samples'


def brief_figures(metrics: Mapping[str, float]) -> str:
    """The first figures of the whole set on one line; names of those of single classes have one more part."""
    of_all = [f'{name} {value:.4g}' for name, value in metrics.items() if name.count('/') < 2]
    more = len(metrics) - len(of_all[:_SHOWN])
    return ', '.join(of_all[:_SHOWN]) + (f' ({more} more in the log file)' if more > 0 else '')
