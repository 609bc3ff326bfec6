"""Compiling ahead: every kernel that a tensor of some shape can need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualto._optional import require
from gpualto.backends.cuda.construction import delinearize
from gpualto.backends.cuda.dense import solve_normal_equations
from gpualto.backends.cuda.plan import STRATEGIES, plan_mode, prepare
from gpualto.tensor import Tensor


def warm_up(shape: tuple[int, ...], rank: int, dtype: np.dtype[np.floating]) -> Iterator[str]:
    """Compile the kernels for construction, MTTKRP by every strategy, and CP-ALS, on the current device.

    CuPy keeps them on disk, for other processes too.

    Yields
    ------
    str
        What was compiled.

    Raises
    ------
    MissingPackageError
        If CuPy is not installed.
    """
    cupy = require("cupy", "cuda13", "compiling CUDA kernels")
    X = Tensor.from_coo([cupy.zeros(1, np.int64) for _ in shape], cupy.ones(1, dtype), shape)
    yield "construction"
    delinearize(X.encoding, X.index)
    yield "coordinates"
    for mode in range(X.ndim):
        for strategy in STRATEGIES:
            prepare(plan_mode(X, mode, rank, X.dtype, strategy), X, rank, X.dtype)
            yield f"MTTKRP of mode {mode}, {strategy}"
    solve_normal_equations(cupy.eye(rank), cupy.ones((1, rank), X.dtype))
    yield "normal equations"
