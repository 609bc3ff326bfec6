"""The kernel for any format under the race checker, at several seeds."""

import numpy as np
import pytest

import gpualto
from gpualto import formats
from gpualto.backends.cuda import formats as generated
from gpualto.format.source import arrays_of, write_decoder
from tests.gpuhost.build import compile_kernels
from tests.gpuhost.device import addresses
from tests.oracle import random_factors, random_tensor

THREADS = 64
SHAPE = (30, 20, 9)


def run(X, factors, mode, *, checked=False, seed=0):
    rank = factors[0].shape[1]
    expression = f"gpualto::mttkrp_format<Layout, Stored, {mode}, double, double, {rank}, {THREADS}>"
    library = compile_kernels(generated.source(X), [expression], checked=checked)
    decoder = write_decoder(X.format, X.shape, generated.CUDA)
    arrays = list(arrays_of(X, decoder))
    numbers = []
    for (kind, *_), array in zip(decoder.arrays, arrays, strict=True):
        numbers += [array.ctypes.data, array.size - 1] if kind == "pos" else [array.ctypes.data]
    out = np.zeros((X.shape[mode], rank))
    memory = {f"array {n}": array for n, array in enumerate(arrays)}
    memory |= {f"factor {n}": factor for n, factor in enumerate(factors)}
    given = [np.array(numbers, np.uint64), *addresses(X.values), np.int64(X.nse)]
    given += [addresses(*factors), *addresses(out)]
    library.launch(
        expression, (2, 1), (THREADS,), given, memory={**memory, "values": X.values, "out": out}, seed=seed
    )
    return out


@pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
@pytest.mark.parametrize(
    "format",
    [
        formats.COO(3),
        formats.CSF(3, (2, 0, 1)),
        formats.HiCOO(3, 8),
        gpualto.Format("(i, j, k) -> (i : dense, k-j : compressed, j : range)"),
        gpualto.Format("(i, j, k) -> (k : dense, i/7 : compressed, i%7 : dense, j : delta(1))"),
    ],
    ids=str,
)
def test_any_schedule_gives_the_reference_without_a_race(format, checked):
    X = random_tensor(0, SHAPE, 300).to_format(format)
    factors = random_factors(0, SHAPE, 7)
    desired = random_tensor(0, SHAPE, 300).mttkrp(factors, 0)
    for seed in (0, 1, 2, 3):
        out = run(X, factors, 0, checked=checked, seed=seed)
        np.testing.assert_allclose(out, desired, rtol=1e-9, atol=1e-9)
