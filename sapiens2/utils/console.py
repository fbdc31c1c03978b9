"""What a run shows on the screen: short lines on the error stream; its log file keeps everything."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from mmengine.logging import MMLogger

from sapiens2.utils.logging import FILE_ONLY

_MMENGINE_RUNNER = ('mmengine', 'runner', 'runner.py')


def is_of_use(record: logging.LogRecord) -> bool:
    """False for two warnings about parts of MMEngine which MMEngine's own hook for checkpoints makes and never uses."""
    return '"FileClient" will be deprecated' not in str(record.msg) and '"HardDiskBackend" is' not in str(record.msg)


def is_for_console(record: logging.LogRecord) -> bool:
    """False for what MMEngine's runner says of itself (environment, config, order of hooks), unless it is a warning,
    and for what is marked ``FILE_ONLY``."""
    if any(hasattr(record, name) for name in FILE_ONLY):
        return False
    return record.levelno > logging.INFO or Path(record.pathname).parts[-3:] != _MMENGINE_RUNNER


class ConsoleFormatter(logging.Formatter):
    """Time and text, which is the attribute ``brief`` of a record that has one; the level only where it matters."""

    def __init__(self) -> None:
        super().__init__('%(asctime)s  %(message)s', '%H:%M:%S')

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = getattr(record, 'brief', record.message)
        if record.levelno > logging.INFO:
            record.message = f'{record.levelname}: {record.message}'
        return super().formatMessage(record)


class ConsoleHandler(logging.StreamHandler):
    """Shows records on the error stream; results on the output stream stay free of them.

    A reader that has gone (``sapiens2 train ... 2>&1 | tee``, all stopped together) is no fault of the run, which goes
    on to save what it has; the log file has the lines.
    """

    def __init__(self, level: int) -> None:
        super().__init__(sys.stderr)
        self.setLevel(level)
        self.setFormatter(ConsoleFormatter())
        self.addFilter(is_for_console)

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            super().handleError(record)


def shorten_console(logger: MMLogger) -> None:
    """Let ``logger`` show what ``is_for_console``, and its files hold all that ``is_of_use``."""
    logger.addFilter(is_of_use)
    for handler in logger.handlers:
        # MMEngine opens its log in the encoding of the locale, which may lack what names and messages hold.
        if isinstance(handler, logging.FileHandler) and handler.stream is not None:
            handler.stream.reconfigure(encoding='utf-8', errors='backslashreplace')
    logger.handlers = [
        ConsoleHandler(handler.level) if type(handler) in (logging.StreamHandler, ConsoleHandler) else handler
        for handler in logger.handlers]
