"""The normal equations of a least-squares update, in NumPy."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array

SMALLEST_PIVOT = 1e-6
"""Below it, rounding in an explicit inverse would reach the well determined directions as well: the fit of a
sweep could fall. An eigendecomposition keeps it to the directions that hardly matter."""

SMALLEST_SQUARE = {np.dtype(np.float32): 1e-20, np.dtype(np.float64): 1e-280}
"""A component of a smaller squared norm counts as one of zeros: its inverse would leave the type's range."""


def solve_normal_equations(gram_product: Array, right: Array) -> Array:
    """Return the least-squares solution U of ``U @ gram_product = right``, of the type of `right`.

    By Cholesky; where the Gram product is close to singular, by the pseudo-inverse. The columns
    are scaled to a unit diagonal first, so that components of very different size do not look singular.
    """
    squares, smallest = gram_product.diagonal(), SMALLEST_SQUARE[right.dtype]
    scale = np.where(squares > smallest, 1 / np.sqrt(np.maximum(squares, smallest)), 0.0)
    scaled = gram_product * np.outer(scale, scale)
    root = _inverse_root(scaled)
    inverse = np.linalg.pinv(scaled, hermitian=True) if root is None else root.T @ root
    return right @ (inverse * np.outer(scale, scale)).astype(right.dtype, copy=False)


def _inverse_root(matrix: Array) -> Array | None:
    """Return the inverse Cholesky factor of a matrix of unit diagonal, None where it is close to singular."""
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    smallest_pivot = float(lower.diagonal().min()) ** 2
    if smallest_pivot <= SMALLEST_PIVOT:
        return None
    return np.linalg.inv(lower)
