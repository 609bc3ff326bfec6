"""The compiled backend for the CPU: Numba, with row updates as single vector operations."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import numba
import numpy as np

from gpualto._arrays import Array, empty, is_aligned
from gpualto.backends import Fill
from gpualto.backends.cpu import bits, kernels, threads
from gpualto.backends.cpu.construction import delinearize, sort_entries
from gpualto.backends.cpu.plan import ModePlan, Segment, plan_mode
from gpualto.backends.dense import solve_normal_equations

if TYPE_CHECKING:
    from gpualto.tensor import Tensor

__all__ = [
    "delinearize",
    "describe",
    "explain",
    "mttkrp",
    "plan_mttkrp",
    "run_plan",
    "solve_normal_equations",
    "sort_entries",
]

_PANEL_BYTES = 2048
"""Bytes of a row that one kernel works on; longer rows take several passes."""

_LEAST_BYTES = 1 << 20
"""Bytes that a thread is given at least where memory is filled or added."""


def mttkrp(
    X: Tensor, factors: list[Array | None], mode: int, out: Array, *, deterministic: bool = False
) -> None:
    """Fill `out`: see `gpualto.backends.reference.mttkrp`; sums are of the type of `out`."""
    plan_mttkrp(X, mode, out.shape[1], out.dtype, deterministic=deterministic)(factors, out)


def plan_mttkrp(
    X: Tensor, mode: int, rank: int, dtype: np.dtype[np.floating], *, deterministic: bool = False
) -> Fill:
    """Return the MTTKRP of a mode, planned."""
    if X.nnz == 0 or rank == 0:
        return lambda factors, out: out.fill(0)
    plan = plan_mode(X, mode, rank, deterministic=deterministic)
    return lambda factors, out: run_plan(plan, X, factors, out)


def describe() -> str:
    """Return what this backend is, and what it found."""
    decoding = "BMI2" if bits.has_fast_bmi2() else "shifts"
    return f"compiled by Numba {numba.__version__}, {threads.count()} threads, bits by {decoding}"


def explain(X: Tensor, mode: int, rank: int, *, deterministic: bool = False) -> str:
    """Return the strategy of a mode and the reason for it."""
    return str(plan_mode(X, mode, rank, deterministic=deterministic))


def run_plan(plan: ModePlan, X: Tensor, factors: list[Array | None], out: Array) -> None:
    """Fill `out` by a plan."""
    modes = [plan.mode, *(n for n in range(X.ndim) if n != plan.mode)]
    inputs = [as_rows(factors[n], out.dtype, X.nnz) for n in modes[1:]]
    layout = bits.layout_of(X.encoding, modes)
    private = [empty((segment.private_rows, out.shape[1]), out.dtype) for segment in plan.segments]
    _zero([out, *private])
    stride = out.strides[0]
    for panel in range(0, stride, _PANEL_BYTES):
        kernel = kernels.mttkrp_kernel(stride, min(stride - panel, _PANEL_BYTES), out.dtype)
        bases = tuple(np.uint64(factor.ctypes.data + panel) for factor in inputs)
        places = map(_place, plan.segments, repeat(out), private, repeat(panel))
        runs = zip(plan.segments, places, strict=True)
        threads.run(
            kernel,
            [
                (X.index, layout, X.values, plan.order, segment.start, segment.stop, bases, place)
                for segment, place in runs
            ],
            kept=(out, private, inputs),
        )
    for segment, rows in zip(plan.segments, private, strict=True):
        _merge(out[segment.low : segment.low + len(rows)], rows)


def as_rows(factor: Array, dtype: np.dtype[np.floating], nnz: int) -> Array:
    """Return a factor as contiguous rows of a type, on cache lines where a copy costs less than it saves."""
    fits = factor.dtype == dtype and factor.flags.c_contiguous and factor.flags.aligned
    if fits and (is_aligned(factor) or 2 * len(factor) > nnz):
        return factor
    rows = empty(factor.shape, dtype)
    rows[...] = factor
    return rows


def _place(segment: Segment, out: Array, private: Array, panel: int) -> kernels.Place:
    """Return where a segment writes, from byte `panel` of each row on."""
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


def _zero(arrays: list[Array]) -> None:
    def fill(numbers: Array, start: int, stop: int) -> None:
        numbers[start:stop].fill(0)

    for array in arrays:
        numbers = array.reshape(-1).view(np.uint8)  # bytes are filled by memset, twice as fast
        threads.run(fill, [(numbers, *piece) for piece in threads.split(numbers.size, _LEAST_BYTES)])


def _merge(rows: Array, private: Array) -> None:
    def add(start: int, stop: int) -> None:
        np.add(rows[start:stop], private[start:stop], out=rows[start:stop])

    threads.run(add, threads.split(len(rows), 1 + _LEAST_BYTES // max(rows.strides[0], 1)))
