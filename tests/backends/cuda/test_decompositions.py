"""Decompositions of CuPy arrays: the same code as on the CPU, from the same seed, within rounding."""

import numpy as np
import pytest

import gpualto
from gpualto import CPModel
from tests.oracle import random_tensor

SHAPE = (9, 8, 7)


@pytest.fixture
def counts():
    return random_tensor(3, SHAPE, 120).map_values(lambda values: np.round(3 * abs(values)) + 1)


METHODS = {
    "nonnegative ALS": lambda X: gpualto.cp_nn(X, 3, n_iter_max=4, random_state=0),
    "multiplicative": lambda X: gpualto.cp_nn(X, 3, method="mu", n_iter_max=4, random_state=0),
    "Poisson": lambda X: gpualto.cp_apr(X, 3, n_iter_max=3, random_state=0),
    "completion": lambda X: gpualto.cp_complete(X, 3, l2=0.1, held_out=0.1, n_iter_max=4, random_state=0),
    "L-BFGS": lambda X: gpualto.cp_opt(X, 2, n_iter_max=5, random_state=0),
    "penalties": lambda X: gpualto.cp_als(
        X, 3, l2=0.1, smooth_modes={1: 1.0}, nonnegative_modes=[0], n_iter_max=4, random_state=0
    ),
    "nvecs": lambda X: gpualto.cp_als(X, 3, init="nvecs", n_iter_max=2, random_state=0),
}


@pytest.mark.parametrize("method", METHODS)
def test_cp_models_equal_those_of_the_host(cupy, counts, method):
    desired = METHODS[method](counts)
    actual = METHODS[method](counts.to_device("cuda"))
    assert actual.device == "cuda:0"
    np.testing.assert_allclose(actual.fit, desired.fit, atol=1e-8)
    model = actual.to_device("cpu")
    np.testing.assert_allclose(model.weights, desired.weights, rtol=1e-6)
    for mine, other in zip(model.factors, desired.factors, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-6)
    for name, series in desired.measures.items():
        np.testing.assert_allclose(actual.measures[name], series, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("init", ["random", "hosvd"])
def test_tucker_models_equal_those_of_the_host(cupy, counts, init):
    desired = gpualto.tucker_als(counts, (3, 2, 2), init=init, n_iter_max=4, random_state=0)
    actual = gpualto.tucker_als(counts.to_device("cuda"), (3, 2, 2), init=init, n_iter_max=4, random_state=0)
    assert actual.device == "cuda:0"
    np.testing.assert_allclose(actual.fit, desired.fit, atol=1e-8)
    np.testing.assert_allclose(actual.to_device("cpu").to_dense(), desired.to_dense(), atol=1e-8)
    np.testing.assert_allclose(actual.to_dense().get(), desired.to_dense(), atol=1e-8)
    residuals = actual.residuals(counts.to_device("cuda")).get()
    np.testing.assert_allclose(residuals, desired.residuals(counts), atol=1e-8)


def test_hosvd(cupy, counts):
    actual = gpualto.hosvd(counts.to_device("cuda"), 2, random_state=0)
    np.testing.assert_allclose(
        actual.to_device("cpu").to_dense(), gpualto.hosvd(counts, 2, random_state=0).to_dense(), atol=1e-8
    )


def test_labels_of_new_data_are_aligned(cupy, counts):
    labels = [[f"{mode}{n}" for n in range(length)] for mode, length in enumerate(SHAPE)]
    X = gpualto.Tensor.from_coo(counts.coords, counts.values, SHAPE, labels=labels)
    model = gpualto.cp_nn(X, 2, random_state=0)
    turned = [X.shape[0] - 1 - X.coords[0], *X.coords[1:]]
    other = gpualto.Tensor.from_coo(turned, X.values, SHAPE, labels=[labels[0][::-1], *labels[1:]])
    there = gpualto.project(model.to_device("cuda"), other.to_device("cuda"), 2)
    np.testing.assert_allclose(there.get(), gpualto.project(model, X, 2), atol=1e-8)
    new = [["new", *labels[0][1:]], None, None]
    named = gpualto.Tensor.from_coo(counts.coords, counts.values, SHAPE, labels=new).to_device("cuda")
    with pytest.raises(ValueError, match="has labels that are not known: 'new'"):
        named.align(model.labels)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_projection(cupy, counts, nonnegative):
    model = gpualto.cp_nn(counts, 3, random_state=0)
    there = gpualto.project(model.to_device("cuda"), counts.to_device("cuda"), 1, nonnegative=nonnegative)
    np.testing.assert_allclose(
        there.get(), gpualto.project(model, counts, 1, nonnegative=nonnegative), atol=1e-8
    )


def test_rank_scan(cupy, counts):
    options = {"n_restarts": 1, "random_state": 0, "progress": False, "n_iter_max": 5}
    desired = gpualto.rank_scan(counts, [1, 2], **options)
    actual = gpualto.rank_scan(counts.to_device("cuda"), [1, 2], **options)
    np.testing.assert_allclose(actual.fits, desired.fits, atol=1e-8)
    np.testing.assert_allclose(actual.core_consistencies, desired.core_consistencies, rtol=1e-5)
    np.testing.assert_allclose(actual.match_scores, desired.match_scores, atol=1e-6)


class TestModels:
    def test_values_and_residuals(self, cupy, counts):
        model = gpualto.cp_nn(counts, 3, random_state=0)
        there = model.to_device("cuda")
        X = counts.to_device("cuda")
        np.testing.assert_allclose(gpualto.model_values(X, there).get(), model.values_at(counts.coords))
        np.testing.assert_allclose(there.residuals(X).get(), model.residuals(counts), atol=1e-9)
        np.testing.assert_allclose(there.values_at(X.coords).get(), model.values_at(counts.coords))

    def test_what_reads_a_model_takes_it_from_the_device(self, cupy, tmp_path):
        model = CPModel([2.0, 1.0], [np.eye(3)[:, :2], np.ones((4, 2))])
        there = model.to_device("cuda")
        assert there.describe() == model.describe()
        table = there.to_table()
        np.testing.assert_array_equal(table["weight"], model.to_table()["weight"])
        assert there.arrange(ord=1).to_device("cpu").weights.tolist() == model.arrange(ord=1).weights.tolist()

    def test_a_match_on_the_device(self, cupy, counts):
        one = gpualto.cp_als(counts, 3, random_state=0, n_iter_max=5)
        other = one.select([2, 0, 1])
        matched = other.to_device("cuda").match(one.to_device("cuda"))
        np.testing.assert_allclose(matched.to_device("cpu").weights, one.weights)
