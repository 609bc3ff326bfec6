"""The compiled MTTKRP against the definition."""

import multiprocessing
import sys

import numpy as np
import pytest

from gpualto import Tensor, backends
from gpualto.backends import backend_for, cpu, reference
from gpualto.backends.cpu import bits, kernels, plan, threads
from tests.oracle import random_factors, random_tensor

TOLERANCE = {np.float32: 1e-4, np.float64: 1e-10}


def reference_mttkrp(X, factors, mode, dtype=np.float64):
    out = np.empty((X.shape[mode], factors[mode].shape[1]), dtype)
    reference.mttkrp(X, [None if n == mode else factor for n, factor in enumerate(factors)], mode, out)
    return out


def assert_right(X, factors, mode, dtype=np.float64, **options):
    """Run a plan into an output full of NaN and compare."""
    rank = factors[mode].shape[1]
    out = np.full((X.shape[mode], rank), np.nan, dtype)
    chosen = plan.plan_mode(X, mode, rank, **options)
    cpu.run_plan(chosen, X, [None if n == mode else factor for n, factor in enumerate(factors)], out)
    expected = reference_mttkrp(X, factors, mode)
    scale = max(abs(expected).max(initial=0), 1e-30)
    np.testing.assert_allclose(out, expected, rtol=0, atol=TOLERANCE[dtype] * scale)
    return chosen


@pytest.fixture(params=[1, 2, 5])
def workers(request, monkeypatch):
    """Run a test with some threads, and segments however small."""
    monkeypatch.setattr(threads, "count", lambda: request.param)
    monkeypatch.setattr(plan, "_NUMBERS_PER_SEGMENT", 1)
    return request.param


@pytest.mark.parametrize("strategy", ["staged", "ordered", "atomic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_strategy_at_any_number_of_threads(workers, strategy, dtype):
    X = random_tensor(0, (30, 5, 200), 3000, dtype)
    factors = random_factors(1, X.shape, 8, dtype)
    for mode in range(3):
        chosen = assert_right(X, factors, mode, dtype, strategy=strategy)
        assert chosen.strategy == strategy
        # Where an ordered plan cuts, rows have to end.
        assert len(chosen.segments) == workers or (
            strategy == "ordered" and len(chosen.segments) > workers // 2
        )


@pytest.mark.parametrize("ndim", range(1, 13))
def test_any_number_of_modes(ndim):
    X = random_tensor(ndim, tuple(3 + (7 * n) % 5 for n in range(ndim)), 500)
    factors = random_factors(2, X.shape, 3)
    for mode in range(ndim):
        assert_right(X, factors, mode)


@pytest.mark.parametrize("rank", [1, 2, 7, 8, 16, 31, 32, 33, 64, 100, 256, 257, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_rank(rank, dtype):
    X = random_tensor(3, (6, 40, 5), 300, dtype)
    assert_right(X, random_factors(4, X.shape, rank, dtype), 1, dtype)


@pytest.mark.parametrize(
    "shape",
    [(2**31, 2), (2**33, 2**32), (2**30,) * 4, (2**38,) * 5],
    ids=["32 bits", "65 bits", "120 bits", "190 bits"],
)
@pytest.mark.parametrize("bmi2", [True, False])
def test_any_width(shape, bmi2, monkeypatch):
    """The nonzeros lie in the first rows: factors of the full length would not fit into memory."""
    if bmi2 and not bits.has_fast_bmi2():
        pytest.skip("this CPU has no fast BMI2; the shifts that it uses are tested beside this")
    rng = np.random.default_rng(5)
    short = tuple(min(length, 9) for length in shape)
    X = Tensor.from_coo([rng.integers(0, length, 200) for length in short], rng.random(200), short)
    wide = Tensor.from_coo(X.coords, X.values, shape)
    factors = random_factors(6, short, 2)
    out = np.zeros((short[0], 2))
    kernel = kernels.mttkrp_kernel(stride=16, width=16, dtype=out.dtype)
    bases = tuple(np.uint64(factor.ctypes.data) for factor in factors[1:])
    place = kernels.Plain(np.uint64(out.ctypes.data))
    layout = bits.layout_of(wide.encoding, list(range(len(shape))), bmi2)
    kernel(wide.index, layout, wide.values, None, 0, wide.nnz, bases, place)
    np.testing.assert_allclose(out, reference_mttkrp(X, factors, 0), atol=1e-12)


@pytest.mark.parametrize("nnz", [0, 1, 3, 4])
def test_fewer_nonzeros_than_threads(workers, nnz):
    X = random_tensor(7, (5, 6, 7), nnz)
    factors = random_factors(8, X.shape, 2)
    for mode in range(3):
        out = np.full((X.shape[mode], 2), np.nan)
        cpu.mttkrp(X, factors, mode, out)
        np.testing.assert_allclose(out, reference_mttkrp(X, factors, mode), atol=1e-12)


def test_rows_that_no_nonzero_touches_are_zero(workers):
    X = Tensor.from_coo([[0, 99], [1, 2]], [1.0, 2.0], (100, 4))
    out = np.full((100, 3), np.nan)
    cpu.mttkrp(X, [None, np.ones((4, 3))], 0, out)
    assert not out[1:99].any()


def test_a_row_of_most_nonzeros(workers):
    """The worst case for atomics and for cutting at row boundaries."""
    coords = np.array([[0] * 900 + list(range(100)), np.arange(1000)])
    X = Tensor.from_coo(coords, np.ones(1000))
    factors = random_factors(9, X.shape, 4)
    for strategy in ("staged", "ordered", "atomic"):
        assert_right(X, factors, 0, strategy=strategy)


@pytest.mark.parametrize("strategy", ["staged", "ordered"])
def test_deterministic_means_the_same_bits_at_any_number_of_threads(monkeypatch, strategy):
    X = random_tensor(10, (50, 60, 70), 20_000)
    factors = random_factors(11, X.shape, 16)
    monkeypatch.setattr(plan, "_NUMBERS_PER_SEGMENT", 1)
    monkeypatch.setattr(plan, "STAGED_ROWS_PER_NONZERO", 9.0 if strategy == "staged" else 0.0)
    results = []
    for count in (1, 2, 3, 7):
        monkeypatch.setattr(threads, "count", lambda count=count: count)
        X.derived.clear()
        out = np.empty((50, 16))
        cpu.mttkrp(X, factors, 0, out, deterministic=True)
        assert plan.plan_mode(X, 0, 16, deterministic=True).strategy == strategy
        results.append(out.tobytes())
    assert len(set(results)) == 1


def test_the_same_number_of_threads_gives_the_same_bits(workers):
    X = random_tensor(10, (50, 60, 70), 20_000)
    factors = random_factors(11, X.shape, 16)
    outs = [np.empty((50, 16)) for _ in range(2)]
    for out in outs:
        cpu.mttkrp(X, factors, 0, out)
    assert outs[0].tobytes() == outs[1].tobytes()


def test_factors_are_taken_as_they_are_where_a_copy_costs_more():
    large = np.zeros((100, 8))
    assert cpu.as_rows(large, large.dtype, nnz=100) is large
    for factor in (np.zeros((100, 8), np.float32), np.zeros((100, 16))[:, ::2], np.zeros((8, 100)).T):
        copy = cpu.as_rows(factor, np.dtype(np.float64), nnz=100)
        assert (copy.dtype, copy.shape, copy.flags.c_contiguous) == (np.float64, (100, 8), True)


def test_staging_that_takes_too_much_memory_gives_way_to_order(workers):
    rng = np.random.default_rng(0)
    X = Tensor.from_coo([rng.integers(0, 2**20, 500), rng.integers(0, 2**20, 500)], np.ones(500))
    chosen = plan.plan_mode(X, 0, 4)
    assert chosen.strategy == ("ordered" if workers > 1 else "staged")
    assert ("private rows, more than 50" in str(chosen)) == (workers > 1)


def test_a_plan_says_why():
    X = random_tensor(0, (30, 5), 100)
    assert cpu.explain(X, 0, 16) == "mode 0: staged, 1 segments: one segment writes all rows"


def test_compiled_code_is_chosen_where_numba_is_installed(monkeypatch):
    X = random_tensor(0, (30, 5), 100)
    assert backend_for(X) is cpu
    monkeypatch.setenv("GPUALTO_BACKEND", "reference")
    assert backend_for(X) is reference
    monkeypatch.setenv("GPUALTO_BACKEND", "gpu")
    with pytest.raises(ValueError, match='GPUALTO_BACKEND: expected "cpu" or "reference", got \'gpu\''):
        backend_for(X)


def test_where_numba_cannot_be_loaded_numpy_takes_its_place_and_says_so(monkeypatch):
    """As when it is installed and does not know the NumPy at hand yet."""
    X = random_tensor(0, (30, 5), 100)
    backends._host_backend.cache_clear()
    monkeypatch.delattr(backends, "cpu")
    monkeypatch.setitem(sys.modules, "gpualto.backends.cpu", None)
    with pytest.warns(RuntimeWarning, match="NumPy takes the place of compiled code: "):
        assert backend_for(X) is reference
    monkeypatch.setenv("GPUALTO_BACKEND", "cpu")
    with pytest.raises(ImportError):
        backend_for(X)
    backends._host_backend.cache_clear()


def _in_child(queue):
    X = random_tensor(12, (40, 50, 60), 50_000)
    factors = random_factors(13, X.shape, 16)
    out = np.empty((40, 16))
    cpu.mttkrp(X, factors, 0, out)
    queue.put(bool(np.allclose(out, reference_mttkrp(X, factors, 0))))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_threads_start_anew_after_a_fork(monkeypatch):
    monkeypatch.setattr(plan, "_NUMBERS_PER_SEGMENT", 1)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    _in_child(queue)
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    child.join(timeout=60)
    assert child.exitcode == 0
    assert [queue.get(), queue.get()] == [True, True]
