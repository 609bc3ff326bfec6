"""Line segments of equal size, the subspace each one touches, and what that says about write conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from gpualto._arrays import Array, blocks
from gpualto.tensor import Tensor

Strategy = Literal["staged", "atomic"]

STAGING_REUSE = 4.0
"""Fiber reuse above which staging pays for its merge: the value of the paper's code."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Equal runs of nonzeros, and per run and mode the closed interval of the coordinates it touches.

    The intervals of two segments may overlap: there lie the write conflicts that an operation resolves.

    Parameters
    ----------
    bounds : (nsegments + 1,) int64 array
        Segment s holds the stored positions ``bounds[s]`` to ``bounds[s + 1]``, the latter excluded.
    low, high : (nsegments, ndim) int64 arrays
        Smallest and largest coordinate of each segment in each mode.

    References
    ----------
    ALTO (ICS 2021), section 3.2: balanced workload partitioning, equation 3.
    """

    bounds: Array
    low: Array
    high: Array

    @property
    def nsegments(self) -> int:
        """Number of segments, none of them empty."""
        return int(self.bounds.size - 1)

    def staging_rows(self, mode: int) -> int:
        """Rows of scratch that staging takes if every segment accumulates its interval of `mode` apart."""
        return int((self.high[:, mode] - self.low[:, mode] + 1).sum())


def partition(X: Tensor, nsegments: int) -> Partition:
    """Split the nonzeros of a tensor into segments whose sizes differ by at most one.

    Parameters
    ----------
    X : Tensor
    nsegments : int
        At most; there are never more segments than nonzeros.

    Examples
    --------
    >>> X = Tensor.from_coo([[1, 3, 0, 2, 3, 1], [0, 1, 3, 2, 4, 6], [0, 1, 0, 1, 0, 1]], [1.0] * 6)
    >>> halves = partition(X, 2)
    >>> halves.low.tolist(), halves.high.tolist()
    ([[0, 0, 0], [1, 2, 0]], [[3, 3, 1], [3, 6, 1]])
    """
    bounds = segment_bounds(X.nnz, nsegments)
    low = np.empty((bounds.size - 1, X.ndim), np.int64)
    high = np.empty_like(low)
    for segment, (start, stop) in enumerate(pairwise(bounds.tolist())):
        pieces = [
            X.decode(slice(start + b.start, start + b.stop)) for b in blocks(stop - start, size=1 << 20)
        ]
        low[segment] = np.min([piece.min(axis=1) for piece in pieces], axis=0)
        high[segment] = np.max([piece.max(axis=1) for piece in pieces], axis=0)
    return Partition(bounds, low, high)


def segment_bounds(nnz: int, nsegments: int) -> Array:
    """Return where equal segments start and end; none is empty.

    Examples
    --------
    >>> segment_bounds(10, 4)
    array([ 0,  3,  6,  8, 10])
    """
    if nsegments < 1:
        raise ValueError(f"nsegments: at least one segment is needed, got {nsegments}")
    count = min(nsegments, nnz)
    if count == 0:
        return np.zeros(1, np.int64)
    short, longer = divmod(nnz, count)
    return np.concatenate([[0], np.cumsum([short + 1] * longer + [short] * (count - longer))])


def fiber_reuse(X: Tensor) -> tuple[float, ...]:
    """Return, for each mode, how many nonzeros update a row of its MTTKRP on average: nnz / length."""
    return tuple(X.nnz / max(length, 1) for length in X.shape)


def choose_strategy(reuse: float) -> Strategy:
    """Return how to resolve write conflicts where each output row is updated `reuse` times on average.

    *staged*: segments accumulate in private memory that is merged at the end, which pays when rows are
    reused; *atomic*: updates go straight to the output.

    Examples
    --------
    >>> choose_strategy(100.0), choose_strategy(0.2)
    ('staged', 'atomic')
    """
    return "staged" if reuse > STAGING_REUSE else "atomic"
