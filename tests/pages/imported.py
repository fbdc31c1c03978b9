"""What most programs of the pages import: whatever takes a second of each start."""

from __future__ import annotations

import cv2  # noqa: F401
import mmengine.runner  # noqa: F401
import torch  # noqa: F401

import sapiens2.apis  # noqa: F401
import sapiens2.engine.launch  # noqa: F401
import sapiens2.models.backbones.sapiens2 as sapiens2_backbone
from pages import configs, givens, installs, serving, shrink  # noqa: F401
from sapiens2.cli.main import build_parser
from sapiens2.registry import register_all
from sapiens2.utils import paths

build_parser()
register_all()
# Large models by name are as small as in the small configs of the reader's folder, where models by name are found.
for name in shrink.LARGE:
    sapiens2_backbone.ARCHS[name] = sapiens2_backbone.ARCHS['sapiens2_tiny']
paths._PACKAGE = paths.Path('.')
