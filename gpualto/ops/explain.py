"""What an operation will do with a tensor, and the code that does it, for reading."""

from __future__ import annotations

import operator

import numpy as np

from gpualto._arrays import as_mode
from gpualto.backends import backend_for
from gpualto.tensor import AnyTensor, require_any_tensor

_ON_ENTRIES = "on coordinates and values of all entries at once, by array operations"

DISPATCH = {
    "mttkrp": "by the backend",
    "matmul": "CSR, CSC, BSR, DIA and COO by SciPy, all but BSR by cuSPARSE; others as the MTTKRP of mode 0",
    "innerprod": f"with a CP model by the MTTKRP of mode 0, else {_ON_ENTRIES}",
    "ttv": _ON_ENTRIES,
    "ttm": f"{_ON_ENTRIES}, fibers sorted and summed",
    "collapse": _ON_ENTRIES,
    "sddmm": "in ALTO order, as the values of a CP model at the nonzeros",
    "map_values": "on the values, where they are stored",
}
"""How each operation is computed."""

_BY_MTTKRP = ("mttkrp", "matmul", "innerprod")


def explain(operation: str, X: AnyTensor, rank: int = 16) -> str:
    """Return which way an operation takes for a tensor, and why.

    Parameters
    ----------
    operation : str
        ``"mttkrp"``, ``"matmul"``, ``"innerprod"``, ``"ttv"``, ``"ttm"``, ``"collapse"``, ``"sddmm"`` or
        ``"map_values"``.
    X : Tensor or StoredTensor
    rank : int
        Number of columns to plan an MTTKRP for.

    Raises
    ------
    ValueError
        If there is no such operation.

    Examples
    --------
    >>> from gpualto import Tensor
    >>> X = Tensor.from_coo([[0, 2], [1, 0], [3, 3]], [1.0, 2.0], shape=(3, 2, 4))
    >>> print(explain("ttv", X))
    ttv: on coordinates and values of all entries at once, by array operations
    """
    require_any_tensor(X)
    if operation not in DISPATCH:
        raise ValueError(f"operation: expected one of {', '.join(DISPATCH)}; got {operation!r}")
    lines = [f"{operation}: {DISPATCH[operation]}"]
    if operation in _BY_MTTKRP:
        backend = backend_for(X)
        lines.append(f"  {backend.describe()}")
        modes = range(X.ndim) if operation == "mttkrp" else [0]
        lines += [f"  {backend.explain(X, mode, rank)}" for mode in modes]
    return "\n".join(lines)


def source(operation: str, X: AnyTensor, mode: int = 0, rank: int = 16) -> str:
    """Return the code of an operation's innermost loop: Python for Numba, or CUDA C++.

    Parameters
    ----------
    operation : str
        ``"mttkrp"``, the one that has kernels.
    X : Tensor or StoredTensor
    mode, rank : int
        What the code is for.

    Raises
    ------
    ValueError
        If the operation has no kernels.

    Examples
    --------
    >>> from gpualto import Tensor, formats
    >>> X = Tensor.from_coo([[0, 2], [1, 0], [3, 3]], [1.0, 2.0], shape=(3, 2, 4))
    >>> print(source("mttkrp", X.to_format(formats.COO(3)), mode=1, rank=8))  # doctest: +ELLIPSIS
    def kernel(values, arrays, start, stop, bases, rows):
    ...
    """
    require_any_tensor(X)
    if operation != "mttkrp":
        raise ValueError(f"operation: only mttkrp has kernels, got {operation!r}; see gpualto.explain")
    dtype: np.dtype[np.floating] = X.dtype
    return backend_for(X).source(X, as_mode(mode, X.ndim), operator.index(rank), dtype)
