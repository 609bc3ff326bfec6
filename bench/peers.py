"""Tensors of other packages, made from one of gpualto in the way that suits each best."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.harness import UnavailableError
from bench.machine import memory_bytes
from gpualto import Tensor
from gpualto._arrays import Array
from gpualto._optional import require

_SHARE_OF_MEMORY = 0.25
"""What TensorLy's scratch may take before it is left out."""


def package(name: str) -> Any:
    """Import and return a package or a module of one, which may be missing."""
    return require(name, "bench", "this peer")


def pyttb_tensor(X: Tensor) -> Any:
    """Return an ``sptensor``; its arrays are column-major, as pyttb makes them itself."""
    subs, vals = np.asfortranarray(X.coords.T), np.array(X.values, ndmin=2).T
    return package("pyttb").sptensor(subs, vals, X.shape)


def require_quick_columns(X: Any, budget: float, columns: int) -> None:
    """Raise unless pyttb can do so many columns of the MTTKRP of all modes in a time, as one of them says.

    Its first run is not timed, and would take no end on long modes: where most rows of the output are
    empty, it sorts all rows of the mode for each column.
    """
    factors = [np.ones((length, 1), order="F") for length in X.shape]
    began = time.perf_counter()
    for mode in range(len(X.shape)):
        X.mttkrp(factors, mode)
        seconds = columns * (time.perf_counter() - began)
        if seconds > budget:
            raise UnavailableError(f"not run: would take more than {seconds:,.0f} s")


def sparse_tensor(X: Tensor) -> Any:
    """Return a ``COO`` array of PyData Sparse."""
    return package("sparse").COO(X.coords, X.values, shape=X.shape)


def column_major(factors: Sequence[Array]) -> list[Array]:
    """Return the factors with contiguous columns: pyttb works on one column after the other."""
    return [np.asfortranarray(factor) for factor in factors]


def as_dense(array: Any) -> Array:
    """Return an array of NumPy, whether or not PyData Sparse made it."""
    return array.todense() if hasattr(array, "todense") else np.asarray(array)


def require_khatri_rao(shape: Sequence[int], rank: int) -> None:
    """Raise unless the Khatri-Rao products that TensorLy forms are small beside the memory.

    Its other MTTKRP, which multiplies with one column after the other, is no way out: in between it makes
    matrices with a row pointer for every cell of the other modes, most of a minute for those of nips.
    """
    nbytes = 8 * rank * math.prod(shape) // max(min(shape), 1)
    if nbytes > _SHARE_OF_MEMORY * memory_bytes():
        raise UnavailableError(f"not run: forms a Khatri-Rao product of {nbytes / 1e9:,.0f} GB")
