"""SciPy sparse arrays, and the sparse matrices of ``cupyx.scipy``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module, as_values
from gpualto._optional import require
from gpualto.encoding import AltoEncoding
from gpualto.format import named
from gpualto.format.storage import LevelArrays, StoredTensor
from gpualto.interop.compressed import (
    MATRIX_MODES,
    block_of,
    check_indices,
    compressed,
    computed,
    is_canonical,
    matrix_kind,
)
from gpualto.ordering import group
from gpualto.tensor import AnyTensor, Tensor

_INT32 = 2**31

# To SciPy ---------------------------------------------------------------------------------------------------


def to_scipy(X: AnyTensor) -> Any:
    """Return a SciPy sparse array: of the same format where SciPy has it, else a ``coo_array``.

    A matrix in CSR, CSC, BSR or DIA shares its values with the tensor, and more where types agree: copy it
    before you change it in place. On a device it is one of ``cupyx``.

    Raises
    ------
    ValueError
        If the tensor has no modes, or is on a device and no matrix.
    """
    if isinstance(X, StoredTensor):
        maker = _MAKERS.get(matrix_kind(X.format) or "")
        made = maker(X) if maker else None
        if made is not None:
            return made
    if X.ndim == 0:
        raise ValueError("X: has no modes, and SciPy's arrays have at least one")
    if X.ndim != MATRIX_MODES and array_module(X.values) is not np:
        raise ValueError(f"X: has {X.ndim} modes, and cupyx has matrices only; move it to the CPU first")
    coords, values = X.entries()
    return _constructor(X, "coo")((values.copy(), tuple(coords)), shape=X.shape)


def _constructor(X: AnyTensor, kind: str) -> Any:
    """Return the class for a kind of matrix: SciPy's array, or the matrix of cupyx."""
    if array_module(X.values) is np:
        return getattr(require("scipy.sparse", "cpu", "Tensor.to_scipy"), f"{kind}_array")
    return getattr(require("cupyx.scipy.sparse", "cuda13", "Tensor.to_scipy"), f"{kind}_matrix")


def _to_compressed(X: StoredTensor) -> Any:
    arrays = X.levels[1]
    kind = matrix_kind(X.format)
    return _constructor(X, str(kind))((X.values, _index(arrays.crd), arrays.pos), shape=X.shape)


def _to_blocks(X: StoredTensor) -> Any:
    block = block_of(X.format)
    assert block is not None
    if any(length % edge for length, edge in zip(X.shape, block, strict=True)):
        return None  # SciPy has no padding
    if array_module(X.values) is not np:
        return None  # cupyx has no BSR
    arrays = X.levels[1]
    data = X.values.reshape(-1, *block)
    return _constructor(X, "bsr")((data, _index(arrays.crd), arrays.pos), shape=X.shape)


def _to_diagonals(X: StoredTensor) -> Any:
    data = X.values.reshape(X.crd(0).size, X.shape[1])
    # Some versions of CuPy take offsets of 32 bits only.
    offsets = X.crd(0).astype(np.int32) if max(X.shape) < _INT32 else _index(X.crd(0))
    return _constructor(X, "dia")((data, offsets), shape=X.shape)


def _index(crd: Array) -> Array:
    """Return coordinates in a type that SciPy has."""
    return crd if crd.dtype.itemsize in (4, 8) else crd.astype(np.int32)


_MAKERS: dict[str, Callable[[StoredTensor], Any]] = {
    "csr": _to_compressed,
    "csc": _to_compressed,
    "bsr": _to_blocks,
    "dia": _to_diagonals,
}


# From SciPy -------------------------------------------------------------------------------------------------


def from_scipy(array: Any) -> AnyTensor:
    """Return a tensor in the format of a SciPy sparse array, its arrays shared where they are sorted.

    CSR, CSC, BSR and DIA stay what they are, those of ``cupyx`` on the device; all others become ALTO.
    """
    kind = array.format
    if len(array.shape) != MATRIX_MODES:
        return Tensor.from_scipy(array)
    if kind in ("csr", "csc", "bsr"):
        return _from_compressed(array, kind)
    if kind == "dia":
        return _from_diagonals(array)
    return Tensor.from_scipy(array)


def _from_compressed(array: Any, kind: str) -> StoredTensor:
    check_indices(kind, array.shape, array.indices, array.indptr, getattr(array, "blocksize", None))
    if not is_canonical(array.indices, array.indptr):  # SciPy's own flag may be out of date
        array = array.copy()
        array.has_canonical_format = array.has_sorted_indices = False
        array.sum_duplicates()
    block = array.blocksize if kind == "bsr" else None
    return compressed(kind, array.shape, array.data, array.indices, array.indptr, block)


def _from_diagonals(array: Any) -> StoredTensor:
    """Return the diagonals in order; what lies outside the matrix, which SciPy ignores, becomes zero."""
    xp = array_module(array.data)
    rows, columns = array.shape
    order = array.offsets.argsort()
    offsets = array.offsets[order].astype(np.int64)
    data = xp.zeros((offsets.size, columns), array.data.dtype)
    width = min(columns, array.data.shape[1])
    data[:, :width] = array.data[order, :width]
    row = xp.arange(columns) - offsets[:, np.newaxis]
    data = xp.where((row < 0) | (row >= rows), 0, data)
    levels = (LevelArrays(xp.array([0, offsets.size]), offsets), computed(data))
    return StoredTensor(named.DIA(), array.shape, levels, as_values(data.reshape(-1)))


# Unfoldings -------------------------------------------------------------------------------------------------


def unfold(X: Tensor, mode: int) -> Any:
    """Return the unfolding of one mode as a ``csr_array`` without its empty columns.

    The columns, one per fiber that holds a nonzero, stand in the order of the other modes' linear index.
    """
    sparse = require("scipy.sparse", "cpu", "an unfolding")
    coords = X.coords
    others: Sequence[int] = [n for n in range(X.ndim) if n != mode]
    if not others:
        columns = np.zeros(X.nnz, np.int64)
    else:
        index = AltoEncoding([X.shape[n] for n in others]).linearize(coords[others])
        order, first = group(index)
        columns = np.empty(X.nnz, np.int64)
        columns[order] = np.cumsum(first) - 1
    count = int(columns.max(initial=-1)) + 1
    return sparse.csr_array((X.values, (coords[mode], columns)), shape=(X.shape[mode], count))
