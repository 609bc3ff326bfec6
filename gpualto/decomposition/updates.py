"""How alternating least squares updates one factor while the others stay: free, nonnegative, or smooth.

Each update minimises ``norm(U @ K.T - B)**2``, or does not raise it, where K is the Khatri-Rao product of the
other factors and B the unfolding; it is given ``K.T @ K``, the Gram product, and ``B @ K``, the MTTKRP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto._optional import require
from gpualto.decomposition.linear_algebra import normalize_with_gram

Normalized = tuple[Array, Array, Array]
"""A factor with columns of norm one, their norms before, and the factor's Gram matrix."""

Update = Callable[[Array, Array, Array, Array], Normalized]
"""From Gram product, MTTKRP, present factor and weights to the new factor."""

_HALS_PASSES = 4
"""Passes over the columns: as cheap beside an MTTKRP as one, and worth more than half of the sweeps."""

_SMALLEST = 1e-30
"""Multiplicative updates cannot leave zero: entries stay this large."""


def least_squares(solve: Callable[[Array, Array], Array]) -> Update:
    """Return the update without constraints, by a backend's `solve_normal_equations`."""

    def update(gram_product: Array, product: Array, factor: Array, weights: Array) -> Normalized:
        return normalize_with_gram(solve(gram_product, product))

    return update


def hals(gram_product: Array, product: Array, factor: Array, weights: Array) -> Normalized:
    """Minimise over one nonnegative column after the other, each exactly.

    References
    ----------
    Cichocki, Phan: Fast local algorithms for large scale nonnegative matrix and tensor factorizations. 2009.
    """
    xp = array_module(product)
    columns = xp.array((factor * weights).T, np.float64, order="C")
    targets = xp.ascontiguousarray(product.T, np.float64)
    squares = gram_product.diagonal()
    squares = np.where(squares > 0, squares, 1.0)
    for _ in range(_HALS_PASSES):
        for r in range(len(columns)):
            step = (targets[r] - gram_product[r] @ columns) / squares[r]
            columns[r] = np.maximum(columns[r] + step, 0)
    return _normalize_nonnegative(columns.T, product.dtype)


def multiplicative(gram_product: Array, product: Array, factor: Array, weights: Array) -> Normalized:
    """Multiply each entry by a ratio that lowers the residual; of nonnegative tensors only.

    References
    ----------
    Lee, Seung: Algorithms for non-negative matrix factorization. NIPS 2000.
    """
    current = np.maximum(factor * weights, _SMALLEST).astype(np.float64)
    ratio = np.maximum(product, 0) / np.maximum(current @ gram_product, _SMALLEST)
    return _normalize_nonnegative(current * ratio, product.dtype)


def _normalize_nonnegative(factor: Array, dtype: Any) -> Normalized:
    """Normalize; a column of zeros becomes one of equal entries with norm zero, so that it can come back."""
    is_zero = factor.max(axis=0) <= 0
    filled = array_module(factor).ascontiguousarray(np.where(is_zero, 1.0, factor), dtype)
    unit, norms, matrix = normalize_with_gram(filled)
    return unit, np.where(is_zero, 0.0, norms), matrix


def smooth(penalty: float) -> Update:
    """Return the update that also penalises the differences of neighbouring rows: see `roughness`.

    The difference operator is diagonal in the cosine basis, the Gram product in its own: one division solves.
    """

    def update(gram_product: Array, product: Array, factor: Array, weights: Array) -> Normalized:
        xp = array_module(product)
        cosines = _cosine_transforms(xp)
        length = len(product)
        frequencies = 2 - 2 * np.cos(np.pi * xp.arange(length) / length)
        scales, basis = xp.linalg.eigh(gram_product)
        divisors = np.maximum(scales, 0) + penalty * frequencies[:, np.newaxis]
        divisors = np.where(divisors > 1e-12 * scales.max(), divisors, np.inf)
        inner = cosines.dct(product.astype(np.float64), axis=0, norm="ortho") @ basis / divisors
        solution = cosines.idct(inner, axis=0, norm="ortho") @ basis.T
        return normalize_with_gram(xp.ascontiguousarray(solution, product.dtype))

    return update


def _cosine_transforms(xp: Any) -> Any:
    if xp is np:
        return require("scipy.fft", "cpu", "smooth")
    return require("cupyx.scipy.fft", "cuda13", "smooth")


def roughness(factor: Array) -> Array:
    """Return the sum of the squared differences of neighbouring rows, for each column."""
    return np.square(factor[1:] - factor[:-1]).sum(axis=0, dtype=np.float64)
