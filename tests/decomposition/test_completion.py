import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualto import CPModel, Tensor, cp_complete
from tests.cases import case
from tests.oracle import dense_model, random_factors, random_tensor, small_tensors


def incomplete(seed, shape, rank, share, noise=0.0):
    rng = np.random.default_rng(seed)
    full = dense_model(np.ones(rank), random_factors(seed, shape, rank))
    known = np.nonzero(rng.random(shape) < share)
    return full, Tensor.from_coo(known, full[known] + noise * rng.standard_normal(known[0].size), shape)


def test_what_is_unknown_is_found():
    full, X = incomplete(0, (20, 25, 15), 3, 0.2)
    model = cp_complete(X, 3, l2=1e-6, random_state=0, tol=1e-10, n_iter_max=500, n_restarts=5)
    np.testing.assert_allclose(model.to_dense(), full, atol=0.02)
    zero_filled = 1 - np.linalg.norm(X.todense() - full) / np.linalg.norm(full)
    assert zero_filled < 0.2


def dense_sweep(X, factors, l2, scale):
    """Return the factors after a sweep, row by row."""
    dense, known = X.todense() / scale, np.zeros(X.shape, bool)
    known[tuple(X.coords)] = True
    factors = [factor.copy() for factor in factors]
    for mode in range(X.ndim):
        others = [factor for n, factor in enumerate(factors) if n != mode]
        rows = others[0]
        for factor in others[1:]:
            rows = (rows[:, np.newaxis] * factor).reshape(-1, factor.shape[1])
        for i in range(X.shape[mode]):
            mask = np.moveaxis(known, mode, 0)[i].ravel()
            H = rows[mask]
            right = H.T @ np.moveaxis(dense, mode, 0)[i].ravel()[mask]
            factors[mode][i] = np.linalg.solve(H.T @ H + l2 * np.eye(H.shape[1]), right)
    return factors


def test_a_sweep_equals_one_row_by_row():
    _, X = incomplete(1, (6, 5, 7), 3, 0.5, noise=0.1)
    factors = [abs(factor) for factor in random_factors(2, X.shape, 2)]
    scale = np.sqrt(np.mean(X.values**2))
    start = CPModel(None, factors).normalize()
    shares = (start.weights / scale) ** (1 / 3)
    desired = dense_sweep(X, [factor * shares for factor in start.factors], 0.3, scale)
    model = cp_complete(X, 2, l2=0.3, init=factors, n_iter_max=1)
    np.testing.assert_allclose(model.to_dense(), scale * dense_model(np.ones(2), desired), atol=1e-10)


def test_a_fit_goes_on_where_another_stopped():
    _, X = incomplete(1, (6, 5, 7), 3, 0.5, noise=0.1)
    model = cp_complete(X, 2, l2=0.3, random_state=0, tol=1e-14, n_iter_max=3000)
    again = cp_complete(X, 2, l2=0.3, init=model, n_iter_max=1)
    np.testing.assert_allclose(again.weights, model.weights, rtol=1e-4)
    np.testing.assert_allclose(again.measures["objective"][-1], model.measures["objective"][-1], rtol=1e-8)


def test_something_has_to_be_left_to_fit_to():
    with pytest.raises(ValueError, match="^held_out: 0.999999999 of 3 entries leaves none"):
        cp_complete(Tensor.from_coo([[0, 1, 2]], [1.0, 2.0, 3.0]), 1, held_out=0.999999999, random_state=0)


def test_something_has_to_be_held_out():
    with pytest.raises(ValueError, match="^held_out: 1e-09 of 3 entries is none of them; hold out more"):
        cp_complete(Tensor.from_coo([[0, 1, 2]], [1.0, 2.0, 3.0]), 1, held_out=1e-9, random_state=0)


@settings(max_examples=40)
@given(small_tensors(), st.integers(1, 4), st.floats(1e-3, 10))
def test_no_sweep_raises_the_objective(X, rank, l2):
    model = cp_complete(X, rank, l2=l2, random_state=0, n_iter_max=8, tol=0)
    objectives = np.array(model.measures["objective"])
    assert (np.diff(objectives) <= 1e-9 * (X.nnz + 1)).all()
    assert all(np.isfinite(factor).all() for factor in model.factors)
    if X.nnz:
        error = np.sqrt(np.mean((X.values - model.values_at(X.coords)) ** 2))
        np.testing.assert_allclose(model.measures["RMSE"][-1], error, atol=1e-9)


class TestHeldOut:
    full, X = incomplete(3, (20, 25, 15), 2, 0.3, noise=0.3)

    def test_it_is_the_error_at_entries_that_were_not_seen(self):
        coords = np.array(self.X.coords)
        seen = np.arange(self.X.nnz) % 5 > 0
        model = cp_complete(self.X.select(seen), 2, held_out=self.X.select(~seen), random_state=0)
        predicted = model.values_at(coords[:, ~seen])
        desired = np.sqrt(np.mean((self.X.values[~seen] - predicted) ** 2))
        np.testing.assert_allclose(model.measures["held-out RMSE"][-1], desired)

    def test_a_share_is_chosen_by_the_seed(self):
        one, two = (cp_complete(self.X, 2, held_out=0.2, random_state=5) for _ in range(2))
        assert one.measures == two.measures
        assert 0.25 < one.measures["held-out RMSE"][-1] < 0.4

    def test_too_many_components_are_told_by_it(self):
        few, many = (
            cp_complete(self.X, rank, l2=1e-3, held_out=0.3, random_state=0).measures for rank in (2, 12)
        )
        assert many["RMSE"][-1] < few["RMSE"][-1]
        assert many["held-out RMSE"][-1] > few["held-out RMSE"][-1]


def test_the_error_is_over_what_was_observed():
    given_, expected = case("missing-error")
    dense, observed = np.array(given_["dense"]), np.nonzero(given_["observed"])
    X = Tensor.from_coo(observed, dense[observed], dense.shape)
    assert X.norm() == expected["norm_observed"]
    model = cp_complete(X, 1, l2=1e-9, random_state=0, tol=1e-12)
    assert abs(1 - model.fit - expected["relative_error_observed"]) < 1e-6
    truth = CPModel(None, [np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]])])
    np.testing.assert_allclose(X.values - truth.values_at(X.coords), 0)


def test_rows_without_entries_and_float32():
    X = random_tensor(0, (5, 6, 7), 40, np.float32)
    padded = Tensor.from_coo(X.coords, X.values, (9, 6, 7))
    model = cp_complete(padded, 2, random_state=0)
    assert model.factors[0].dtype == np.float32
    assert not model.factors[0][5:].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": 0}, "^l2: has to be above zero"),
        ({"l2": -1}, "^l2: expected"),
        ({"held_out": 1.0}, "^held_out: expected a share"),
        ({"held_out": random_tensor(0, (2, 2), 3)}, r"^held_out: has shape \(2, 2\)"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cp_complete(random_tensor(0, (5, 6, 7), 40), 2, **options)
