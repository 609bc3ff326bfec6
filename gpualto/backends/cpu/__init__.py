"""The compiled backend for the CPU: Numba, with row updates as single vector operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numba
import numpy as np

from gpualto._arrays import Array, empty
from gpualto.backends import Fill, reference
from gpualto.backends.cpu import bits, generated, kernels, threads
from gpualto.backends.cpu.construction import argsort, delinearize, sort_entries
from gpualto.backends.cpu.plan import ModePlan, Segment, plan_mode
from gpualto.backends.cpu.rows import PANEL_BYTES, as_rows, fill_zero, merge
from gpualto.backends.dense import solve_normal_equations
from gpualto.backends.ratios import two_passes
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
    stride = inputs[0].strides[0]
    out.fill(0)
    for panel in range(0, stride, PANEL_BYTES):
        kernel = kernels.model_values_kernel(stride, min(stride - panel, PANEL_BYTES), out.dtype)
        bases = addresses(inputs, panel)
        pieces = threads.split(X.nnz)
        threads.run(kernel, [(X.index, layout, bases, out, *piece) for piece in pieces], kept=inputs)


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


def run_plan(plan: ModePlan, X: Tensor, factors: list[Array | None], out: Array) -> None:
    """Fill `out` by a plan."""
    modes = _modes_from(plan.mode, X.ndim)
    inputs = [as_rows(factors[n], out.dtype, X.nnz) for n in modes[1:]]
    layout = bits.layout_of(X.encoding, modes)
    stride = out.strides[0]
    private = private_rows(plan, out)
    for panel in range(0, stride, PANEL_BYTES):
        kernel = kernels.mttkrp_kernel(stride, min(stride - panel, PANEL_BYTES), out.dtype)
        bases = addresses(inputs, panel)
        threads.run(
            kernel,
            [
                (X.index, layout, X.values, plan.order, segment.start, segment.stop, bases, place)
                for segment, place in places(plan, out, private, panel)
            ],
            kept=(out, private, inputs),
        )
    merge_private(plan, out, private)


def mttkrp_of_ratios(
    X: Tensor, factors: list[Array], mode: int, smallest: float, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp_of_ratios`; in one pass."""
    if X.nnz == 0 or out.strides[0] > PANEL_BYTES:
        two_passes(model_values, mttkrp, X, factors, mode, smallest, out, deterministic)
        return
    plan = plan_mode(X, mode, out.shape[1], deterministic=deterministic)
    modes = _modes_from(mode, X.ndim)
    inputs = [as_rows(factors[n], out.dtype, X.nnz) for n in modes]
    layout = bits.layout_of(X.encoding, modes)
    private = private_rows(plan, out)
    bases, least = addresses(inputs), out.dtype.type(smallest)
    threads.run(
        kernels.ratios_kernel(out.strides[0], out.dtype),
        [
            (
                *(X.index, layout, X.values, plan.order, segment.start, segment.stop),
                *(least, bases, place),
            )
            for segment, place in places(plan, out, private)
        ],
        kept=(out, private, inputs),
    )
    merge_private(plan, out, private)


def _modes_from(first: int, ndim: int) -> list[int]:
    return [first, *(n for n in range(ndim) if n != first)]


def addresses(arrays: list[Array], offset: int = 0) -> tuple[np.uint64, ...]:
    """Return where the data of arrays begin, so many bytes on."""
    return tuple(np.uint64(array.ctypes.data + offset) for array in arrays)


def private_rows(plan: ModePlan, out: Array) -> list[Array]:
    """Return rows of zeros for the segments that need some of their own; `out` is filled with zeros too."""
    private = [empty((segment.private_rows, out.shape[1]), out.dtype) for segment in plan.segments]
    fill_zero([out, *private])
    return private


def merge_private(plan: ModePlan, out: Array, private: list[Array]) -> None:
    """Add private rows to the output."""
    for segment, rows in zip(plan.segments, private, strict=True):
        merge(out[segment.low : segment.low + len(rows)], rows)


def places(
    plan: ModePlan, out: Array, private: list[Array], panel: int = 0
) -> Iterator[tuple[Segment, kernels.Place]]:
    """Yield each segment, and where it writes, from byte `panel` of each row on."""
    for segment, rows in zip(plan.segments, private, strict=True):
        yield segment, _place(segment, out, rows, panel)


def _place(segment: Segment, out: Array, private: Array, panel: int) -> kernels.Place:
    rows = np.uint64(out.ctypes.data + panel)
    low, count = np.uint64(segment.low), np.uint64(segment.count)
    if segment.sharing == "alone":
        return kernels.Plain(rows)
    if segment.sharing == "atomic":
        return kernels.Atomic(rows, low, count)
    address = private.ctypes.data + panel
    if segment.sharing == "private":  # as if the private rows were all rows of the output
        return kernels.Plain(np.uint64((address - segment.low * out.strides[0]) % 2**64))
    return kernels.Split(rows, np.uint64(address), low, count)
