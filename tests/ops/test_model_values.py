import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualto
from gpualto import CPModel, formats, model_values
from tests.oracle import dense_model, random_factors, random_tensor, small_tensors


@given(small_tensors(), st.sampled_from([1, 3, 8]), st.sampled_from(["reference", "cpu"]))
def test_it_equals_the_dense_model_at_the_entries(X, rank, backend):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUALTO_BACKEND", backend)
        factors = random_factors(rank, X.shape, rank)
        desired = dense_model(np.ones(rank), factors)[tuple(X.coords)]
        np.testing.assert_allclose(model_values(X, factors), desired, atol=1e-10)


@pytest.mark.parametrize("format", [formats.ALTO(2), formats.COO(2)], ids=str)
def test_a_factor_of_a_single_row_may_be_part_of_another_array(format):
    X = random_tensor(0, (1, 6), 5)
    for first in (
        np.random.default_rng(0).random((3, 8))[1:2, :2],
        np.random.default_rng(0).random((2, 1)).T,
    ):
        factors = [first, np.random.default_rng(1).random((6, 2))]
        desired = dense_model(np.ones(2), factors)[tuple(X.coords)]
        np.testing.assert_allclose(model_values(X.to_format(format), factors), desired)


@pytest.mark.parametrize("rank", [16, 31, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_rank_type_and_number_of_words(rank, dtype):
    small = random_tensor(rank, (30, 20, 10), 500, dtype)
    wide = gpualto.Tensor.from_coo(small.coords[[0, 1, 1, 0]], small.values, (30, 20, 20, 30))
    for X in (small, wide):
        factors = random_factors(1, X.shape, rank, dtype)
        actual = model_values(X, factors)
        assert actual.dtype == dtype
        desired = np.prod([f[c].astype(float) for f, c in zip(factors, X.coords, strict=True)], axis=0).sum(1)
        np.testing.assert_allclose(actual, desired, rtol=1e-3 if dtype == np.float32 else 1e-10, atol=1e-3)


def test_threads_share_many_entries():
    X = random_tensor(0, (100, 90, 80), 300_000)
    factors = random_factors(1, X.shape, 4)
    desired = np.prod([f[c] for f, c in zip(factors, X.coords, strict=True)], axis=0).sum(1)
    np.testing.assert_allclose(model_values(X, factors), desired, atol=1e-12)


def test_weights_of_a_model_count():
    X = random_tensor(0, (4, 5, 6), 30)
    model = CPModel([2.0, -3.0], random_factors(0, X.shape, 2))
    np.testing.assert_allclose(model_values(X, model), model.values_at(X.coords))


def test_any_format_keeps_the_order_of_its_entries():
    X = random_tensor(0, (4, 5, 6), 30)
    model = CPModel([2.0, -3.0], random_factors(0, X.shape, 2))
    for format in (
        formats.CSF(3),
        formats.HiCOO(3, block=2),
        "(i, j, k) -> (i : dense, j : dense, k : dense)",
    ):
        stored = X.to_format(format)
        np.testing.assert_allclose(model_values(stored, model), model.values_at(stored.entries()[0]))


def test_factors_that_do_not_fit_are_refused():
    X = random_tensor(0, (4, 5, 6), 30)
    with pytest.raises(ValueError, match="factors: mode 1 has shape"):
        model_values(X, random_factors(0, (4, 6, 6), 2))
    with pytest.raises(ValueError, match="mode 0 is None"):
        model_values(X, [None, *random_factors(0, (5, 6), 2)])
