"""The normal equations of a least-squares update, on the device."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.backends.cuda.launching import NO_LAYOUT, address, c_name, kernel

_THREADS = 256


def solve_normal_equations(gram_product: Array, right: Array) -> Array:
    """Return the least-squares solution U of ``U @ gram_product = right``, of the type of `right`.

    Whether the Gram product is singular is found out, and acted on, on the device: nothing is read back.
    """
    cupy = array_module(right)
    rank = right.shape[1]
    gram = cupy.ascontiguousarray(gram_product, np.float64)
    work = cupy.empty(2 * rank * rank + 4 * rank, np.float64)
    inverse = cupy.empty((rank, rank), right.dtype)
    invert = kernel(cupy, NO_LAYOUT, "dense.cu", f"invert_gram<{c_name(right.dtype)}, {_THREADS}>")
    parameters = (address(gram), np.int32(rank), address(work), address(inverse))
    invert((1,), (_THREADS,), parameters)
    return right @ inverse
