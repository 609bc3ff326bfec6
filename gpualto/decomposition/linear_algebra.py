"""The small dense pieces of CP algorithms: Gram products, normal equations, column norms."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module, blocks, empty

_ROWS_PER_BLOCK = 1 << 16
_ROWS_WORTH_THREADS = 1 << 18
_SMALLEST_SQUARE, _LARGEST_SQUARE = 1e-200, 1e200


def calm_blas(rows: int) -> AbstractContextManager[Any]:
    """Keep BLAS on one thread where no factor is longer than `rows` says is worth more.

    OpenBLAS's threads wait for work by spinning, for longer than the MTTKRP of a small tensor takes: they
    take its cores. Needs threadpoolctl, and does nothing without it.
    """
    if rows > _ROWS_WORTH_THREADS:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(limits=1, user_api="blas")  # type: ignore[no-any-return]


def gram(factor: Array) -> Array:
    """Return the float64 Gram matrix of the columns of a factor."""
    return cross_gram(factor, factor)


def cross_gram(left: Array, right: Array) -> Array:
    """Return ``left.T @ right`` in float64; float32 factors are widened a block of rows at a time."""
    xp = array_module(left)
    total = xp.zeros((left.shape[1], right.shape[1]))
    for block in blocks(left.shape[0], xp, _ROWS_PER_BLOCK):
        total += left[block].T.astype(np.float64, copy=False) @ right[block].astype(np.float64, copy=False)
    return total


def column_products(left: Array, right: Array) -> Array:
    """Return the float64 inner product of each column of `left` with that of `right`."""
    return np.einsum("ir,ir->r", left, right, dtype=np.float64)


def hadamard(arrays: Iterable[Array]) -> Array:
    """Return the elementwise product of arrays of one shape."""
    return reduce(np.multiply, arrays)


def normalize_with_gram(factor: Array) -> tuple[Array, Array, Array]:
    """Return a factor with columns of norm one, the norms, and its Gram matrix; zero columns stay zero.

    The norms come from the Gram matrix. Where their squares leave the range of float64, the columns are
    scaled first; not so on a device, where columns beyond 1e150 in size overflow.
    """
    with np.errstate(over="ignore"):
        matrix = gram(factor)
    squares = matrix.diagonal()
    if array_module(factor) is not np:
        # On a device the range is not looked at, which would wait for it: zero columns alone are told apart.
        norms = np.sqrt(squares)
        divisors = np.where(norms > 0, norms, 1.0)
        unit = (factor / divisors).astype(factor.dtype, copy=False)
        return unit, norms, matrix / (divisors[:, np.newaxis] * divisors)
    if squares.min(initial=1.0) < _SMALLEST_SQUARE or not squares.max(initial=1.0) < _LARGEST_SQUARE:
        unit, norms = normalize_columns(factor)
        return unit, norms, gram(unit)
    norms = np.sqrt(squares)
    unit = np.divide(factor, norms, out=empty(factor.shape, factor.dtype), casting="same_kind")
    return unit, norms, matrix / np.outer(norms, norms)


def normalize_columns(factor: Array) -> tuple[Array, Array]:
    """Return a factor with columns of norm one, and the norms; zero columns stay zero."""
    xp = array_module(factor)
    # Scaled by the largest entry, so that the squares stay in range.
    largest = abs(factor).max(axis=0).astype(np.float64) if len(factor) else xp.zeros(factor.shape[1])
    largest = np.where(largest > 0, largest, 1.0)
    squares = xp.zeros(factor.shape[1])
    for block in blocks(factor.shape[0], xp, _ROWS_PER_BLOCK):
        squares += np.square(factor[block] / largest).sum(axis=0)
    roots = np.sqrt(squares)
    divisors = np.where(roots > 0, roots, 1.0).astype(factor.dtype)
    return factor / largest.astype(factor.dtype) / divisors, largest * roots


def fit_of(norm: float, model_norm_squared: float, inner: float) -> float:
    """Return one minus the relative residual; a residual that rounding makes negative counts as zero."""
    residual_squared = max(norm**2 + model_norm_squared - 2 * inner, 0.0)
    if norm == 0:
        return 1.0 if residual_squared == 0 else -math.inf
    return 1.0 - math.sqrt(residual_squared) / norm
