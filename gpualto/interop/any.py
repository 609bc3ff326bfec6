"""A tensor from whatever someone has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpualto._arrays import as_array
from gpualto.format.storage import StoredTensor
from gpualto.interop.pyttb import from_pyttb
from gpualto.interop.scipy import from_scipy
from gpualto.interop.sparse import from_sparse
from gpualto.interop.torch import from_torch
from gpualto.tensor import AnyTensor, Tensor


def from_any(item: Any) -> AnyTensor:
    """Return a tensor from a sparse or dense array of another package.

    Parameters
    ----------
    item : object
        A SciPy sparse array or matrix, which keeps its format where it is CSR, CSC, BSR or DIA, and
        shares its arrays where it is sorted and free of duplicates (DIA is copied); one of
        ``cupyx.scipy``; a ``pyttb.sptensor`` or ``tensor``; an array of PyData Sparse; a tensor of
        PyTorch, which keeps its layout where it is CSR, CSC, BSR or BSC, and shares its arrays; a dense
        array of NumPy, CuPy, or what offers DLPack; or a tensor of this package.

    Raises
    ------
    TypeError
        If it is none of these.

    Examples
    --------
    >>> import scipy.sparse
    >>> from_any(scipy.sparse.eye_array(3, format="csr")).format
    Format('(i, j) -> (i : dense, j : compressed)')
    """
    if isinstance(item, (Tensor, StoredTensor)):
        return item
    packages = {base.__module__.partition(".")[0] for base in type(item).__mro__}
    for package, mark, read in _READERS:
        if package in packages and hasattr(item, mark) and not isinstance(item, np.ndarray):
            return read(item)
    array = as_array(item)
    if array.dtype.kind not in "biufc":
        kind = f"{type(item).__module__}.{type(item).__name__}"
        raise TypeError(f"item: there is no tensor to be made of {kind}")
    return Tensor.from_dense(array)


_READERS: tuple[tuple[str, str, Callable[[Any], AnyTensor]], ...] = (
    ("scipy", "format", from_scipy),
    ("cupyx", "format", from_scipy),
    ("pyttb", "subs", from_pyttb),
    ("pyttb", "nnz", from_pyttb),
    ("sparse", "fill_value", from_sparse),
    ("torch", "layout", from_torch),
)
"""Package, what its tensors have and other things in it have not, and what reads them."""
