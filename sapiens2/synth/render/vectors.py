"""Vectors of many points: arrays (N, 3) kept in Fortran order, which NumPy multiplies by (N, 1) eight times faster.

Sums, products and comparisons of such arrays keep the order; what would not is here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(N,) products of (N, 3) vectors."""
    return np.einsum('ni,ni->n', a, b)


def unit(vectors: np.ndarray) -> np.ndarray:
    """(N, 3) vectors at length 1; a vector of length 0 stays."""
    return vectors * (1 / np.maximum(np.sqrt(dot(vectors, vectors)), np.float32(1e-12)))[:, None]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(N, 3) vector products."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return columns([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def columns(parts: Sequence[np.ndarray]) -> np.ndarray:
    """(N, C) of C columns (N,)."""
    return np.stack(parts).T


def outer(amounts: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """(N, C): a vector (C,) times each of the amounts (N,)."""
    return (np.asarray(vector, np.float32)[:, None] * amounts).T


def turned(vectors: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """(N, D): each vector (N, C) multiplied by a matrix (D, C)."""
    return (matrix @ vectors.T).T


def rows(array: np.ndarray, index: np.ndarray | slice) -> np.ndarray:
    """``array[index]`` for a slice or an index (n,) of integers and an array (N,) or (N, C)."""
    if isinstance(index, slice):
        return array[index]
    if array.ndim == 1:
        return np.take(array, index)
    result = np.empty((array.shape[1], len(index)), array.dtype)
    for column, part in zip(array.T, result):
        np.take(column, index, out=part, mode='clip')
    return result.T


def put_rows(array: np.ndarray, index: np.ndarray, values: np.ndarray) -> None:
    """``array[index] = values`` for an index (n,) and an array (N,) or (N, C)."""
    if array.ndim == 1:
        array[index] = values
        return
    for column, part in zip(array.T, values.T):
        column[index] = part


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (N,) or (N, C) one after the other."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    return np.concatenate([part.T for part in parts], 1).T


class Quads:
    """Rows of four numbers, looked up 16 bytes at a time and mixed as one flat array.

    Args:
        table: (n, 4) or (n, 3) float32; a fourth number of 0 is added.
    """

    def __init__(self, table: np.ndarray) -> None:
        wide = np.zeros((len(table), 4), np.float32)
        wide[:, :table.shape[1]] = table
        self._rows = wide.view(np.complex128)[:, 0]
        self._width = table.shape[1]

    def at(self, index: np.ndarray) -> np.ndarray:
        """(4 N,) the rows at an index (N,)."""
        return np.take(self._rows, index).view(np.float32)

    @staticmethod
    def mix(start: np.ndarray, end: np.ndarray, share: np.ndarray) -> np.ndarray:
        """(4 N,) from ``start`` (4 N,), which is overwritten, to ``end`` (4 N,) by ``share`` (4 N,)."""
        end -= start
        end *= share
        start += end
        return start

    def columns(self, flat: np.ndarray) -> np.ndarray:
        """(N, 4) or (N, 3) of (4 N,)."""
        return np.ascontiguousarray(flat.reshape(-1, 4).T[:self._width]).T
