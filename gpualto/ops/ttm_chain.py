"""Products with a matrix along every mode but one, which leave a small dense array."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpualto._arrays import Array, array_module, as_mode, blocks
from gpualto.ops.mttkrp import mttkrp
from gpualto.tensor import AnyTensor, require_any_tensor

_COLUMNS = 64
"""Columns that are computed at a time, so that the repeated columns of long factors stay small."""


def ttm_chain(
    X: AnyTensor, factors: Sequence[Array | None], mode: int, *, deterministic: bool = False
) -> Array:
    """Multiply with the transpose of a matrix along every mode but one, and unfold the result in that mode.

    Nothing is dense in a mode of the tensor but the result. It is an MTTKRP: a column of the Kronecker
    product of the factors is one of a Khatri-Rao product of repeated columns.

    Parameters
    ----------
    X : Tensor or StoredTensor
    factors : sequence of (I_n, R_n) arrays
        One per mode; that of `mode` is not read and may be None.
    mode : int
    deterministic : bool
        As in `gpualto.mttkrp`.

    Returns
    -------
    (I_mode, product of the other R_n) array
        Its columns run through the other modes as C-ordered arrays do, the last mode fastest.

    Notes
    -----
    Takes ``nnz * ndim * columns`` multiplications, and scratch for 64 columns of every factor.

    References
    ----------
    Kolda, Sun: Scalable tensor decompositions for multi-aspect data mining. ICDM 2008, on why the chain must
    not be dense in between.

    Examples
    --------
    >>> from gpualto import Tensor
    >>> X = Tensor.from_coo([[0, 2], [1, 0], [3, 3]], [1.0, 2.0], shape=(3, 2, 4))
    >>> ttm_chain(X, [None, np.eye(2), np.ones((4, 1))], 0)
    array([[0., 1.], [0., 0.], [2., 0.]])
    """
    require_any_tensor(X)
    mode = as_mode(mode, X.ndim)
    xp = array_module(X.values)
    # The mode itself counts as one column of ones, which an MTTKRP does not read.
    matrices: list[Array] = [
        xp.ones((X.shape[n], 1)) if n == mode else factor for n, factor in enumerate(factors)
    ]
    ranks = [matrix.shape[1] for matrix in matrices]
    columns = np.unravel_index(np.arange(math.prod(ranks)), ranks)
    pieces = []
    for block in blocks(math.prod(ranks), size=_COLUMNS):
        repeated = [matrix[:, xp.asarray(c[block])] for matrix, c in zip(matrices, columns, strict=True)]
        pieces.append(mttkrp(X, repeated, mode, deterministic=deterministic))
    return xp.concatenate(pieces, axis=1)
