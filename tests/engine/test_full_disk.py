"""When a run ends because of a full disk, nothing is said after its error."""

from __future__ import annotations

import threading

import pytest

from sapiens2.engine.full_disk import error_comes_last


class Failing:
    """Closes as TensorBoard does on a full disk: its thread fails, and so does what waits for it."""

    closed = 0

    def close(self) -> None:
        self.closed += 1
        thread = threading.Thread(target=self.write)
        thread.start()
        thread.join()
        self.write()

    def write(self) -> None:
        raise OSError(28, 'No space left on device')


def test_writers_are_closed_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    writer, hook = Failing(), threading.excepthook
    with pytest.raises(OSError, match='the message'), error_comes_last(writer):
        raise OSError('the message')
    assert writer.closed == 1 and threading.excepthook is hook
    assert capfd.readouterr().err == ''


def test_other_ends_close_nothing() -> None:
    writer = Failing()
    with error_comes_last(writer):
        pass
    with pytest.raises(ValueError), error_comes_last(writer):
        raise ValueError
    assert writer.closed == 0
