"""Small real tensors that come with the package."""

from __future__ import annotations

from pathlib import Path

from gpualto.io import read
from gpualto.tensor import Tensor


def flights() -> Tensor:
    """Return the number of flights out of New York in 2013 by carrier, destination, hour and month (CC0).

    Examples
    --------
    >>> flights()
    gpualto.Tensor(16 x 105 x 20 x 12, nnz=14,775, density=0.0366, float64, cpu)
      ALTO: 20 bits in uint32, 177 kB; carrier x dest x hour x month
    """
    return read(Path(__file__).parent / "data" / "flights.tns")
