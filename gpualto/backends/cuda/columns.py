"""How kernels share out the columns of a factor row among lanes: the host's side of ``columns.cuh``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gpualto._arrays import VECTOR_BYTES

_MOST_PASSES = 4
_LANES = (32, 16, 8, 4, 2, 1)


@dataclass(frozen=True)
class Columns:
    """The choice for one rank and type.

    Parameters
    ----------
    lanes : int
        Lanes of a warp that take a row together.
    panels : int
        Parts that a row is worked on in, one after the other.
    panel_width : int
        Columns of a part.
    """

    lanes: int
    panels: int
    panel_width: int


def columns_of(rank: int, dtype: np.dtype[np.floating]) -> Columns:
    """Return the number of lanes with the fewest panels, then the fewest idle slots, then the fewest passes.

    Examples
    --------
    >>> columns_of(16, np.dtype(np.float32))
    Columns(lanes=4, panels=1, panel_width=16)
    >>> columns_of(300, np.dtype(np.float64))
    Columns(lanes=32, panels=2, panel_width=256)
    """
    vector = math.gcd(VECTOR_BYTES // dtype.itemsize, rank)
    vectors = rank // vector

    def shape(lanes: int) -> tuple[int, int]:
        slots = lanes * min(math.ceil(vectors / lanes), _MOST_PASSES)
        return math.ceil(vectors / slots), slots

    lanes = min(_LANES, key=shape)
    panels, slots = shape(lanes)
    return Columns(lanes, panels, rank if panels == 1 else slots * vector)
