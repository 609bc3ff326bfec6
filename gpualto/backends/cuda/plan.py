"""How the MTTKRP of one tensor, mode and rank is computed on the device: the strategy, and its launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.backends.cuda.columns import columns_of
from gpualto.backends.cuda.construction import coordinates_of_mode
from gpualto.backends.cuda.launching import (
    Device,
    address,
    blocks_for,
    c_name,
    current_device,
    kernel,
    pointers,
    words_parameter,
)
from gpualto.partition import STAGING_REUSE, segment_bounds
from gpualto.tensor import Tensor

STRATEGIES = ("staged", "atomic", "deterministic")

_ATOMIC_THREADS = 128
_STAGED_THREADS = 256
_SUM_THREADS = 128
_PIECE = 128
_FINE_SEGMENTS = 16
"""Segments a multiprocessor that intervals are worked out for; coarser ones are merged from them."""

_TILE_BYTES = 16 * 1024
"""Shared memory left to the kernel's own variables."""


@dataclass(frozen=True, eq=False)
class Staging:
    """Segments that fit shared memory: a (segments, 4) array of begin, end, first row and number of rows."""

    segments: Array
    most_rows: int
    all_rows: int


@dataclass(frozen=True, eq=False)
class ModePlan:
    """One mode's strategy, the reason for it, and what it needs.

    Parameters
    ----------
    staging : Staging, optional
        For the strategy *staged*.
    order : (nnz,) device array, optional
        For *deterministic*: the nonzeros by output row.
    """

    mode: int
    strategy: str
    reason: str
    staging: Staging | None = None
    order: Array | None = None

    def __str__(self) -> str:
        """Return the strategy and the reason for it."""
        return f"mode {self.mode}: {self.strategy}, {self.reason}"


def plan_mode(
    X: Tensor, mode: int, rank: int, dtype: np.dtype[np.floating], strategy: str | None = None
) -> ModePlan:
    """Return the plan for a mode, made on first need and kept with the tensor."""
    key = ("cuda", mode, rank, dtype, strategy)
    if key not in X.derived:
        X.derived[key] = _make_plan(X, mode, rank, dtype, strategy)
    plan: ModePlan = X.derived[key]
    return plan


def _make_plan(
    X: Tensor, mode: int, rank: int, dtype: np.dtype[np.floating], strategy: str | None
) -> ModePlan:
    if strategy not in (None, *STRATEGIES):
        raise ValueError(f"strategy: expected one of {STRATEGIES}, got {strategy!r}")
    if strategy == "deterministic":
        return ModePlan(mode, strategy, "nonzeros by output row", order=_order(X, mode))
    device = current_device(array_module(X.values))
    width = columns_of(rank, dtype).panel_width * dtype.itemsize
    staging = _staging(X, mode, device, width)
    if staging is None:
        if strategy == "staged":
            raise ValueError(
                f"strategy: the rows of a segment do not fit {device.shared_bytes} bytes of shared memory"
            )
        return ModePlan(mode, "atomic", "the rows of a segment do not fit shared memory")
    reuse = X.nnz / staging.all_rows
    reason = f"{reuse:.1f} nonzeros a row that {len(staging.segments)} segments would stage"
    if strategy == "staged" or (strategy is None and reuse > STAGING_REUSE):
        return ModePlan(mode, "staged", reason, staging=staging)
    return ModePlan(mode, "atomic", reason)


def _staging(X: Tensor, mode: int, device: Device, row_bytes: int) -> Staging | None:
    """Return the fewest segments, but one a multiprocessor at least, whose rows fit shared memory."""
    bounds, low, high = _intervals(X, device)
    low, high = low[:, mode], high[:, mode]
    fitting = None
    while True:
        rows = high - low + 1
        if int(rows.max()) * row_bytes + _TILE_BYTES <= device.shared_bytes:
            fitting = np.stack([bounds[:-1], bounds[1:], low, rows], axis=1)
        if len(low) < 2 * device.multiprocessors:
            break
        starts = np.arange(0, len(low), 2)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        bounds = np.append(bounds[:-1][::2], bounds[-1])
    if fitting is None:
        return None
    segments = array_module(X.values).asarray(fitting)
    return Staging(segments, int(fitting[:, 3].max()), int(fitting[:, 3].sum()))


def _intervals(X: Tensor, device: Device) -> tuple[Array, Array, Array]:
    """Return bounds, and least and largest coordinates, of fine segments on the host; read once a tensor."""
    key = ("cuda", "intervals")
    if key not in X.derived:
        cupy = array_module(X.values)
        bounds = segment_bounds(X.nnz, _FINE_SEGMENTS * device.multiprocessors)
        count = bounds.size - 1
        size, longer = divmod(X.nnz, count)
        extremes = cupy.empty((2, count, X.ndim), np.int64)
        find = kernel(cupy, X.encoding, "intervals.cu", f"segment_intervals<Layout, {_SUM_THREADS}>")
        parameters = (np.int64(size), np.int64(longer), address(extremes[0]), address(extremes[1]))
        find((count,), (_SUM_THREADS,), (words_parameter(X.index), *parameters))
        X.derived[key] = (bounds, *extremes.get())
    intervals: tuple[Array, Array, Array] = X.derived[key]
    return intervals


def _order(X: Tensor, mode: int) -> Array:
    order = coordinates_of_mode(X.encoding, X.index, mode).argsort()
    return order.astype(np.uint32 if X.nnz <= 2**32 else np.int64)


def run_plan(plan: ModePlan, X: Tensor, factors: list[Array | None], out: Array) -> None:
    """Fill `out`, which is zero, by launches on the current stream."""
    launch = {"staged": _run_staged, "atomic": _run_atomic, "deterministic": _run_deterministic}
    launch[plan.strategy](plan, X, _Call(X, plan.mode, factors, out))


class _Call:
    """What the kernels of all strategies are given."""

    def __init__(self, X: Tensor, mode: int, factors: list[Array | None], out: Array) -> None:
        self.cupy = array_module(X.values)
        self.out, self.rank, self.dtype = out, out.shape[1], out.dtype
        self.columns = columns_of(self.rank, out.dtype)
        self.types = f"{mode}, {c_name(X.dtype)}, {c_name(out.dtype)}, {self.rank}"
        self.words = words_parameter(X.index)
        self.values = address(X.values)
        self.nnz = np.int64(X.nnz)
        self.factors = pointers([np.uint64(0) if f is None else address(f) for f in factors])


def _run_atomic(plan: ModePlan, X: Tensor, call: _Call) -> None:
    expression = f"mttkrp_atomic<Layout, {call.types}, {_ATOMIC_THREADS}>"
    function = kernel(call.cupy, X.encoding, "mttkrp_atomic.cu", expression)
    grid = (blocks_for(call.cupy, function, _ATOMIC_THREADS, X.nnz), call.columns.panels)
    function(grid, (_ATOMIC_THREADS,), (call.words, call.values, call.nnz, call.factors, address(call.out)))


def _run_staged(plan: ModePlan, X: Tensor, call: _Call) -> None:
    assert plan.staging is not None
    expression = f"mttkrp_staged<Layout, {call.types}, {_STAGED_THREADS}>"
    function = kernel(call.cupy, X.encoding, "mttkrp_staged.cu", expression)
    shared = plan.staging.most_rows * call.columns.panel_width * call.dtype.itemsize
    function.max_dynamic_shared_size_bytes = shared
    segments = plan.staging.segments
    parameters = (call.words, call.values, address(segments), call.factors, address(call.out))
    function((len(segments), call.columns.panels), (_STAGED_THREADS,), parameters, shared_mem=shared)


def _run_deterministic(plan: ModePlan, X: Tensor, call: _Call) -> None:
    """Sum pieces of nonzeros, then pieces of what they carry, until there is one piece."""
    assert plan.order is not None
    first = f"mttkrp_deterministic<Layout, {call.types}, {c_name(plan.order.dtype)}, {_SUM_THREADS}>"
    level = f"sum_carries<{c_name(call.dtype)}, {call.rank}, {_SUM_THREADS}>"
    function = kernel(call.cupy, X.encoding, "mttkrp_deterministic.cu", first)
    given: tuple[Any, ...] = (call.words, call.values, address(plan.order))
    more: tuple[Any, ...] = (call.factors,)
    kept = []  # a level reads what the one before wrote: the pool must not hand it out again yet
    count = X.nnz
    while count:
        pieces = -(-count // _PIECE)
        rows = call.cupy.empty(2 * pieces, np.int64)
        sums = call.cupy.empty((2 * pieces, call.rank), call.dtype)
        kept += [rows, sums]
        grid = (-(-pieces * call.columns.lanes // _SUM_THREADS), call.columns.panels)
        targets = (address(call.out), address(rows), address(sums))
        function(grid, (_SUM_THREADS,), (*given, np.int64(count), np.int32(_PIECE), *more, *targets))
        function = kernel(call.cupy, X.encoding, "mttkrp_deterministic.cu", level)
        given, more = (address(rows), address(sums)), ()
        count = 2 * pieces if pieces > 1 else 0
