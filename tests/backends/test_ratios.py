"""The MTTKRP of data over model, by every backend, against a dense model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualto.backends import cpu, reference
from gpualto.backends.cpu import plan, threads
from tests.oracle import dense_model, dense_mttkrp, random_tensor, small_tensors

SMALLEST = 1e-10


def positive_factors(shape, rank, dtype=np.float64):
    return [np.random.default_rng(n).random((length, rank)).astype(dtype) for n, length in enumerate(shape)]


def by_dense_arrays(X, factors, mode):
    model = dense_model(np.ones(factors[0].shape[1]), [factor.astype(np.float64) for factor in factors])
    return dense_mttkrp(X.todense() / np.maximum(model, SMALLEST), factors, mode)


def run(backend, X, factors, mode, dtype=np.float64, **options):
    out = np.full(factors[mode].shape, np.nan, dtype)
    backend.mttkrp_of_ratios(X, factors, mode, SMALLEST, out, **options)
    return out


@pytest.mark.parametrize("backend", [reference, cpu])
@given(small_tensors(), st.integers(1, 5))
def test_it_is_that_of_dense_arrays(backend, X, rank):
    factors = positive_factors(X.shape, rank)
    for mode in range(X.ndim):
        desired = by_dense_arrays(X, factors, mode)
        scale = abs(desired).max(initial=1)
        np.testing.assert_allclose(run(backend, X, factors, mode), desired, atol=1e-12 * scale)


@pytest.mark.parametrize("strategy", ["staged", "ordered", "atomic"])
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_strategy_at_any_number_of_threads(monkeypatch, strategy, workers, dtype):
    monkeypatch.setattr(threads, "count", lambda: workers)
    monkeypatch.setattr(plan, "_NUMBERS_PER_SEGMENT", 1)
    X = random_tensor(0, (30, 5, 200), 3000, dtype)
    factors = positive_factors(X.shape, 8, dtype)
    make_plan = plan.plan_mode
    monkeypatch.setattr(
        cpu, "plan_mode", lambda *args, **options: make_plan(*args, strategy=strategy, **options)
    )
    for mode in range(3):
        desired = by_dense_arrays(X, factors, mode)
        tolerance = (1e-4 if dtype == np.float32 else 1e-11) * abs(desired).max()
        np.testing.assert_allclose(run(cpu, X, factors, mode, dtype), desired, atol=tolerance)


@pytest.mark.parametrize("rank", [16, 256, 300])
def test_ranks_up_to_a_panel_and_beyond(rank):
    X = random_tensor(0, (7, 9, 8), 100)
    factors = positive_factors(X.shape, rank)
    np.testing.assert_allclose(run(cpu, X, factors, 1), by_dense_arrays(X, factors, 1), rtol=1e-9)


def test_a_model_of_zeros_divides_by_the_smallest():
    X = random_tensor(0, (3, 4), 6)
    factors = [np.zeros((3, 2)), np.ones((4, 2))]
    for backend in (reference, cpu):
        np.testing.assert_allclose(run(backend, X, factors, 0), by_dense_arrays(X, factors, 0))


def test_the_number_of_threads_does_not_matter_on_request(monkeypatch):
    X = random_tensor(0, (30, 40, 20), 5000)
    factors = positive_factors(X.shape, 4)
    monkeypatch.setattr(plan, "_NUMBERS_PER_SEGMENT", 1)
    results = []
    for workers in (1, 3):
        monkeypatch.setattr(threads, "count", lambda workers=workers: workers)
        results.append(run(cpu, X, factors, 0, deterministic=True))
    np.testing.assert_array_equal(*results)
