"""The compiled backend for the CPU: Numba, with row updates as single vector operations."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numba
import numpy as np

from gpualto._arrays import Array
from gpualto.backends import Fill, reference
from gpualto.backends.cpu import bits, generated, kernels, threads
from gpualto.backends.cpu.construction import argsort, delinearize, sort_entries
from gpualto.backends.cpu.passes import addresses, run_plan, run_ratios
from gpualto.backends.cpu.plan import plan_mode
from gpualto.backends.cpu.rows import PANEL_BYTES, as_rows, row_bytes
from gpualto.backends.dense import solve_normal_equations
from gpualto.backends.ratios import two_passes
from gpualto.backends.reference import sum_runs
from gpualto.format.storage import StoredTensor

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
    "run_plan",
    "solve_normal_equations",
    "sort_entries",
    "source",
    "sum_runs",
]


def mttkrp(
    X: AnyTensor, factors: list[Array | None], mode: int, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp`; sums are of the type of `out`."""
    plan_mttkrp(X, mode, out.shape[1], out.dtype, deterministic=deterministic)(factors, out)


def plan_mttkrp(
    X: AnyTensor, mode: int, rank: int, dtype: np.dtype[np.floating], *, deterministic: bool = False
) -> Fill:
    """Return the MTTKRP of a mode, planned."""
    if isinstance(X, StoredTensor):
        return generated.plan_mttkrp(X, mode, rank, dtype, deterministic=deterministic)
    if X.nnz == 0 or rank == 0:
        return lambda factors, out: out.fill(0)
    plan = plan_mode(X, mode, rank, deterministic=deterministic)
    return lambda factors, out: run_plan(plan, X, factors, out)


def model_values(X: AnyTensor, factors: list[Array], out: Array) -> None:
    """Fill `out` with the sums of the products of factor rows at the nonzeros, of the type of `out`."""
    if isinstance(X, StoredTensor) or out.size == 0:
        reference.model_values(X, factors, out)
        return
    inputs = [as_rows(factor, out.dtype, X.nnz) for factor in factors]
    layout = bits.layout_of(X.encoding, range(X.ndim))
    stride = row_bytes(inputs[0])
    out.fill(0)
    for panel in range(0, stride, PANEL_BYTES):
        kernel = kernels.model_values_kernel(stride, min(stride - panel, PANEL_BYTES), out.dtype)
        bases = addresses(inputs, panel)
        pieces = threads.split(X.nnz)
        threads.run(kernel, [(X.index, layout, bases, out, *piece) for piece in pieces], kept=inputs)


def mttkrp_of_ratios(
    X: Tensor, factors: list[Array], mode: int, smallest: float, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp_of_ratios`; one pass, but for very long rows."""
    if X.nnz == 0 or row_bytes(out) > PANEL_BYTES:
        two_passes(model_values, mttkrp, X, factors, mode, smallest, out, deterministic)
        return
    plan = plan_mode(X, mode, out.shape[1], deterministic=deterministic)
    run_ratios(plan, X, factors, smallest, out)


def describe() -> str:
    """Return what this backend is, and what it found."""
    decoding = "BMI2" if bits.has_fast_bmi2() else "shifts"
    return f"compiled by Numba {numba.__version__}, {threads.count()} threads, bits by {decoding}"


def explain(X: AnyTensor, mode: int, rank: int, *, deterministic: bool = False) -> str:
    """Return the strategy of a mode and the reason for it."""
    if isinstance(X, StoredTensor):
        return generated.explain(X, mode)
    return str(plan_mode(X, mode, rank, deterministic=deterministic))


def source(X: AnyTensor, mode: int, rank: int, dtype: np.dtype[np.floating]) -> str:
    """Return the code that Numba compiles: written for a format, or the loops for ALTO."""
    if isinstance(X, StoredTensor):
        return generated.source(X, mode, rank, dtype)
    return inspect.getsource(kernels)
