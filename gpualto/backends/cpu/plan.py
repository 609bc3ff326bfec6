"""How the threads share the nonzeros of one mode's MTTKRP, and who writes which row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpualto._arrays import Array
from gpualto.backends.cpu import bits, kernels, threads
from gpualto.backends.cpu.construction import stable_order
from gpualto.partition import Partition, segment_bounds
from gpualto.tensor import Tensor

Strategy = Literal["staged", "ordered", "atomic"]

STAGED_ROWS_PER_NONZERO = 0.1
"""Private rows a nonzero up to which staging is chosen.

By ``bench.strategies`` at rank 16: staging is mostly two to six times faster than the ordered pass where it
takes up to 0.07, and two to eight times slower from 0.5 on.
"""

_NUMBERS_PER_SEGMENT = 1 << 18
"""Numbers that a segment multiplies at least: below, threads cost more than they bring."""

_FIXED_SEGMENTS = 8
"""Segments of a deterministic plan, whatever the number of threads."""


@dataclass(frozen=True)
class Segment:
    """A run of positions that one thread takes, and what other threads mean to its rows.

    Parameters
    ----------
    start, stop : int
        Positions.
    sharing : {"alone", "private", "split", "atomic"}
        No other segment writes its rows; all of its rows are private until the end; those from `low` on are
        private; those are updated atomically.
    low, count : int
        The rows meant: `count` of them from `low` on.
    """

    start: int
    stop: int
    sharing: Literal["alone", "private", "split", "atomic"] = "alone"
    low: int = 0
    count: int = 0

    @property
    def private_rows(self) -> int:
        """Rows of memory beside the output."""
        return self.count if self.sharing in ("private", "split") else 0


@dataclass(frozen=True, eq=False)
class ModePlan:
    """The segments of one mode, their strategy and why.

    *staged*: rows that earlier segments may write go to private memory, which is added to the output at the
    end. *ordered*: nonzeros are taken by output row, in the order of a permutation, and segments meet at row
    boundaries. *atomic*: rows that other segments may write are updated atomically.
    """

    mode: int
    strategy: Strategy
    reason: str
    segments: tuple[Segment, ...]
    order: Array | None = None

    def __str__(self) -> str:
        return f"mode {self.mode}: {self.strategy}, {len(self.segments)} segments: {self.reason}"


def plan_mode(
    X: Tensor, mode: int, rank: int, *, deterministic: bool = False, strategy: Strategy | None = None
) -> ModePlan:
    """Return the plan of one mode, from the tensor's cache where it is known already.

    Parameters
    ----------
    X : Tensor
    mode, rank : int
    deterministic : bool
        Whether the result must not depend on the number of threads.
    strategy : {"staged", "ordered", "atomic"}, optional
        By default staged while that takes no more than a private row for ten nonzeros, else ordered.
    """
    nsegments = _FIXED_SEGMENTS if deterministic else threads.count()
    nsegments = max(min(nsegments, X.nnz * rank // _NUMBERS_PER_SEGMENT), 1)
    key = ("plan", mode, nsegments, strategy)
    if key not in X.derived:
        X.derived[key] = make_plan(X, mode, nsegments, strategy)
    plan = X.derived[key]
    assert isinstance(plan, ModePlan)
    return plan


def make_plan(X: Tensor, mode: int, nsegments: int, strategy: Strategy | None = None) -> ModePlan:
    """Return the plan of one mode for a number of segments."""
    if nsegments == 1:
        return ModePlan(mode, strategy or "staged", "one segment writes all rows", (Segment(0, X.nnz),))
    parts = intervals(X, nsegments)
    staged = _staged_segments(parts, mode)
    rows = sum(segment.private_rows for segment in staged)
    limit = int(STAGED_ROWS_PER_NONZERO * X.nnz)
    chosen = strategy or ("staged" if rows <= limit else "ordered")
    reason = "as asked for"
    if strategy is None:
        reason = f"{rows:,} private rows, {'not ' if rows <= limit else ''}more than {limit:,}"
    if chosen == "staged":
        return ModePlan(mode, chosen, reason, staged)
    if chosen == "atomic":
        return ModePlan(mode, chosen, reason, _atomic_segments(parts, mode))
    order = order_by_row(X, mode)
    return ModePlan(mode, chosen, reason, _row_segments(X, mode, order, nsegments), order)


def intervals(X: Tensor, nsegments: int) -> Partition:
    """Return equal segments and their intervals in every mode, by compiled code; kept with the tensor."""
    key = ("intervals", nsegments)
    if key not in X.derived:
        bounds = segment_bounds(X.nnz, nsegments)
        low = np.full((bounds.size - 1, X.ndim), np.iinfo(np.int64).max)
        high = np.full_like(low, -1)
        layout = bits.layout_of(X.encoding, range(X.ndim))
        pieces = zip(bounds[:-1], bounds[1:], low, high, strict=True)
        threads.run(kernels.mode_intervals, [(X.index, layout, *piece) for piece in pieces])
        X.derived[key] = Partition(bounds, low, high)
    parts = X.derived[key]
    assert isinstance(parts, Partition)
    return parts


def order_by_row(X: Tensor, mode: int) -> Array:
    """Return the stored positions ordered by the coordinate of a mode, stably; kept with the tensor."""
    key = ("order", mode)
    if key not in X.derived:
        X.derived[key] = stable_order(X.coords[mode], X.encoding.bits_per_mode[mode])
    return X.derived[key]


def _staged_segments(parts: Partition, mode: int) -> tuple[Segment, ...]:
    """Let each segment keep apart the rows that earlier ones may write, those in the hull of their intervals.

    Where that is at least half of its rows, all of them are kept apart, which saves a test at every nonzero.
    """
    segments = []
    for number, (start, stop) in enumerate(_ranges(parts.bounds)):
        first, last = int(parts.low[number, mode]), int(parts.high[number, mode])
        low = max(first, int(parts.low[:number, mode].min(initial=last + 1)))
        high = min(last, int(parts.high[:number, mode].max(initial=-1)))
        count = max(high - low + 1, 0)
        if count == 0:
            segments.append(Segment(start, stop))
        elif 2 * count >= last - first + 1:
            segments.append(Segment(start, stop, "private", first, last - first + 1))
        else:
            segments.append(Segment(start, stop, "split", low, count))
    return tuple(segments)


def _atomic_segments(parts: Partition, mode: int) -> tuple[Segment, ...]:
    """Mark for each segment the rows that any other may write."""
    segments = []
    for number, (start, stop) in enumerate(_ranges(parts.bounds)):
        others = np.arange(parts.nsegments) != number
        low = max(int(parts.low[number, mode]), int(parts.low[others, mode].min()))
        high = min(int(parts.high[number, mode]), int(parts.high[others, mode].max()))
        segments.append(Segment(start, stop, "atomic", low, max(high - low + 1, 0)))
    return tuple(segments)


def _row_segments(X: Tensor, mode: int, order: Array, nsegments: int) -> tuple[Segment, ...]:
    """Cut an order by rows into about equal segments that share no row."""
    rows = X.coords[mode][order]
    cuts = [int(np.searchsorted(rows, rows[cut])) for cut in segment_bounds(X.nnz, nsegments)[1:-1]]
    bounds = np.unique([0, *cuts, X.nnz])
    return tuple(Segment(start, stop) for start, stop in _ranges(bounds))


def _ranges(bounds: Array) -> list[tuple[int, int]]:
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
