"""The screen shows a short log; the file has all of it."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.logging import MMLogger, print_log

from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.summary import brief_figures, describe_model
from sapiens2.utils.console import ConsoleHandler, shorten_console
from sapiens2.utils.light_imports import import_mmengine

ConfigMaker = Callable[..., Config]


def test_environment_and_config_go_to_the_file_alone(toy_cfg: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    runner = Sapiens2Runner.from_cfg(toy_cfg(log_level='INFO'))
    runner.train()
    shown = capsys.readouterr()
    assert shown.out == ''
    log, = Path(runner.work_dir).glob('*/*.log')
    kept = log.read_text(encoding='utf-8')
    for text in ('System environment', 'Hooks will be executed', 'optim_wrapper = dict('):
        assert text in kept and text not in shown.err
    for text in (f'Log: {log}', 'ToyModel: 5 parameters', 'Weights: initial values of the config',
                 'Data: 10 training samples, 10 validation samples', 'Iter(train) [6/6]'):
        assert text in shown.err
    assert len(shown.err.splitlines()) < 20


def test_test_says_what_it_measures(toy_cfg: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    weights = str(Path(Sapiens2Runner.from_cfg(toy_cfg()).train() and toy_cfg().work_dir, 'iter_6.pth'))
    cfg = toy_cfg('test', log_level='INFO', load_from=weights)
    cfg.test_dataloader, cfg.test_evaluator, cfg.test_cfg = cfg.val_dataloader, cfg.val_evaluator, dict()
    capsys.readouterr()
    Sapiens2Runner.from_cfg(cfg).test()
    shown = capsys.readouterr()
    assert shown.out == '' and f'{weights} (' in shown.err and 'Data: 10 test samples' in shown.err


def test_reader_that_has_gone_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    handler = ConsoleHandler(logging.INFO)
    handler.setStream(Closed())
    handler.handle(logging.LogRecord('x', logging.INFO, 'here.py', 1, 'text', (), None))
    assert capsys.readouterr().err == ''


def test_log_has_all_characters_in_any_locale(tmp_path: Path) -> None:
    logger = MMLogger('locale')
    logger.addHandler(logging.FileHandler(tmp_path / 'run.log', encoding='ascii'))  # what LC_ALL=C makes of it
    shorten_console(logger)
    logger.handlers[-1].handle(logging.LogRecord('x', logging.INFO, 'here.py', 1, '写真 \udcc3.png', (), None))
    assert '写真 \\udcc3.png' in (tmp_path / 'run.log').read_text(encoding='utf-8')


def test_figures_of_classes_are_left_out_of_the_line() -> None:
    assert brief_figures({'seg/mIoU_percent': 12.34567, 'seg/IoU_percent/Hair': 1.0}) \
        == 'seg/mIoU_percent 12.35 (1 more in the log file)'
    assert brief_figures({str(number): number for number in range(9)}).endswith('7 7 (1 more in the log file)')


def test_a_divided_model_has_its_name() -> None:
    class FSDPPoseHeatmapHead(torch.nn.Module):
        pass

    class FSDPToy(torch.nn.Module):
        pass

    model = FSDPToy()
    assert describe_model(model, {}) == 'Toy: 0 parameters'
    model.decode_head = FSDPPoseHeatmapHead()
    assert describe_model(model, {}) == 'pose: 0 parameters'


def test_log_outside_of_a_run_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    import_mmengine()
    print_log('something', logger='current')
    shown = capsys.readouterr()
    assert shown.out == '' and shown.err.endswith('  something\n') and 'mmengine' not in shown.err
