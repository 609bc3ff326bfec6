"""The backend for CuPy arrays: the CUDA kernels of ``kernels/``, on the current device and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.backends.cuda.construction import delinearize, sort_entries
from gpualto.backends.cuda.dense import solve_normal_equations
from gpualto.backends.cuda.plan import plan_mode, run_plan

if TYPE_CHECKING:
    from gpualto.tensor import Tensor

__all__ = ["delinearize", "describe", "explain", "mttkrp", "solve_normal_equations", "sort_entries"]

_VECTOR_BYTES = 16


def mttkrp(
    X: Tensor, factors: list[Array | None], mode: int, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp`; sums are of the type of `out`.

    Asynchronous once the mode is planned: nothing is read back.
    """
    out.fill(0)
    if X.nnz == 0 or out.size == 0:
        return
    inputs = [None if factor is None else _as_rows(factor, out.dtype) for factor in factors]
    plan = plan_mode(X, mode, out.shape[1], out.dtype, "deterministic" if deterministic else None)
    run_plan(plan, X, inputs, out)


def describe() -> str:
    """Return what this backend is."""
    return "CUDA kernels by CuPy"


def explain(X: Tensor, mode: int, rank: int) -> str:
    """Return the strategy of a mode and the reason for it."""
    return str(plan_mode(X, mode, rank, X.dtype))


def _as_rows(factor: Array, dtype: np.dtype[np.floating]) -> Array:
    """Return a factor as contiguous rows of a type that vectors can be read from."""
    rows = array_module(factor).ascontiguousarray(factor, dtype)
    return rows if rows.data.ptr % _VECTOR_BYTES == 0 else rows.copy()
