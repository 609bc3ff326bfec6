"""SciPy sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._optional import require
from gpualto.encoding import AltoEncoding
from gpualto.ordering import argsort, first_of_equals
from gpualto.tensor import Tensor


def to_scipy(X: Tensor) -> Any:
    """Return a ``coo_array`` of the shape of the tensor."""
    sparse = require("scipy.sparse", "cpu", "Tensor.to_scipy")
    return sparse.coo_array((X.values.copy(), tuple(X.coords)), shape=X.shape)


def unfold(X: Tensor, mode: int) -> Any:
    """Return the unfolding of one mode as a ``csr_array`` without its empty columns.

    The columns, one per fiber that holds a nonzero, stand in the order of the other modes' linear index.
    """
    sparse = require("scipy.sparse", "cpu", "an unfolding")
    coords = X.coords
    others = [n for n in range(X.ndim) if n != mode]
    if not others:
        columns = np.zeros(X.nnz, np.int64)
    else:
        index = AltoEncoding([X.shape[n] for n in others]).linearize(coords[others])
        order = argsort(index)
        columns = np.empty(X.nnz, np.int64)
        columns[order] = np.cumsum(first_of_equals(tuple(word[order] for word in index))) - 1
    count = int(columns.max(initial=-1)) + 1
    return sparse.csr_array((X.values, (coords[mode], columns)), shape=(X.shape[mode], count))
