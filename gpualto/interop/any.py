"""A tensor from whatever someone has."""

from __future__ import annotations

from typing import Any

from gpualto._arrays import as_array
from gpualto.format.storage import StoredTensor
from gpualto.interop.pyttb import from_pyttb
from gpualto.interop.scipy import from_scipy
from gpualto.interop.sparse import from_sparse
from gpualto.tensor import AnyTensor, Tensor


def from_any(item: Any) -> AnyTensor:
    """Return a tensor from a sparse or dense array of another package.

    Parameters
    ----------
    item : object
        A SciPy sparse array or matrix, which keeps its format where it is CSR, CSC, BSR or DIA, and
        shares its values; one of ``cupyx.scipy``; a ``pyttb.sptensor``; an array of PyData Sparse; a dense
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
    package = type(item).__module__.partition(".")[0]
    if package == "scipy" and hasattr(item, "format"):
        return from_scipy(item)
    if package == "cupyx":
        return Tensor.from_scipy(item)
    if package == "pyttb" and hasattr(item, "subs"):
        return from_pyttb(item)
    if package == "sparse":
        return from_sparse(item)
    array = as_array(item)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"item: there is no tensor to be made of {type(item).__module__}.{type(item).__name__}"
        )
    return Tensor.from_dense(array)
