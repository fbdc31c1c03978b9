"""Building of parts that another OpenMMLab package defines."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torch import nn

from sapiens2.registry import MODELS


def build_part(cfg: dict[str, Any]) -> nn.Module:
    """Build a part such as ``dict(type='mmpose.HRNet', ...)``; names inside it are those of its own package.

    Without the scope, a head of MMSegmentation would get the ``CrossEntropyLoss`` of sapiens2, which has the same name
    and other arguments.

    Raises:
        ValueError: if the type does not name its package.
        ImportError: if the package is not installed, or is none of OpenMMLab's kind.
    """
    package, _, name = str(cfg.get('type')).rpartition('.')
    if not package:
        raise ValueError(f"type={name!r} must say which package has it: 'mmpose.{name}' for instance")
    try:
        import_module(f'{package}.registry')
    except ModuleNotFoundError as error:
        raise ImportError(f'{cfg["type"]} needs {package} and its registry ({error}): run tools/setup_baselines.sh and '
                          'use its environment') from error
    return MODELS.build({**cfg, '_scope_': package})
