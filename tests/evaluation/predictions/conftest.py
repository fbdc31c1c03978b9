"""What the tests of predictions share."""

from __future__ import annotations

import pytest
from prediction_checks import Measure


@pytest.fixture
def measure(capsys: pytest.CaptureFixture) -> Measure:
    """Runs ``sapiens2 test CONFIG --predictions FOLDER``."""
    return Measure(capsys)
