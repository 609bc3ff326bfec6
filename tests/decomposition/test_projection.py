from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualto
from gpualto import CPModel, Tensor, cp_nn, project, project_known
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


def test_nonnegative_rows_of_components_that_are_almost_alike():
    from scipy.optimize import nnls

    rng = np.random.default_rng(0)
    factors = [rng.random((length, 3)) for length in (6, 7)]
    for factor in factors:
        factor[:, 1] = factor[:, 0] + 1e-3 * rng.random(len(factor))
    model = CPModel(None, [rng.random((4, 3)), *factors])
    desired = rng.random((5, 3))
    X = Tensor.from_dense(np.einsum("ir,jr,kr->ijk", desired, *factors))
    rows = project(model, X, 0, nonnegative=True)
    basis = np.einsum("jr,kr->jkr", *factors).reshape(-1, 3)
    exact = np.array([nnls(basis, row.ravel())[0] for row in X.todense()])
    np.testing.assert_allclose(rows @ basis.T, exact @ basis.T, atol=1e-4)


def test_nonnegative_rows_beside_negative_weights():
    model = CPModel([-1.0, 1.0], [abs(factor) for factor in random_factors(0, (3, 4, 5), 2)])
    X = random_tensor(1, (3, 4, 5), 40)
    for mode in range(3):
        assert (project(model, X, mode, nonnegative=True) >= 0).all()
        plain = project(CPModel([1.0, 1.0], model.factors), X, mode)
        np.testing.assert_allclose(project(model, X, mode), plain * [-1, 1])


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
        with pytest.raises(ValueError, match="X: to has labels that are not known: 'Nice'; their"):
            project(self.model, self.new(["Oslo", "Nice", "Bern"], [1.0, 2.0, 4.0]), "month")
        with pytest.raises(ValueError, match="mode: no mode is called 'day'; they are to, month"):
            project(self.model, self.new(["Oslo"], [1.0]), "day")

    def test_they_may_be_left_out(self):
        new = self.new(["Oslo", "Nice", "Bern"], [1.0, 2.0, 4.0])
        desired = project(self.model, self.new(["Oslo", "Bern"], [1.0, 4.0]), "month")
        np.testing.assert_array_equal(project(self.model, new, "month", unknown="drop"), desired)

    def test_something_has_to_be_left(self):
        with pytest.raises(ValueError, match="^X: none of its 2 entries has labels that the model knows"):
            project(self.model, self.new(["Nice", "Lima"], [1.0, 2.0]), "month", unknown="drop")

    def test_modes_in_another_order_are_refused(self):
        new = self.new(["Oslo", "Bern", "Rome"], [1.0, 2.0, 4.0]).permute((1, 0))
        with pytest.raises(
            ValueError, match="X: mode 1 is called 'to', which is mode 0 of the other; `permute`"
        ):
            project(self.model, new, "month")


class TestKnown:
    """`project_known`: what is not stored is unknown."""

    X = random_tensor(0, (12, 9, 7), 400)
    model = gpualto.cp_complete(X, 2, l2=0.3, random_state=0, tol=1e-14, n_iter_max=2000)

    @pytest.mark.parametrize("mode", [0, 1, 2])
    def test_the_rows_of_the_fit_are_found_again(self, mode):
        rows = project_known(self.model, self.X, mode, l2=0.3)
        np.testing.assert_allclose(rows, self.model.factors[mode], atol=1e-5)

    @pytest.mark.parametrize("mode", [0, 1, 2])
    def test_signs_and_sizes_of_the_model_come_back(self, mode):
        other = CPModel(-self.model.weights / 8, [2.0 * factor for factor in self.model.factors])
        rows = project_known(other, self.X, mode, l2=0.3)
        np.testing.assert_allclose(
            with_factor(other, mode, rows).to_dense(), self.model.to_dense(), atol=1e-4
        )

    def test_a_row_is_that_of_ridge_regression_on_what_is_known(self):
        model = CPModel([2.0, 0.5], random_factors(3, (4, 9, 7), 2))
        new = random_tensor(1, (1, 9, 7), 20)
        row = project_known(model, new, 0, l2=0.5)[0]
        unit, scale = model.normalize(), np.sqrt(np.mean(new.values**2))
        share = (unit.weights / scale) ** (1 / 3)
        _, j, k = new.coords
        basis = unit.factors[1][j] * unit.factors[2][k] * share**2
        solution = np.linalg.solve(basis.T @ basis + 0.5 * np.eye(2), basis.T @ new.values / scale)
        norms = (model.factors[0] * unit.factors[0]).sum(axis=0)
        np.testing.assert_allclose(row, solution * norms / share, rtol=1e-10)

    def test_a_row_does_not_depend_on_those_beside_it(self, tmp_path):
        self.model.save(tmp_path / "model.npz")
        for model in (self.model, CPModel.load(tmp_path / "model.npz")):
            together = project_known(model, self.X, 0, l2=0.3)
            alone = project_known(model, self.X[3:4], 0, l2=0.3)
            np.testing.assert_allclose(alone[0], together[3], rtol=1e-9)

    def test_rows_without_an_entry_are_zero(self):
        new = Tensor.from_coo([[1], [2], [3]], [1.0], (3, 9, 7))
        rows = project_known(self.model, new, 0)
        assert rows[1].any()
        assert not rows[[0, 2]].any()

    def test_models_of_unknown_entries_are_for_it_alone(self):
        for model in (self.model, self.model.select([0])):
            with pytest.raises(ValueError, match="model: was fitted by cp_complete, .* use project_known"):
                project(model, self.X, 0)
        with pytest.raises(ValueError, match="l2: has to be above zero"):
            project_known(self.model, self.X, 0, l2=0)
