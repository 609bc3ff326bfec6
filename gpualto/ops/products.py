"""Products of a sparse tensor with dense arrays, models and other tensors."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module, as_array, as_floats, as_mode, as_modes, blocks, kind_of
from gpualto.backends import backend_for_construction
from gpualto.encoding import AltoEncoding
from gpualto.format.named import ALTO
from gpualto.format.storage import StoredTensor
from gpualto.interop.compressed import matrix_kind
from gpualto.interop.scipy import to_scipy
from gpualto.ops.model_values import model_values
from gpualto.ops.mttkrp import mttkrp
from gpualto.ordering import group
from gpualto.tensor import AnyTensor, Tensor, require_any_tensor

_MATRIX_MODES, _BATCH_MODES = 2, 3
_COLUMNS = 32
"""Columns that are worked on at a time, so that scratch does not grow with their number."""


def ttv(X: AnyTensor, vectors: Array | Sequence[Array], modes: int | Sequence[int]) -> Tensor | float:
    """Multiply with a vector along each of some modes, which the result does not have.

    Parameters
    ----------
    X : Tensor or StoredTensor
    vectors : (I_n,) array, or sequence of them
    modes : int, or sequence of int
        The mode of each vector; negative modes count from the back.

    Returns
    -------
    Tensor
        Of the other modes; a number where none is left.

    Raises
    ------
    ValueError
        If a vector does not fit its mode, or a mode is named twice.

    References
    ----------
    Bader, Kolda: Efficient MATLAB Computations with Sparse and Factored Tensors. SISC 30(1), 2007, 3.2.4.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 2], [1, 3, 3]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> ttv(X, np.array([1.0, 10.0, 100.0, 1000.0]), 1).todense()
    array([2010.,    0., 3000.])
    >>> ttv(X, [np.ones(3), np.ones(4)], [0, 1])
    6.0
    """
    require_any_tensor(X)
    is_one = not isinstance(modes, Sequence) or isinstance(modes, str)
    numbers: list[Any] = [modes] if is_one else list(modes)  # type: ignore[arg-type]
    arrays = [vectors] if is_one else list(vectors)
    if len(arrays) != len(numbers):
        raise ValueError(f"modes: {len(numbers)} modes were given for {len(arrays)} vectors")
    gone = as_modes(numbers, X.ndim, "modes")
    coords, values = X.entries()
    for mode, vector in zip(gone, arrays, strict=True):
        values = values * _dense(X, vector, (X.shape[mode],), f"vectors: mode {mode}")[coords[mode]]
    left = [mode for mode in range(X.ndim) if mode not in gone]
    if not left:
        return float(values.sum(dtype=np.float64))
    shape, labels = [X.shape[mode] for mode in left], [X.labels[mode] for mode in left]
    return Tensor.from_coo([coords[mode] for mode in left], values, shape, labels=labels)


def ttm(X: AnyTensor, matrix: Array, mode: int) -> Tensor:
    """Multiply with a matrix along a mode: the mode-n product.

    Parameters
    ----------
    X : Tensor or StoredTensor
    matrix : (J, I_n) array
        Its rows become the indices of the mode.
    mode : int

    Returns
    -------
    Tensor
        With length J in `mode`. Fibers along it that had an entry have J of them now.

    Raises
    ------
    ValueError
        If the matrix does not have as many columns as the mode is long.

    References
    ----------
    Kolda, Bader: Tensor Decompositions and Applications. SIAM Review 51(3), 2009, section 2.5.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 2], [1, 3, 3]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> ttm(X, np.array([[1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, -1.0]]), 1).todense()
    array([[ 3., -1.], [ 0.,  0.], [ 3., -3.]])
    """
    require_any_tensor(X)
    mode = as_mode(mode, X.ndim)
    rows = _dense(X, matrix, (None, X.shape[mode]), "matrix").T
    xp = array_module(X.values)
    coords, values = X.entries()
    others = [n for n in range(X.ndim) if n != mode]
    encoding = AltoEncoding([X.shape[n] for n in others] or [1])
    index = encoding.linearize([coords[n] for n in others] or [coords[mode] * 0])
    order, first = group(index)
    starts = first.nonzero()[0]
    count = rows.shape[1]
    fibers = xp.zeros((starts.size, count), np.result_type(values.dtype, rows.dtype))
    backend = backend_for_construction(values)
    for columns in blocks(count, size=_COLUMNS):
        products = values[order, np.newaxis] * rows[coords[mode, order], columns]
        fibers[:, columns] = backend.sum_runs(products, starts)
    heads = coords[:, order[starts]].repeat(count, axis=1)
    heads[mode] = xp.tile(xp.arange(count), starts.size)
    shape = [*X.shape[:mode], count, *X.shape[mode + 1 :]]
    labels = [None if n == mode else label for n, label in enumerate(X.labels)]
    return Tensor.from_coo(heads, fibers.ravel(), shape, labels=labels)


def innerprod(X: AnyTensor, other: AnyTensor | Array | Any) -> float:
    """Return the inner product: the sum of the products of all cells.

    Parameters
    ----------
    X : Tensor or StoredTensor
    other : Tensor, StoredTensor, dense array, or CP model
        Of the same shape.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 2], [1, 3, 3]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> innerprod(X, X), innerprod(X, np.ones((3, 4)))
    (14.0, 6.0)
    """
    require_any_tensor(X)
    if hasattr(other, "factors") and hasattr(other, "weights"):
        rows = mttkrp(X, other, 0)
        factor = _dense(X, other.factors[0], rows.shape, "other: the factor of mode 0")
        return float(np.einsum("ir,ir->", rows, factor, dtype=np.float64))
    if isinstance(other, (Tensor, StoredTensor)):
        return _innerprod_sparse(X, other)
    coords, values = X.entries()
    dense = _dense(X, other, X.shape, "other")
    return float((values.astype(np.float64) * dense[tuple(coords)]).sum())


def _innerprod_sparse(X: AnyTensor, other: AnyTensor) -> float:
    if other.shape != X.shape:
        raise ValueError(f"other: has shape {other.shape}, expected {X.shape}")
    if X.ndim == 0:
        return float(X.values.astype(np.float64).sum()) * float(other.values.astype(np.float64).sum())
    a, b = as_alto(X), as_alto(other)
    _require_kind(X, b.values, "other")
    xp = array_module(a.values)
    index = tuple(xp.concatenate(words) for words in zip(a.index, b.index, strict=True))
    order, first = group(index)
    values = xp.concatenate([a.values.astype(np.float64), b.values.astype(np.float64)])[order]
    second = (~first).nonzero()[0]
    return float((values[second] * values[second - 1]).sum())


def matmul(X: AnyTensor, other: Array) -> Array:
    """Multiply a sparse matrix, or a batch of them, with a dense matrix or vector: ``X @ other``.

    Matrices in CSR, CSC, BSR, DIA and COO format are multiplied by SciPy, all but BSR by cuSPARSE. In all
    others a matrix times a matrix is the MTTKRP of two modes, by the same kernels. SciPy sums in the type of
    the result, and multiplies the padding of BSR and DIA too: NaN comes of what is not finite in `other`.

    Parameters
    ----------
    X : Tensor or StoredTensor
        (I, J), or (B, I, J) for a batch.
    other : array
        (J,) or (J, R); for a batch also (B, J, R).

    Returns
    -------
    array
        (I,) or (I, R), after the batch.

    Raises
    ------
    ValueError
        If the tensor has another number of modes, or the shapes do not fit.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 2], [1, 3, 3]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> X @ np.array([1.0, 10.0, 100.0, 1000.0])
    array([2010.,    0., 3000.])
    """
    require_any_tensor(X)
    if X.ndim not in (_MATRIX_MODES, _BATCH_MODES):
        raise ValueError(f"X: has {X.ndim} modes; a matrix has 2, a batch of matrices 3")
    length = X.shape[-1]
    _refuse_sparse(other, "other")
    dense = as_floats(as_array(other), "other")
    _require_kind(X, dense, "other")
    if dense.ndim == 0:
        raise ValueError("other: a number; multiply with it by *")
    if dense.ndim == 1:
        return matmul(X, _dense(X, dense, (length,), "other")[:, np.newaxis])[..., 0]
    if isinstance(X, StoredTensor) and _has_matrix_product(X):
        return to_scipy(X) @ _dense(X, dense, (length, None), "other")
    if X.ndim == _MATRIX_MODES:
        return mttkrp(X, [None, _dense(X, dense, (length, None), "other")], 0)
    xp = array_module(X.values)
    shape = (X.shape[0], length, dense.shape[-1])
    if dense.ndim == _MATRIX_MODES:
        dense = xp.broadcast_to(_dense(X, dense, shape[1:], "other"), shape)
    rows = _dense(X, dense, shape, "other").reshape(-1, shape[2])
    return mttkrp(_side_by_side(X), [None, rows], 0).reshape(*X.shape[:2], shape[2])


def _has_matrix_product(X: StoredTensor) -> bool:
    """Tell whether SciPy, or cuSPARSE, multiplies matrices of a format."""
    kind = matrix_kind(X.format)
    if array_module(X.values) is np:
        return kind is not None and find_spec("scipy") is not None
    return kind in ("csr", "csc", "coo", "dia")


def _side_by_side(X: AnyTensor) -> Tensor:
    """Return a batch of matrices as the blocks on the diagonal of one matrix."""
    (batch, row, column), values = X.entries()
    count, rows, columns = X.shape
    coords = (batch * rows + row, batch * columns + column)
    return Tensor.from_coo(coords, values, (count * rows, count * columns))


def sddmm(X: AnyTensor, left: Array, right: Array) -> Tensor:
    """Multiply two dense matrices where a sparse one has entries, and with these: ``X * (left @ right)``.

    By the kernels that give the values of a CP model of two modes.

    Parameters
    ----------
    X : Tensor or StoredTensor
        (I, J)
    left : (I, K) array
    right : (K, J) array

    Returns
    -------
    Tensor
        (I, J), with the entries of X.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 2], [1, 3, 3]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> sddmm(X, np.ones((3, 5)), np.ones((5, 4))).values
    array([ 5., 10., 15.])
    """
    require_any_tensor(X)
    if X.ndim != _MATRIX_MODES:
        raise ValueError(f"X: has {X.ndim} modes, a matrix has 2")
    A = _dense(X, left, (X.shape[0], None), "left")
    B = _dense(X, right, (A.shape[1], X.shape[1]), "right").T
    alto = as_alto(X)
    return alto.with_values(model_values(alto, [A, B]) * alto.values)


def as_alto(X: AnyTensor) -> Tensor:
    """Return a tensor in ALTO format, the tensor itself where it is in it."""
    tensor = X.to_format(ALTO(X.ndim))
    assert isinstance(tensor, Tensor)
    return tensor


def _dense(X: AnyTensor, array: Array, shape: tuple[int | None, ...], name: str) -> Array:
    """Return a dense operand, checked against a shape in which None is any length."""
    _refuse_sparse(array, name)
    dense = as_floats(as_array(array), name)
    _require_kind(X, dense, name)
    fits = dense.ndim == len(shape) and all(
        wanted is None or wanted == length for wanted, length in zip(shape, dense.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name}: has shape {dense.shape}, expected ({wanted})")
    return dense


def _refuse_sparse(array: object, name: str) -> None:
    if isinstance(array, (Tensor, StoredTensor)) or hasattr(array, "tocoo"):
        raise TypeError(f"{name}: expected a dense array, got a sparse one, {type(array).__name__}")


def _require_kind(X: AnyTensor, array: Array, name: str) -> None:
    xp: ModuleType = array_module(array)
    if xp is not array_module(X.values):
        raise TypeError(f"{name}: is a {kind_of(xp)} array and the tensor is on {X.device}")
