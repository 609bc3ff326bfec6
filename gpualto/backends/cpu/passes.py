"""Passes over the nonzeros that write rows: a segment of a plan a thread, private rows added at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import Array, empty
from gpualto.backends.cpu import bits, kernels, threads
from gpualto.backends.cpu.plan import ModePlan, Segment
from gpualto.backends.cpu.rows import PANEL_BYTES, as_rows, fill_zero, merge, row_bytes

if TYPE_CHECKING:
    from gpualto.tensor import Tensor


def run_plan(plan: ModePlan, X: Tensor, factors: list[Array | None], out: Array) -> None:
    """Fill `out` by a plan."""
    modes = _modes_from(plan.mode, X.ndim)
    inputs = [as_rows(factors[n], out.dtype, X.nnz) for n in modes[1:]]
    layout = bits.layout_of(X.encoding, modes)
    stride = row_bytes(out)
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


def run_ratios(plan: ModePlan, X: Tensor, factors: list[Array], smallest: float, out: Array) -> None:
    """Fill `out` with the MTTKRP of data over model by a plan; rows are no longer than a panel."""
    modes = _modes_from(plan.mode, X.ndim)
    inputs = [as_rows(factors[n], out.dtype, X.nnz) for n in modes]
    layout = bits.layout_of(X.encoding, modes)
    private = private_rows(plan, out)
    bases, least = addresses(inputs), out.dtype.type(smallest)
    threads.run(
        kernels.ratios_kernel(row_bytes(out), out.dtype),
        [
            (X.index, layout, X.values, plan.order, segment.start, segment.stop, least, bases, place)
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
        return kernels.Plain(np.uint64((address - segment.low * row_bytes(out)) % 2**64))
    return kernels.Split(rows, np.uint64(address), low, count)
