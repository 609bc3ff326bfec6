"""Where operations run. A backend is a module with the functions that `Backend` names."""

from __future__ import annotations

from typing import Protocol

from gpualto._arrays import Array
from gpualto.tensor import Tensor


class Backend(Protocol):
    """What every backend offers; `gpualto.backends.reference` is the definition of each function."""

    def mttkrp(self, X: Tensor, factors: list[Array | None], mode: int, rank: int) -> Array:
        """Return the (I_mode, rank) MTTKRP, C-ordered, as a new array; all arguments are checked already."""


def backend_for(X: Tensor) -> Backend:
    """Return the backend for the device and format of a tensor."""
    from gpualto.backends import reference

    return reference
