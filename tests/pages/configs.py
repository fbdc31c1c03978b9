"""Configs that pages show whole."""

from __future__ import annotations

from mmengine.config import Config

from sapiens2.utils.config import load_config


def load(path: str) -> int:
    """0; raises what is wrong with a config, whose names and arguments are checked if it is that of a run."""
    if 'model' in Config.fromfile(path):
        load_config(path)
    return 0
