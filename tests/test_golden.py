"""The numbers of the released program (``data/golden/README.md``), one test a case.

Set SAPIENS2_GOLDEN to another folder of the same format to run its cases.
"""

from __future__ import annotations

import pytest
from golden_cases import CASES
from golden_checks import OPEN_FIGURES, check, check_metrics

OPEN = pytest.mark.xfail(strict=True, reason=f'not understood yet: {", ".join(OPEN_FIGURES)}')


@pytest.mark.parametrize('name', [pytest.param(name, marks=OPEN if name == 'metrics' else ()) for name in CASES])
def test_golden(name):
    check(name, CASES[name])


def test_golden_metrics_without_the_open_figures():
    check_metrics('metrics', CASES['metrics'], include_open=False)
