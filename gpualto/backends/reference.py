"""The definition of each operation, in NumPy, for any format that can decode its stored positions."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import Array, Coordinates
from gpualto.backends import Fill
from gpualto.backends.dense import solve_normal_equations
from gpualto.backends.ratios import two_passes
from gpualto.encoding import AltoEncoding, LinearIndex
from gpualto.ordering import argsort

if TYPE_CHECKING:
    from gpualto.tensor import AnyTensor, Tensor

__all__ = [
    "argsort",
    "delinearize",
    "describe",
    "explain",
    "model_values",
    "mttkrp",
    "mttkrp_of_ratios",
    "plan_mttkrp",
    "solve_normal_equations",
    "sort_entries",
    "source",
    "sum_runs",
]

_SCRATCH_BYTES = 4 * 2**20
"""Scratch of one operation, whatever the number of nonzeros: about the size of a cache."""


def mttkrp(
    X: AnyTensor, factors: list[Array | None], mode: int, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out` with the MTTKRP, accumulated in float64: see `gpualto.mttkrp`. Always deterministic."""
    rank = out.shape[1]
    result = out if out.dtype == np.float64 else np.empty(out.shape)
    result[...] = 0
    inputs = [(n, factor) for n, factor in enumerate(factors) if factor is not None]
    # A nonzero takes three rows of float64 and, for coordinates and ordering, a few words a mode.
    for coords, values in X.parts(_rows_in_scratch(8 * (3 * rank + 3 * X.ndim))):
        rows = np.repeat(values[:, np.newaxis].astype(np.float64), rank, axis=1)
        for n, factor in inputs:
            rows *= factor[coords[n]]
        add_rows(result, coords[mode], rows)
    if result is not out:
        out[...] = result


def plan_mttkrp(
    X: AnyTensor, mode: int, rank: int, dtype: np.dtype[np.floating], *, deterministic: bool = False
) -> Fill:
    """Return the MTTKRP of a mode; there is nothing to decide."""
    return lambda factors, out: mttkrp(X, factors, mode, out)


def model_values(X: AnyTensor, factors: list[Array], out: Array) -> None:
    """Fill `out`, a number an entry, with sums of products of rows: see `gpualto.model_values`."""
    rank = factors[0].shape[1]
    start = 0
    for coords, _ in X.parts(_rows_in_scratch(8 * (2 * rank + 2 * X.ndim))):
        rows = factors[0][coords[0]].astype(np.float64)
        for n, factor in enumerate(factors[1:], 1):
            rows *= factor[coords[n]]
        out[start : start + len(rows)] = rows.sum(axis=1)
        start += len(rows)


def mttkrp_of_ratios(
    X: Tensor, factors: list[Array], mode: int, smallest: float, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out` with the MTTKRP of each value over the model's, which counts as `smallest` at least."""
    two_passes(model_values, mttkrp, X, factors, mode, smallest, out, deterministic)


def describe() -> str:
    """Return what this backend is."""
    return 'NumPy reference; for compiled code: pip install "gpualto[cpu]"'


def explain(X: AnyTensor, mode: int, rank: int, *, deterministic: bool = False) -> str:
    """Return how the MTTKRP of a mode is computed, and why."""
    return f"mode {mode}: in turn, the rows of each chunk sorted and summed (NumPy reference)"


def source(X: AnyTensor, mode: int, rank: int, dtype: np.dtype[np.floating]) -> str:
    """Return the code of the MTTKRP."""
    return inspect.getsource(mttkrp)


def sort_entries(encoding: AltoEncoding, coords: Coordinates, values: Array) -> tuple[LinearIndex, Array]:
    """Return linear indices and values in the order of the index; equal indices keep their order."""
    index = encoding.linearize(coords)
    order = argsort(index)
    return tuple(word[order] for word in index), values[order]


def delinearize(encoding: AltoEncoding, index: LinearIndex) -> Array:
    """Return the coordinates of linear indices."""
    return encoding.delinearize(index)


def sum_runs(numbers: Array, starts: Array) -> Array:
    """Return the sums of runs of rows, each from a start to the next, accumulated in float64.

    Examples
    --------
    >>> sum_runs(np.array([1.0, 2.0, 4.0]), np.array([0, 2]))
    array([3., 4.])
    """
    if starts.size == 0:
        return numbers[:0].copy()
    return np.add.reduceat(numbers, starts, axis=0, dtype=np.float64).astype(numbers.dtype, copy=False)


def add_rows(result: Array, targets: Array, rows: Array) -> None:
    """Add each row to the row of `result` that its target names, equal targets in their order."""
    order = np.argsort(targets, kind="stable")
    targets = targets[order]
    starts = np.flatnonzero(np.diff(targets, prepend=-1))
    result[targets[starts]] += np.add.reduceat(rows[order], starts, axis=0)


def _rows_in_scratch(row_nbytes: int) -> int:
    return max(_SCRATCH_BYTES // row_nbytes, 1)
