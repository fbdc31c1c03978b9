"""Weights that come with the package, so that something works at once and without a network: see README.md here."""

from __future__ import annotations

from pathlib import Path
from typing import Optional


def embedded_weights(task: str, model: str) -> Optional[Path]:
    """The file of ``model`` ('sapiens2_tiny') for ``task`` in this package, None if the package has none."""
    file = Path(__file__).parent / f'{model}_{task}.safetensors'
    return file if file.is_file() else None
