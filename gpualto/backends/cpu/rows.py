"""Rows of factors and outputs: laid out for vectors, filled and added by all threads."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, empty, is_aligned
from gpualto.backends.cpu import threads

PANEL_BYTES = 2048
"""Bytes of a row that one kernel works on; longer rows take several passes."""

_LEAST_BYTES = 1 << 20
"""Bytes that a thread is given at least where memory is filled or added."""


def as_rows(factor: Array, dtype: np.dtype[np.floating], nnz: int) -> Array:
    """Return a factor as contiguous rows of a type, on cache lines where a copy costs less than it saves."""
    fits = factor.dtype == dtype and factor.flags.c_contiguous and factor.flags.aligned
    if fits and (is_aligned(factor) or 2 * len(factor) > nnz):
        return factor
    rows = empty(factor.shape, dtype)
    rows[...] = factor
    return rows


def row_bytes(rows: Array) -> int:
    """Return how far contiguous rows are apart; the strides of a single row may say anything."""
    return int(rows.shape[1]) * int(rows.dtype.itemsize)


def fill_zero(arrays: list[Array]) -> None:
    """Fill arrays with zeros."""

    def fill(numbers: Array, start: int, stop: int) -> None:
        numbers[start:stop].fill(0)

    for array in arrays:
        numbers = array.reshape(-1).view(np.uint8)  # bytes are filled by memset, twice as fast
        threads.run(fill, [(numbers, *piece) for piece in threads.split(numbers.size, _LEAST_BYTES)])


def merge(rows: Array, private: Array) -> None:
    """Add private rows to those of the output."""

    def add(start: int, stop: int) -> None:
        np.add(rows[start:stop], private[start:stop], out=rows[start:stop])

    threads.run(add, threads.split(len(rows), 1 + _LEAST_BYTES // max(row_bytes(rows), 1)))
