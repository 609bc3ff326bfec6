import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

import gpualto
from gpualto import cp_als, cp_nn, cp_opt
from gpualto.decomposition.gradient import _Problem
from tests.decomposition.test_als import exact_fit, low_rank_tensor
from tests.oracle import random_tensor, small_tensors


@given(st.integers(0, 99), st.floats(0, 1))
def test_the_gradient_is_that_of_the_objective(seed, l2):
    X = random_tensor(seed, (3, 4, 2), 12)
    problem = _Problem(X, 2, False, l2, False)
    vector = np.random.default_rng(seed).standard_normal(18)
    _, gradient = problem.value_and_gradient(vector)
    desired = approx_fprime(vector, lambda x: problem.value_and_gradient(x)[0], 1e-7)
    np.testing.assert_allclose(gradient, desired, rtol=1e-4, atol=1e-4)


@settings(max_examples=30)
@given(small_tensors(), st.integers(1, 3), st.booleans())
def test_the_fit_is_that_of_the_dense_residual_and_never_falls(X, rank, nonnegative):
    model = cp_opt(X, rank, nonnegative=nonnegative, random_state=0, n_iter_max=8, tol=0)
    assert (np.diff(model.measures["objective"]) <= 1e-9).all()
    assert not nonnegative or all((factor >= 0).all() for factor in model.factors)
    if X.norm() > 0:
        np.testing.assert_allclose(model.fit, exact_fit(X, model), atol=1e-6)
    else:
        assert (model.fit, model.weights.any()) == (1.0, False)


def test_it_ends_where_alternating_least_squares_does():
    X = gpualto.datasets.flights()
    options = {"random_state": 0, "n_restarts": 3}
    assert abs(cp_opt(X, 4, **options).fit - cp_als(X, 4, tol=1e-7, n_iter_max=300, **options).fit) < 1e-3
    bounded = cp_opt(X, 4, nonnegative=True, **options)
    assert abs(bounded.fit - cp_nn(X, 4, tol=1e-7, n_iter_max=300, **options).fit) < 3e-3


def test_it_stops_by_the_gradient_and_by_the_callback():
    X = low_rank_tensor(0, (6, 7, 8), 2)
    model = cp_opt(X, 2, random_state=0, tol=1e-6)
    assert model.converged
    assert model.measures["gradient"][-1] < 1e-6
    assert model.fit > 0.999
    stopped = cp_opt(X, 2, random_state=0, tol=0, callback=lambda model: model.n_iter == 3)
    assert stopped.n_iter == 3


def test_a_start_that_is_a_minimum_stays():
    X = low_rank_tensor(0, (6, 7, 8), 2)
    exact = [np.random.default_rng(n).random((length, 2)) for n, length in enumerate(X.shape)]
    assert cp_opt(X, 2, init=exact).fit > 0.999999


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="^l2: expected"):
        cp_opt(random_tensor(0, (3, 4), 5), 2, l2=-1)
    with pytest.raises(ValueError, match="^init: mode 0 has negative numbers"):
        cp_opt(random_tensor(0, (3, 4), 5), 1, nonnegative=True, init=[-np.ones((3, 1)), np.ones((4, 1))])
