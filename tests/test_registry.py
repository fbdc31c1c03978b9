"""Unknown names are answered with the nearest known ones."""

from __future__ import annotations

import pytest

from sapiens2.registry import MODELS
from sapiens2.utils.suggest import nearest, unknown_name


def test_unknown_component_offers_the_nearest():
    with pytest.raises(KeyError, match="Did you mean 'Sapiens2'"):
        MODELS.build(dict(type='Sapien2'))
    assert 'Sapiens2' in MODELS and 'Sapien2' not in MODELS


def test_components_of_mmengine_are_found_through_the_parent():
    assert MODELS.get('ImgDataPreprocessor').__module__.startswith('mmengine')


def test_nearest_ignores_case_and_orders_by_likeness():
    assert nearest('SAPIENS2_1B', ['sapiens2_5b', 'sapiens2_1b'])[0] == 'sapiens2_1b'
    assert unknown_name('x', [], 'task') == "unknown task: 'x'."
    assert 'Known: pose, seg.' in unknown_name('zzz', ['seg', 'pose'], 'task')
