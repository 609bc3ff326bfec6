"""The arrays of PyData Sparse."""

from __future__ import annotations

from typing import Any

from gpualto._optional import require
from gpualto.format.storage import StoredTensor
from gpualto.interop.compressed import MATRIX_MODES, matrix_kind
from gpualto.interop.scipy import from_scipy, to_scipy
from gpualto.tensor import AnyTensor, Tensor

_COMPRESSED_AXES = {"csr": [0], "csc": [1]}


def to_sparse(X: AnyTensor) -> Any:
    """Return a ``sparse.COO`` with a copy of the entries; of CSR or CSC a ``sparse.GCXS`` of its arrays."""
    sparse = require("sparse", "bench", "Tensor.to_sparse")
    X = X.to_device("cpu")
    kind = matrix_kind(X.format)
    if isinstance(X, StoredTensor) and kind in _COMPRESSED_AXES:
        matrix = to_scipy(X)
        arrays = (matrix.data, matrix.indices, matrix.indptr)
        return sparse.GCXS(arrays, shape=X.shape, compressed_axes=_COMPRESSED_AXES[kind])
    coords, values = X.entries()
    return sparse.COO(coords, values.copy(), X.shape)


def from_sparse(array: Any) -> AnyTensor:
    """Return a tensor from a ``sparse.COO``, or from a format that becomes one.

    A matrix in ``sparse.GCXS`` is CSR or CSC, which share its arrays where they are sorted.

    Raises
    ------
    ValueError
        If what is not stored is not zero.
    """
    if array.fill_value != 0:
        raise ValueError(f"array: what is not stored counts as {array.fill_value}, and here it is zero")
    if type(array).__name__ == "GCXS" and array.ndim == MATRIX_MODES:
        return from_scipy(array.to_scipy_sparse())
    coo = array.asformat("coo")
    return Tensor.from_coo(coo.coords, coo.data, coo.shape)
