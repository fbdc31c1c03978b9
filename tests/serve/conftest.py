"""A server with untrained tiny networks, and pictures to bring to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from processes import free_port

from sapiens2.serve import ServeSettings, network_specs

LONGEST_BYTES, MOST_PIXELS = 400_000, 250_000


@pytest.fixture(scope='module')
def settings() -> ServeSettings:
    return ServeSettings(network_specs(['tiny'], ['random']), port=free_port(), device='cpu', dtype='fp32',
                         max_bytes=LONGEST_BYTES, max_pixels=MOST_PIXELS)


@pytest.fixture(scope='module')
def server(settings: ServeSettings) -> Iterator[str]:
    """Its address."""
    pytest.importorskip('gradio', reason='sapiens2[serve] is not installed')
    from sapiens2.serve.server import serving
    with serving(settings) as url:
        yield url


@pytest.fixture
def make_photo(tmp_path: Path) -> Callable[[str, int, int], Path]:
    """Writes a picture of blurred noise with this name, width and height."""
    def write(name: str, width: int, height: int) -> Path:
        noise = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
        assert cv2.imwrite(str(tmp_path / name), cv2.GaussianBlur(noise, (0, 0), 5))
        return tmp_path / name

    return write
