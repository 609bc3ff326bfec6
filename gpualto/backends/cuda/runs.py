"""Sums of runs of numbers, on the device: CuPy's ``reduceat`` takes differences of sums over all."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module, empty
from gpualto.backends.cuda.launching import NO_LAYOUT, address, blocks_for, c_name, kernel

_THREADS = 256


def sum_runs(numbers: Array, starts: Array) -> Array:
    """Return the sums of runs: see `gpualto.backends.reference.sum_runs`."""
    cupy = array_module(numbers)
    shape = (starts.size, *numbers.shape[1:])
    sums = empty(shape, numbers.dtype, cupy)
    if sums.size == 0:
        return sums
    rows, begins = cupy.ascontiguousarray(numbers), starts.astype(np.int64, copy=False)
    function = kernel(cupy, NO_LAYOUT, "runs.cu", f"sum_runs<{c_name(numbers.dtype)}, {_THREADS}>")
    parameters = (
        address(rows),
        np.int64(len(rows)),
        np.int32(sums.size // starts.size),
        address(begins),
        np.int64(starts.size),
        address(sums),
    )
    function((blocks_for(cupy, function, _THREADS, sums.size),), (_THREADS,), parameters)
    return sums
