"""What construction takes on a device besides its result."""

import tracemalloc

import numpy as np
import pytest

from gpualto import AltoEncoding, Tensor

NNZ = 100_000


@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("shape", [(1000, 1000, 1000), (2**13, 2**12, 2**11, 2**10, 2**11, 2**9)])
def test_peak_memory_is_as_documented(standin_cupy, shape, repeats):
    """32 bytes and twice the index a nonzero, the result among them; the stand-in's arrays are NumPy's."""
    rng = np.random.default_rng(0)
    coords = [standin_cupy.asarray(np.tile(rng.integers(0, n, NNZ // repeats), repeats)) for n in shape]
    values = standin_cupy.ones(NNZ)
    Tensor.from_coo([c[:9] for c in coords], values[:9], shape)  # compiles
    tracemalloc.start()
    try:
        X = Tensor.from_coo(coords, values, shape)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert X.nbytes < peak < (32 + 2 * AltoEncoding(shape).index_nbytes) * NNZ
