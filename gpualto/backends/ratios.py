"""The MTTKRP of ratios of data and model in two passes over the nonzeros, by any backend's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import Array, array_module, empty

if TYPE_CHECKING:
    from gpualto.tensor import Tensor


def two_passes(
    model_values: Callable[..., None],
    mttkrp: Callable[..., None],
    X: Tensor,
    factors: list[Array],
    mode: int,
    smallest: float,
    out: Array,
    deterministic: bool,
) -> None:
    """Fill `out` with the MTTKRP of each value over the model's, which counts as `smallest` at least."""
    model = empty((X.nnz,), out.dtype, array_module(out))
    model_values(X, factors, model)
    ratios = X.values / np.maximum(model, out.dtype.type(smallest))
    others = [None if n == mode else factor for n, factor in enumerate(factors)]
    mttkrp(X._with_own(ratios), others, mode, out, deterministic=deterministic)
