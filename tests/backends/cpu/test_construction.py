"""Compiled construction against the definition, to the bit."""

import tracemalloc

import numpy as np
import pytest

from gpualto import AltoEncoding, Tensor
from gpualto.backends import backend_for_construction, cpu, reference
from gpualto.backends.cpu import bits, construction, threads
from gpualto.testing import assert_tensors_equal
from tests.backends.cpu.test_bits import SHAPES


@pytest.fixture(params=[1, 2, 5])
def workers(request, monkeypatch):
    """Run a test with some threads, and runs however small."""
    monkeypatch.setattr(threads, "count", lambda: request.param)
    whole = threads.split
    monkeypatch.setattr(threads, "split", lambda size, least=1: whole(size, 1))


def entries(shape, count, dtype=np.int64, seed=0):
    """Return coordinates with repeats, and values that tell them apart."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, length, count, dtype=dtype, endpoint=False) for length in shape]
    repeats = rng.integers(0, count, count)
    return tuple(row[repeats] for row in rows), np.arange(float(count))


def assert_sorted_alike(shape, coords, values):
    encoding = AltoEncoding(shape)
    expected_index, expected_values = reference.sort_entries(encoding, coords, values)
    index, sorted_values = cpu.sort_entries(encoding, coords, values)
    for word, expected in zip(index, expected_index, strict=True):
        assert word.dtype == expected.dtype
        np.testing.assert_array_equal(word, expected)
    np.testing.assert_array_equal(sorted_values, expected_values)


@pytest.mark.parametrize("nbits", SHAPES)
def test_every_width_sorts_stably(workers, nbits):
    assert_sorted_alike(SHAPES[nbits], *entries(SHAPES[nbits], 3000))


@pytest.mark.parametrize("bmi2", [True, False])
@pytest.mark.parametrize("nbits", [31, 64, 129])
def test_with_bmi2_and_with_shifts(nbits, bmi2, monkeypatch):
    if bmi2 and not bits.has_fast_bmi2():
        pytest.skip("this CPU has no fast BMI2; the shifts that it uses are tested beside this")
    monkeypatch.setattr(bits, "has_fast_bmi2", lambda: bmi2)
    assert_sorted_alike(SHAPES[nbits], *entries(SHAPES[nbits], 500))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
def test_any_integer_type_and_stride(dtype):
    coords, values = entries((100, 7, 90), 1000, dtype)
    assert_sorted_alike((100, 7, 90), coords, values)
    assert_sorted_alike((100, 7, 90), tuple(row[::-2] for row in coords), values[::-2])


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2**40, 2**40)])
def test_few_nonzeros(workers, shape, count):
    rng = np.random.default_rng(0)
    coords = tuple(rng.integers(0, length, count) for length in shape)
    assert_sorted_alike(shape, coords, rng.random(count))


def test_float32_values_and_those_that_are_not_contiguous():
    coords, values = entries((50, 60), 1000)
    assert_sorted_alike((50, 60), coords, values.astype(np.float32))
    assert_sorted_alike((50, 60), coords, np.repeat(values, 2)[::2])


@pytest.mark.parametrize("length", [1, 2, 3000, 2**40])
def test_the_order_of_keys_is_stable(workers, length):
    keys = np.random.default_rng(0).integers(0, length, 2000)
    order = construction.stable_order(keys, (length - 1).bit_length())
    assert order.dtype == np.uint32
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))


def test_delinearize_is_the_inverse(workers):
    for shape in SHAPES.values():
        encoding = AltoEncoding(shape)
        coords, _ = entries(shape, 500)
        index = construction.linearize(encoding, coords)
        np.testing.assert_array_equal(construction.delinearize(encoding, index), coords)


def test_a_tensor_is_the_same_whoever_sorts_it(monkeypatch):
    coords, values = entries((50, 60, 70), 10_000)
    compiled = Tensor.from_coo(coords, values)
    monkeypatch.setenv("GPUALTO_BACKEND", "reference")
    assert backend_for_construction(values) is reference
    assert_tensors_equal(Tensor.from_coo(coords, values), compiled)


def test_few_nonzeros_do_not_wait_for_numba(monkeypatch):
    monkeypatch.delitem(__import__("sys").modules, "numba")
    assert backend_for_construction(np.zeros(100)) is reference
    assert backend_for_construction(np.zeros(10**6)) is cpu


@pytest.mark.parametrize("shape", [(2000, 3000, 4000), (2**24, 2**24, 2**24)])
def test_scratch_is_at_most_three_times_the_tensor(shape):
    rng = np.random.default_rng(0)
    coords, values = [rng.integers(0, length, 300_000) for length in shape], rng.random(300_000)
    Tensor.from_coo(coords, values, shape)  # compiles
    tracemalloc.start()
    X = Tensor.from_coo(coords, values, shape)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - X.nbytes < 3 * X.nbytes


def test_coordinates_out_of_bounds_are_found_before():
    coords, values = entries((50, 60), 1000)
    with pytest.raises(ValueError, match="mode 1 has the coordinate"):
        Tensor.from_coo(coords, values, (50, 30))


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("words", [1, 2, 3])
def test_argsort_is_stable_for_any_number_of_words(words):
    rng = np.random.default_rng(words)
    index = tuple(rng.integers(0, 9, 500).astype(np.uint64) << np.uint64(bits) for bits in (0, 61, 7)[:words])
    np.testing.assert_array_equal(construction.argsort(index), reference.argsort(index))
    assert construction.argsort((np.zeros(3, np.uint64),)).tolist() == [0, 1, 2]
