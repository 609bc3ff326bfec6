"""Changing values where they are stored, in the same format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from gpualto._arrays import Array, array_module, as_array, as_floats
from gpualto.format.decoding import decode
from gpualto.format.storage import StoredTensor
from gpualto.tensor import Tensor, require_any_tensor

T = TypeVar("T", Tensor, StoredTensor)


def map_values(X: T, function: Callable[[Array], Array]) -> T:
    """Return the tensor with a function applied to its entries; cells without an entry stay zero.

    Parameters
    ----------
    X : Tensor or StoredTensor
    function : callable
        Gets the values of all entries as one array, and returns as many.

    Raises
    ------
    ValueError
        If it returns another number of values.

    Examples
    --------
    >>> import numpy as np
    >>> X = Tensor.from_coo([[0, 2]], [3.0, 4.0], shape=(4,))
    >>> map_values(X, np.log1p).todense().round(2)
    array([1.39, 0.  , 1.61, 0.  ])
    >>> map_values(X.to_format("(i) -> (i : dense)"), lambda values: values + 1).values
    array([4., 0., 5., 0.])
    """
    require_any_tensor(X)
    if isinstance(X, Tensor):
        return replace(X, values=_mapped(X.values, function))
    is_entry = _entry_mask(X)
    values = X.values * 0
    mapped = _mapped(X.values[is_entry], function)
    values = values.astype(mapped.dtype, copy=False)
    values[is_entry] = mapped
    return replace(X, values=values)


def _mapped(values: Array, function: Callable[[Array], Array]) -> Array:
    result = as_array(function(values))
    if result.shape != values.shape:
        raise ValueError(f"function: returned an array of shape {result.shape} for {values.size} entries")
    return as_floats(result, "function")


def _entry_mask(X: StoredTensor) -> Array:
    """Mark the positions that are entries: see `gpualto.format.decoding.entries`."""
    _, stored = decode(X, array_module(X.values).arange(X.nse))
    return stored if X.format.tells_zeros else stored & (X.values != 0)
