"""Comparisons for tests, as in `numpy.testing`, on any device."""

from __future__ import annotations

import numpy as np

from gpualto.tensor import Tensor


def assert_tensors_equal(actual: Tensor, desired: Tensor) -> None:
    """Raise `AssertionError` unless shapes, types, stored coordinates and values are exactly equal."""
    actual, desired = actual.to_device("cpu"), desired.to_device("cpu")
    _assert_same_pattern(actual, desired)
    assert actual.dtype == desired.dtype, f"types differ: {actual.dtype} and {desired.dtype}"
    np.testing.assert_array_equal(actual.values, desired.values)


def assert_tensors_close(actual: Tensor, desired: Tensor, rtol: float = 1e-7, atol: float = 0) -> None:
    """Raise `AssertionError` unless shapes and stored coordinates are equal and values close.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 2]], [1.0, 2.0])
    >>> assert_tensors_close(X.astype("float32"), X)
    """
    actual, desired = actual.to_device("cpu"), desired.to_device("cpu")
    _assert_same_pattern(actual, desired)
    np.testing.assert_allclose(actual.values, desired.values, rtol=rtol, atol=atol)


def _assert_same_pattern(actual: Tensor, desired: Tensor) -> None:
    assert actual.shape == desired.shape, f"shapes differ: {actual.shape} and {desired.shape}"
    assert actual.nnz == desired.nnz, f"numbers of nonzeros differ: {actual.nnz} and {desired.nnz}"
    np.testing.assert_array_equal(actual.coords, desired.coords)
