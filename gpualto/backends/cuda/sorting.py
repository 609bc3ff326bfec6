"""Sorting linear indices on the device: CuPy's radix sort, or CUB's over just the bits in use."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np

from gpualto import ordering
from gpualto._arrays import Array, array_module
from gpualto.encoding import AltoEncoding, LinearIndex


def argsort(encoding: AltoEncoding, index: LinearIndex) -> Array:
    """Return the stable permutation that sorts linear indices: a pass for each word, the low word first.

    With the package cuda-cccl the passes leave out the bits that no index has.
    """
    compute = _compute()
    if compute is None:
        return ordering.argsort(index)
    cupy = array_module(index[0])
    order = cupy.arange(index[0].size, dtype=np.int64)
    for word, keys in enumerate(index):
        bits = min(encoding.nbits - 64 * word, 64)
        order = _sort_by(compute, cupy, keys.copy() if word == 0 else keys[order], order, bits)
    return order


def _sort_by(compute: ModuleType, cupy: ModuleType, keys: Array, order: Array, bits: int) -> Array:
    """Return `order` sorted by its keys; overwrites both."""
    both = [compute.DoubleBuffer(array, cupy.empty_like(array)) for array in (keys, order)]
    compute.radix_sort(
        d_in_keys=both[0],
        d_out_keys=None,
        d_in_values=both[1],
        d_out_values=None,
        num_items=keys.size,
        order=compute.SortOrder.ASCENDING,
        begin_bit=0,
        end_bit=max(bits, 1),
        stream=cupy.cuda.get_current_stream(),
    )
    return both[1].current()


@cache
def _compute() -> ModuleType | None:
    try:
        import cuda.compute
    except ImportError:
        return None
    return cuda.compute  # type: ignore[no-any-return]
