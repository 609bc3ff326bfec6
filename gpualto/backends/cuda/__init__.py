"""The backend for CuPy arrays: the CUDA kernels of ``kernels/``, on the current device and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import VECTOR_BYTES, Array, array_module, is_aligned
from gpualto.backends import Fill
from gpualto.backends.cuda import formats
from gpualto.backends.cuda.construction import delinearize, sort_entries
from gpualto.backends.cuda.dense import solve_normal_equations
from gpualto.backends.cuda.plan import ModePlan, plan_mode, prepare
from gpualto.format.storage import StoredTensor
from gpualto.kernels import layout_source, translation_unit
from gpualto.ordering import argsort

if TYPE_CHECKING:
    from gpualto.tensor import AnyTensor, Tensor

__all__ = [
    "argsort",
    "delinearize",
    "describe",
    "explain",
    "mttkrp",
    "plan_mttkrp",
    "solve_normal_equations",
    "sort_entries",
    "source",
]


def mttkrp(
    X: AnyTensor, factors: list[Array | None], mode: int, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp`; sums are of the type of `out`.

    Asynchronous once the mode is planned: nothing is read back.
    """
    if out.size == 0:
        return
    inputs = [None if factor is None else _as_rows(factor, out.dtype) for factor in factors]
    plan_mttkrp(X, mode, out.shape[1], out.dtype, deterministic=deterministic)(inputs, out)


def plan_mttkrp(
    X: AnyTensor, mode: int, rank: int, dtype: np.dtype[np.floating], *, deterministic: bool = False
) -> Fill:
    """Return what fills an output from factors of this rank and type, by kernel launches and nothing else."""
    if isinstance(X, StoredTensor):
        if deterministic:
            raise ValueError(f"deterministic: for ALTO only, the tensor is in {X.format}")
        return formats.plan_mttkrp(X, mode, rank, dtype)
    return prepare(_plan_mode(X, mode, rank, dtype, deterministic), X, rank, dtype)


def source(X: AnyTensor, mode: int, rank: int, dtype: np.dtype[np.floating]) -> str:
    """Return the CUDA C++ that CuPy compiles: the constants of the bit layout, then the kernel."""
    if isinstance(X, StoredTensor):
        return formats.source(X)
    strategy = plan_mode(X, mode, rank, dtype).strategy
    return f"{layout_source(X.encoding)}\n{translation_unit(f'mttkrp_{strategy}.cu')}"


def _plan_mode(
    X: Tensor, mode: int, rank: int, dtype: np.dtype[np.floating], deterministic: bool
) -> ModePlan:
    return plan_mode(X, mode, rank, dtype, "deterministic" if deterministic else None)


def describe() -> str:
    """Return what this backend is."""
    return "CUDA kernels by CuPy"


def explain(X: AnyTensor, mode: int, rank: int, *, deterministic: bool = False) -> str:
    """Return the strategy of a mode and the reason for it."""
    if isinstance(X, StoredTensor):
        return formats.explain(X, mode)
    return str(_plan_mode(X, mode, rank, X.dtype, deterministic))


def _as_rows(factor: Array, dtype: np.dtype[np.floating]) -> Array:
    """Return a factor as contiguous rows of a type that vectors can be read from."""
    rows = array_module(factor).ascontiguousarray(factor, dtype)
    return rows if is_aligned(rows, VECTOR_BYTES) else rows.copy()
