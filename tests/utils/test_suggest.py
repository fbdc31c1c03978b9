"""Unknown names: what the error says, and that one rule holds for all parts of the package."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
import torch

from sapiens2.utils.task_models import check_task, task_config
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.evaluation.metrics import CocoPoseMetric
from sapiens2.models.backbones import Sapiens2
from sapiens2.registry import MODELS
from sapiens2.utils.devices import pick_device, pick_dtype
from sapiens2.utils.model_index import find_release
from sapiens2.utils.suggest import UnknownNameError, check_names, unknown_name


@pytest.mark.parametrize('look_up', [
    lambda: check_task('posse'), lambda: task_config('seg', 'sapiens2_2b'), lambda: load_metainfo('seg30'),
    lambda: CocoPoseMetric(mode='coco'), lambda: Sapiens2(arch='sapiens2_1c'), lambda: MODELS.get('Sapiens3'),
    lambda: pick_device('gpu'), lambda: pick_dtype('float33', torch.device('cpu')), lambda: find_release('sapiens2_1b'),
])
def test_unknown_names_raise_one_error(look_up: Callable[[], object]) -> None:
    with pytest.raises(UnknownNameError, match='unknown .*(Did you mean|Known)') as caught:
        look_up()
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, ValueError)


def test_the_text_is_plain_and_survives_a_worker_process() -> None:
    error = UnknownNameError(unknown_name('ab', ['abc', 'x'], 'name'))
    expected = "unknown name: 'ab'. Did you mean 'abc'? Known: abc, x."
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == expected


def test_names_of_options_are_checked() -> None:
    check_names(iter(['a']), iter(['a', 'b']), 'here')
    with pytest.raises(UnknownNameError, match="here: unknown argument: 'ac'.*Known: a, b"):
        check_names(['b', 'ac'], iter(['a', 'b']), 'here', 'argument')
