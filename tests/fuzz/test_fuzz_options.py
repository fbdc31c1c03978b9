"""Whatever ``--cfg-options`` says, the result is a configuration that was checked, or an error of the user's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from fuzz.budget import fuzz, outcome
from hypothesis import given
from hypothesis import strategies as st

from sapiens2.cli.run_options import option
from sapiens2.utils.config import ConfigError, apply_options, check_config, load_config
from sapiens2.utils.run_config import RunConfig

CONFIG = Path(__file__).parents[2] / 'configs/seg/sapiens2-0.1b_seg_folder-1024x768.py'
KEYS = st.sampled_from([
    'model', 'model.backbone', 'model.backbone.arch', 'model.backbone.img_size', 'model.decode_head.type', 'data_root',
    'train_dataloader', 'train_dataloader.batch_size', 'train_dataloader.dataset.pipeline.0.type',
    'train_dataloader.dataset.pipeline.99', 'optim_wrapper.optimizer.lr', 'default_hooks.checkpoint.interval',
    'train_cfg.max_iters', 'param_scheduler', 'param_scheduler.0', 'custom_hooks', 'visualizer', 'val_evaluator',
    'strategy', 'fine_tuning', 'load_from', 'resume', 'randomness.seed', 'env_cfg', 'default_scope', 'custom_imports'])
VALUES = st.one_of(
    st.sampled_from(['None', 'true', '[]', '{}', '()', '-1', '1e999', 'nan', "dict(type='X')", '[1,[2,[3]]]', '{[]: 1}',
                     "{'type': 'Nothing'}", '[' * 300, '9' * 5000, '\0', "__import__('os')", '{1: 2}', "b'x'", '1j']),
    st.text(max_size=12), st.integers().map(str), st.floats().map(str),
    st.recursive(st.none() | st.integers() | st.text(max_size=4),
                 lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
                 max_leaves=5).map(repr))


@fuzz(300)
@given(st.one_of(st.text(max_size=40), st.builds('{}={}'.format, KEYS | st.text(max_size=8), VALUES)))
def test_texts_of_options(text: str) -> None:
    parsed = outcome(lambda: option(text), argparse.ArgumentTypeError)
    assert parsed is None or isinstance(parsed[0], str) and parsed[0]


@pytest.fixture(scope='module')
def config() -> RunConfig:
    return load_config(CONFIG)


@fuzz(40)
@given(options=st.dictionaries(KEYS | st.text(min_size=1, max_size=5), VALUES, min_size=1, max_size=2))
def test_options_of_a_config(config: RunConfig, options: dict[str, str]) -> None:
    parsed = [outcome(lambda: option(f'{key}={value}'), argparse.ArgumentTypeError) for key, value in options.items()]
    changed = config.copy()

    def apply() -> Any:
        apply_options(changed, dict(pair for pair in parsed if pair))
        check_config(changed)

    outcome(apply, ConfigError)


def test_values_that_break_the_parser() -> None:
    assert option('a={[]: 1}') == ('a', '{[]: 1}')
    with pytest.raises(argparse.ArgumentTypeError, match='nested too deeply'):
        option('a=' + '-' * 100_000 + '1')
