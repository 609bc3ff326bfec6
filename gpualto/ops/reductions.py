"""From a tensor to fewer modes, or to a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from gpualto._arrays import Array, array_module, as_modes, blocks, largest_size
from gpualto.encoding import AltoEncoding
from gpualto.ordering import group
from gpualto.tensor import AnyTensor, Tensor, require_any_tensor

How = Literal["sum", "max", "min"]

_SMALLEST_SQUARE, _LARGEST_SQUARE = 1e-200, 1e200


def norm(values: Array) -> float:
    """Return the 2-norm of values, which is the Frobenius norm of the tensor; squares stay in range.

    Examples
    --------
    >>> Tensor.from_coo([[0, 2]], [3.0, 4.0]).norm()
    5.0
    """
    with np.errstate(over="ignore"):
        square = _sum_of_squares(values, 1.0)
    if _SMALLEST_SQUARE < square < _LARGEST_SQUARE:
        return math.sqrt(square)
    largest = largest_size(values)
    if largest == 0 or not math.isfinite(largest):
        return largest
    return largest * math.sqrt(_sum_of_squares(values, largest))


def _sum_of_squares(values: Array, unit: float) -> float:
    """Return the sum of the squares, counted in a unit that keeps them in range."""
    pieces = blocks(values.size, array_module(values), 1 << 20)
    parts = (values[block].astype(np.float64, copy=False) / unit for block in pieces)
    return math.fsum(float(np.dot(part, part)) for part in parts)


def collapse(X: AnyTensor, axis: int | Sequence[int] | None = None, how: How = "sum") -> Tensor | float:
    """Combine the entries that differ in some modes only.

    Parameters
    ----------
    X : Tensor or StoredTensor
    axis : int or sequence of int, optional
        Modes that are left out of the result; negative ones count from the back; by default all of them.
    how : {"sum", "max", "min"}
        What becomes of entries that meet. Of stored entries only: a cell without one takes no part.

    Returns
    -------
    Tensor
        Of the modes that are left, with their labels; a number where none is.

    Raises
    ------
    ValueError
        If a mode does not exist or is named twice, if `how` is none of these, or if there is no entry to take
        the largest or smallest of.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 2], [1, 3, 3]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> collapse(X, axis=1).todense()
    array([3., 0., 3.])
    >>> collapse(X, axis=0, how="max").todense(), collapse(X)
    (array([0., 1., 0., 3.]), 6.0)
    """
    require_any_tensor(X)
    if how not in get_args(How):
        raise ValueError(f"how: expected one of {get_args(How)}, got {how!r}")
    gone = _axes(axis, X.ndim)
    left = [mode for mode in range(X.ndim) if mode not in gone]
    coords, values = X.entries()
    if not left:
        return _combine(values, how)
    shape, labels = [X.shape[mode] for mode in left], [X.labels[mode] for mode in left]
    kept = [coords[mode] for mode in left]
    if how == "sum":
        return Tensor.from_coo(kept, values, shape, labels=labels)
    encoding = AltoEncoding(shape)
    by_value = values.argsort()
    index = encoding.linearize([row[by_value] for row in kept])
    order, first = group(index)  # stable: the values of equal indices increase
    index, values = tuple(word[order] for word in index), values[by_value][order]
    starts = first.nonzero()[0]
    ends = _ends(starts, values.size)
    chosen = values[ends] if how == "max" else _smallest(values[starts], values[ends])
    return Tensor(encoding, tuple(word[starts] for word in index), chosen, tuple(labels))


def _ends(starts: Array, count: int) -> Array:
    ends = starts.copy()
    ends[:-1] = starts[1:] - 1
    ends[-1:] = count - 1
    return ends


def _smallest(first: Array, last: Array) -> Array:
    """Return the first of increasing values, unless there is a NaN, which sorts last."""
    xp = array_module(first)
    return xp.where(xp.isnan(last), last, first)


def _axes(axis: int | Sequence[int] | None, ndim: int) -> list[int]:
    if axis is None:
        return list(range(ndim))
    return as_modes(axis if isinstance(axis, Sequence) else [axis], ndim, "axis")


def _combine(values: Array, how: How) -> float:
    if how == "sum":
        return float(values.sum(dtype=np.float64))
    if values.size == 0:
        raise ValueError(f"how: there is no entry to take the {how} of")
    return float(getattr(values, how)())
