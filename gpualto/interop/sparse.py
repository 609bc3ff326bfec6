"""The arrays of PyData Sparse."""

from __future__ import annotations

from typing import Any

from gpualto._optional import require
from gpualto.tensor import AnyTensor, Tensor


def to_sparse(X: AnyTensor) -> Any:
    """Return a ``sparse.COO`` with a copy of the entries."""
    sparse = require("sparse", "bench", "Tensor.to_sparse")
    coords, values = X.to_device("cpu").entries()
    return sparse.COO(coords, values.copy(), X.shape)


def from_sparse(array: Any) -> Tensor:
    """Return a tensor from a ``sparse.COO``, or from a format that becomes one, such as ``sparse.GCXS``.

    Raises
    ------
    ValueError
        If what is not stored is not zero.
    """
    if array.fill_value != 0:
        raise ValueError(f"array: what is not stored counts as {array.fill_value}, and here it is zero")
    coo = array.tocoo() if hasattr(array, "tocoo") else array
    return Tensor.from_coo(coo.coords, coo.data, coo.shape)
