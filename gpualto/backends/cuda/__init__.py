"""The backend for CuPy arrays: the CUDA kernels of ``kernels/``, on the current device and stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import VECTOR_BYTES, Array, array_module, is_aligned
from gpualto.backends import Fill, reference
from gpualto.backends.cuda import formats
from gpualto.backends.cuda.construction import delinearize, sort_entries
from gpualto.backends.cuda.dense import solve_normal_equations
from gpualto.backends.cuda.launching import address, blocks_for, c_name, kernel, pointers, words_parameter
from gpualto.backends.cuda.plan import ModePlan, plan_mode, prepare
from gpualto.backends.cuda.runs import sum_runs
from gpualto.backends.ratios import two_passes
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
    "model_values",
    "mttkrp",
    "mttkrp_of_ratios",
    "plan_mttkrp",
    "solve_normal_equations",
    "sort_entries",
    "source",
    "sum_runs",
]

_THREADS = 128


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


def model_values(X: AnyTensor, factors: list[Array], out: Array) -> None:
    """Fill `out` with the sums of the products of factor rows at the nonzeros, of the type of `out`."""
    if isinstance(X, StoredTensor) or out.size == 0:
        reference.model_values(X, factors, out)
        return
    cupy, rank = array_module(out), factors[0].shape[1]
    rows = [_as_rows(factor, out.dtype) for factor in factors]
    expression = f"model_values<Layout, {c_name(out.dtype)}, {rank}, {_THREADS}>"
    function = kernel(cupy, X.encoding, "model_values.cu", expression)
    grid = (blocks_for(cupy, function, _THREADS, X.nnz),)
    parameters = (words_parameter(X.index), np.int64(X.nnz), pointers(list(map(address, rows))), address(out))
    function(grid, (_THREADS,), parameters)


def mttkrp_of_ratios(
    X: Tensor, factors: list[Array], mode: int, smallest: float, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp_of_ratios`."""
    two_passes(model_values, mttkrp, X, factors, mode, smallest, out, deterministic)


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
