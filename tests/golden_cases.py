"""How the golden cases are rebuilt: weights and inputs from formulas (see ``data/golden/README.md``)."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

FOLDER = Path(os.environ.get('SAPIENS2_GOLDEN', Path(__file__).parent / 'data' / 'golden'))
CASES: dict[str, dict] = json.loads((FOLDER / 'cases.json').read_text())


def arrays(name: str) -> dict[str, np.ndarray]:
    """Expected arrays of a case."""
    with np.load(FOLDER / f'{name}.npz') as data:
        return dict(data)


def normal(seed: int, shape: list[int]) -> Tensor:
    """Standard normal float32 numbers of ``shape``."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def fill(module: nn.Module, seed: int) -> nn.Module:
    """Give every parameter its value by the formula; ``periods`` keep what the constructor computed."""
    state = module.state_dict()
    for key in sorted(state):
        if key.endswith('periods'):
            continue
        shape = tuple(state[key].shape)
        rng = np.random.default_rng([seed, zlib.crc32(key.encode())])
        a = rng.standard_normal(shape).astype(np.float32)
        *parents, leaf = key.split('.')
        if parents and parents[-1] in ('gamma', 'gamma2'):
            a = 0.5 + 0.1 * a
        elif leaf == 'weight':
            a = 1 + 0.1 * a if len(shape) == 1 else a / np.sqrt(np.prod(shape[1:]))
        else:
            a = 0.02 * a
        state[key] = torch.from_numpy(np.asarray(a, dtype=np.float32))
    module.load_state_dict(state, strict=True)
    return module.eval()


def close(actual: Tensor | np.ndarray, expected: np.ndarray, rtol: float = 1e-4, atol: float = 1e-4) -> None:
    """Assert that two arrays agree, and say by how much they do not."""
    actual = actual.detach().numpy() if isinstance(actual, Tensor) else np.asarray(actual)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
