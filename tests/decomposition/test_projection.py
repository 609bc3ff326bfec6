from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualto
from gpualto import CPModel, Tensor, cp_nn, project
from tests.oracle import random_factors, random_tensor


def with_factor(model, mode, factor):
    factors = list(model.factors)
    factors[mode] = factor
    return replace(model, factors=tuple(factors), labels=())


@given(st.lists(st.integers(2, 5), min_size=2, max_size=4), st.integers(0, 99))
def test_it_is_the_least_squares_solution(shape, seed):
    model = CPModel([2.0, 0.5], random_factors(seed, shape, 2))
    mode = seed % len(shape)
    X = random_tensor(seed, (*shape[:mode], 7, *shape[mode + 1 :]), 30)
    rows = project(model, X, mode)
    ones = with_factor(model, mode, np.ones((1, 2)))
    parts = [ones.select([r]).to_dense() for r in range(2)]
    basis = np.stack(parts, axis=-1).reshape(-1, 2)
    unfolding = np.moveaxis(X.todense(), mode, 0).reshape(7, -1)
    desired = np.linalg.lstsq(basis, unfolding.T, rcond=None)[0].T
    np.testing.assert_allclose(rows @ basis.T, desired @ basis.T, atol=1e-8)


def test_nonnegative_rows_are_as_good_as_they_can_be():
    X = gpualto.datasets.flights()
    model = cp_nn(X, 4, random_state=0)
    rows = project(model, X, 0, nonnegative=True)
    assert (rows >= 0).all()
    fit = 1 - np.linalg.norm(X.todense() - with_factor(model, 0, rows).to_dense()) / X.norm()
    assert fit >= model.fit - 1e-6


def test_components_of_weight_zero_do_not_divide():
    model = CPModel([1.0, 0.0], random_factors(0, (3, 4), 2))
    assert np.isfinite(project(model, random_tensor(0, (5, 4), 9), 0)).all()


@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, 1e-15), (np.float64, 1e-120), (np.float64, 1e100)])
def test_the_size_of_the_columns_does_not_matter(dtype, scale):
    model = CPModel([2.0, 0.5], random_factors(0, (3, 4, 5), 2, dtype))
    X = random_tensor(1, (3, 6, 5), 40, dtype)
    scaled = CPModel(model.weights, [model.factors[0] * dtype(scale), model.factors[1], model.factors[2]])
    rows = project(scaled, X, 1)
    assert rows.dtype == dtype
    np.testing.assert_allclose(rows * dtype(scale), project(model, X, 1), rtol=1e-4)


def test_one_mode():
    model = CPModel([2.0], [np.ones((3, 1))])
    X = Tensor.from_coo([[0, 3]], [4.0, 6.0], (5,))
    np.testing.assert_allclose(project(model, X, 0).ravel(), [2, 0, 0, 3, 0])


def test_a_shape_that_does_not_fit_is_refused():
    model = CPModel(None, random_factors(0, (3, 4, 5), 2))
    with pytest.raises(
        ValueError, match=r"X: has shape \(3, 9, 6\), expected the model's \(3, 4, 5\) but for mode 1"
    ):
        project(model, random_tensor(0, (3, 9, 6), 9), -2)


class TestLabels:
    model = CPModel(
        [2.0, 1.0],
        [np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])],
        {"to": ["Oslo", "Rome", "Bern"], "month": ["Jan", "Feb"]},
    )

    def new(self, places, values):
        coords = [np.arange(len(places)), np.zeros(len(places), int)]
        return Tensor.from_coo(coords, values, labels={"to": places, "month": ["Mar"]})

    def test_they_say_which_index_is_which(self):
        desired = project(self.model, self.new(["Oslo", "Rome", "Bern"], [1.0, 2.0, 4.0]), 1)
        for names, values in ((["Bern", "Oslo", "Rome"], [4.0, 1.0, 2.0]), (["Rome", "Oslo"], [2.0, 1.0])):
            rows = project(self.model, self.new(names, values), "month")
            if len(names) == 3:
                np.testing.assert_allclose(rows, desired)
            else:
                alone = self.new(["Oslo", "Rome", "Bern"], [1.0, 2.0, 0.0])
                np.testing.assert_allclose(rows, project(self.model, alone, 1))

    def test_those_that_the_model_does_not_know_are_refused(self):
        with pytest.raises(ValueError, match="X: to has labels that are not known: 'Nice'; leave"):
            project(self.model, self.new(["Oslo", "Nice", "Bern"], [1.0, 2.0, 4.0]), "month")
        with pytest.raises(ValueError, match="mode: there is no 'day', only to, month"):
            project(self.model, self.new(["Oslo"], [1.0]), "day")
