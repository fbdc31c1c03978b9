"""The numbers of the released program (``data/golden/README.md``), one test a case.

Set SAPIENS2_GOLDEN to another folder of the same format to run its cases.
"""

from __future__ import annotations

import pytest
from golden_cases import CASES
from golden_checks import check


@pytest.mark.parametrize('name', CASES)
def test_golden(name):
    check(name, CASES[name])
