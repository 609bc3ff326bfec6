"""What construction takes on a device besides its result, and how it sorts."""

import sys
import tracemalloc
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from gpualto import AltoEncoding, Tensor
from gpualto.backends.cuda import sorting

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


class DoubleBuffer:
    """As in cuda.compute."""

    def __init__(self, current, alternate):
        self.buffers, self.selector = [current, alternate], 0

    def current(self):
        return self.buffers[self.selector]


@pytest.fixture
def bits_sorted(standin_cupy, monkeypatch):
    """Put a stand-in in the place of cuda.compute, and return the list of how many bits each pass sorts by."""
    bits = []

    def radix_sort(
        *, d_in_keys, d_out_keys, d_in_values, d_out_values, num_items, order, begin_bit, end_bit, stream
    ):
        assert (d_out_keys, d_out_values, order, begin_bit) == (None, None, "ascending", 0)
        assert stream.__cuda_stream__()
        keys, values = d_in_keys.current().get()[:num_items], d_in_values.current().get()[:num_items]
        places = np.argsort(keys % 2**end_bit if end_bit < 64 else keys, kind="stable")
        for buffer, result in ((d_in_keys, keys[places]), (d_in_values, values[places])):
            buffer.buffers[0][...] = standin_cupy.asarray(np.zeros_like(result))  # overwritten
            buffer.buffers[1][...] = standin_cupy.asarray(result)
            buffer.selector = 1
        bits.append(end_bit)

    compute = ModuleType("cuda.compute")
    compute.DoubleBuffer, compute.radix_sort = DoubleBuffer, radix_sort
    compute.SortOrder = SimpleNamespace(ASCENDING="ascending")
    package = ModuleType("cuda")
    package.compute = compute
    monkeypatch.setitem(sys.modules, "cuda", package)
    monkeypatch.setitem(sys.modules, "cuda.compute", compute)
    sorting._compute.cache_clear()
    yield bits
    sorting._compute.cache_clear()


@pytest.mark.parametrize(
    ("shape", "passes"),
    [((1000, 1000), [20]), ((1,), [1]), ((2**13, 2**12, 2**11, 2**10, 2**11, 2**9), [64, 2])],
)
def test_with_cuda_cccl_only_bits_in_use_are_sorted_by(standin_cupy, bits_sorted, shape, passes):
    rng = np.random.default_rng(0)
    coords = [rng.integers(0, length, 500) for length in shape]
    values = rng.integers(0, 99, 500).astype(float)
    X = Tensor.from_coo(list(map(standin_cupy.asarray, coords)), standin_cupy.asarray(values), shape)
    assert X.to_device("cpu") == Tensor.from_coo(coords, values, shape)
    assert bits_sorted == passes
