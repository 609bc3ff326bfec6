"""The kernel for sums of runs, against NumPy, with any number of columns and runs of any length."""

import numpy as np
import pytest

from gpualto import AltoEncoding
from tests.gpuhost.device import Kernels, addresses, c_name, poisoned

THREADS = 64


def sum_runs(numbers, starts, *, seed=0, checked=False):
    rows, columns = numbers.shape
    sums = poisoned((len(starts), columns), numbers.dtype)
    Kernels(["runs.cu"], AltoEncoding((1,)), checked).launch(
        f"sum_runs<{c_name(numbers.dtype)}, {THREADS}>",
        (3,),
        THREADS,
        [
            *addresses(numbers),
            np.int64(rows),
            np.int32(columns),
            *addresses(starts),
            np.int64(len(starts)),
            *addresses(sums),
        ],
        {"numbers": numbers, "starts": starts, "sums": sums},
        seed=seed,
    )
    return sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3, 32])
@pytest.mark.parametrize("starts", [[0], [0, 1], [0, 1, 2, 250, 251, 499], list(range(500))], ids=len)
def test_each_run_by_itself(starts, columns, dtype):
    numbers = np.random.default_rng(0).standard_normal((500, columns)).astype(dtype)
    starts = np.array(starts)
    desired = np.add.reduceat(numbers, starts, axis=0, dtype=np.float64).astype(dtype)
    for seed in (0, 1):
        sums = sum_runs(numbers, starts, seed=seed, checked=seed == 1)
        np.testing.assert_allclose(sums, desired, rtol=1e-6 if dtype == np.float32 else 1e-12, atol=1e-12)
