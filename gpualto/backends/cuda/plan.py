"""How the MTTKRP of one tensor, mode and rank is computed on the device: the strategy, and its launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.backends import Fill
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
    if X.nnz == 0:
        return ModePlan(mode, strategy or "atomic", "there are no nonzeros")
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


def prepare(plan: ModePlan, X: Tensor, rank: int, dtype: np.dtype[np.floating]) -> Fill:
    """Return what fills an output by launches on the current stream: kernels compiled, scratch allocated."""
    if X.nnz == 0:
        return lambda factors, out: out.fill(0)
    makers = {
        "staged": _staged_launch,
        "atomic": _atomic_launch,
        "deterministic": _deterministic_launches,
    }
    launch = makers[plan.strategy](plan, _Given(X, plan.mode, rank, dtype))

    def fill(factors: list[Array | None], out: Array) -> None:
        out.fill(0)
        launch(pointers([np.uint64(0) if f is None else address(f) for f in factors]), address(out))

    return fill


_Launch = Callable[[Array, np.uint64], None]
"""What is left to be given: the addresses of the factors, and that of the output."""


class _Given:
    """What the kernels of all strategies are given; keeps the arrays alive that they are told of."""

    def __init__(self, X: Tensor, mode: int, rank: int, dtype: np.dtype[np.floating]) -> None:
        self.cupy = array_module(X.values)
        self.X, self.rank, self.dtype = X, rank, dtype
        self.columns = columns_of(rank, dtype)
        self.types = f"{mode}, {c_name(X.dtype)}, {c_name(dtype)}, {rank}"
        self.words = words_parameter(X.index)
        self.values = address(X.values)
        self.nnz = np.int64(X.nnz)

    def kernel(self, file: str, expression: str) -> Any:
        return kernel(self.cupy, self.X.encoding, file, expression)


def _atomic_launch(plan: ModePlan, given: _Given) -> _Launch:
    function = given.kernel("mttkrp_atomic.cu", f"mttkrp_atomic<Layout, {given.types}, {_ATOMIC_THREADS}>")
    grid = (blocks_for(given.cupy, function, _ATOMIC_THREADS, given.X.nnz), given.columns.panels)

    def launch(factors: Array, out: np.uint64) -> None:
        function(grid, (_ATOMIC_THREADS,), (given.words, given.values, given.nnz, factors, out))

    return launch


def _staged_launch(plan: ModePlan, given: _Given) -> _Launch:
    assert plan.staging is not None
    function = given.kernel("mttkrp_staged.cu", f"mttkrp_staged<Layout, {given.types}, {_STAGED_THREADS}>")
    segments = plan.staging.segments
    grid = (len(segments), given.columns.panels)
    shared = plan.staging.most_rows * given.columns.panel_width * given.dtype.itemsize
    # The kernel may serve another plan that needs more.
    function.max_dynamic_shared_size_bytes = max(shared, function.max_dynamic_shared_size_bytes)

    def launch(factors: Array, out: np.uint64) -> None:
        parameters = (given.words, given.values, address(segments), factors, out)
        function(grid, (_STAGED_THREADS,), parameters, shared_mem=shared)

    return launch


@dataclass(frozen=True, eq=False)
class _Level:
    """One round of the deterministic sum: how many items it takes, and where it leaves what pieces carry."""

    count: int
    rows: Array
    sums: Array


def _deterministic_launches(plan: ModePlan, given: _Given) -> _Launch:
    """Sum pieces of nonzeros, then pieces of what they carry, until there is one piece."""
    assert plan.order is not None
    order = plan.order
    file = "mttkrp_deterministic.cu"
    first = given.kernel(
        file, f"mttkrp_deterministic<Layout, {given.types}, {c_name(order.dtype)}, {_SUM_THREADS}>"
    )
    next_one = given.kernel(file, f"sum_carries<{c_name(given.dtype)}, {given.rank}, {_SUM_THREADS}>")
    levels = _levels(given)

    def launch(factors: Array, out: np.uint64) -> None:
        function: Any = first
        items: tuple[Any, ...] = (given.words, given.values, address(order))
        more: tuple[Any, ...] = (factors,)
        for level in levels:
            groups = len(level.rows) // 2 * given.columns.lanes
            grid = (-(-groups // _SUM_THREADS), given.columns.panels)
            targets = (out, address(level.rows), address(level.sums))
            parameters = (*items, np.int64(level.count), np.int32(_PIECE), *more, *targets)
            function(grid, (_SUM_THREADS,), parameters)
            function, items, more = next_one, targets[1:], ()

    return launch


def _levels(given: _Given) -> list[_Level]:
    """Allocate what all levels carry: each reads what the one before wrote, so none may share memory."""
    levels = []
    count = given.X.nnz
    while count:
        carried = 2 * -(-count // _PIECE)
        rows = given.cupy.empty(carried, np.int64)
        levels.append(_Level(count, rows, given.cupy.empty((carried, given.rank), given.dtype)))
        count = carried if carried > 2 else 0
    return levels
