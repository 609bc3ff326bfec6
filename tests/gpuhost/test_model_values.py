"""The kernel for the values of a model at the nonzeros: every order, word count, kind of rank and type."""

import numpy as np
import pytest

from tests.gpuhost.device import Kernels, addresses, c_name, poisoned
from tests.gpuhost.test_mttkrp import SEEDS, SHAPES, THREADS, TYPES, Problem


def run(kernels, problem, seed=0):
    out = poisoned(problem.X.nnz, problem.dtype)
    kernels.launch(
        f"model_values<Layout, {c_name(problem.dtype)}, {problem.rank}, {THREADS}>",
        (2,),
        THREADS,
        [addresses(*problem.X.index), np.int64(problem.X.nnz), addresses(*problem.factors), *addresses(out)],
        problem.memory(out),
        seed=seed,
    )
    return out


def check(problem, out):
    rows = [f[c].astype(np.float64) for f, c in zip(problem.factors, problem.X.coords, strict=True)]
    desired = np.prod(rows, axis=0).sum(axis=1)
    tolerance = 1e-4 if problem.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(out, desired, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", SHAPES)
def test_every_order_and_word_count(order, dtype):
    problem = Problem(SHAPES[order], 333, 8, dtype, seed=order)
    kernels = Kernels(["model_values.cu"], problem.X.encoding)
    for seed in SEEDS:
        check(problem, run(kernels, problem, seed))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rank", [1, 7, 33, 64, 300])
def test_any_rank(rank, dtype):
    problem = Problem(SHAPES[3], 100, rank, dtype)
    check(problem, run(Kernels(["model_values.cu"], problem.X.encoding), problem))


@pytest.mark.parametrize("nnz", [1, 31, 32, 33, 129])
def test_ragged_ends_without_races_or_accesses_out_of_bounds(nnz):
    problem = Problem(SHAPES[4], nnz, 16, np.float64)
    kernels = Kernels(["model_values.cu"], problem.X.encoding, checked=True)
    for seed in SEEDS:
        check(problem, run(kernels, problem, seed))
