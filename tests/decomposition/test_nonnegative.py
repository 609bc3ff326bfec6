import numpy as np
import pytest
import tensorly
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorly.decomposition import non_negative_parafac

import gpualto
from gpualto import CPModel, cp_nn
from tests.decomposition.test_als import exact_fit, low_rank_tensor
from tests.oracle import small_tensors

SHAPE = (8, 9, 10)


def start(shape, rank):
    return [np.random.default_rng(n).random((length, rank)) for n, length in enumerate(shape)]


@settings(max_examples=40)
@given(small_tensors(), st.integers(1, 4), st.sampled_from(["hals", "mu"]), st.integers(0, 9))
def test_nothing_is_negative_and_the_fit_never_falls(X, rank, method, seed):
    X = X.map_values(abs) if method == "mu" else X
    model = cp_nn(X, rank, method=method, random_state=seed, n_iter_max=8, tol=0)
    assert (model.weights >= 0).all()
    assert all((factor >= 0).all() and np.isfinite(factor).all() for factor in model.factors)
    assert (np.diff(model.fits) >= -1e-6).all()
    if X.norm() > 0:
        np.testing.assert_allclose(model.fit, exact_fit(X, model), atol=1e-6)
    else:
        assert (model.fit, model.weights.any()) == (1.0, False)


def test_multiplicative_updates_walk_the_path_of_tensorly():
    X = low_rank_tensor(1, SHAPE, 5)
    ours = cp_nn(X, 3, method="mu", init=start(SHAPE, 3), n_iter_max=20, tol=0)
    theirs = non_negative_parafac(
        tensorly.tensor(X.todense()), 3, n_iter_max=20, tol=0, init=(np.ones(3), start(SHAPE, 3))
    )
    np.testing.assert_allclose(ours.to_dense(), tensorly.cp_to_tensor(theirs), rtol=1e-6)


def test_hals_finds_nonnegative_parts():
    X = low_rank_tensor(1, SHAPE, 3)
    model = cp_nn(X, 3, random_state=0, n_iter_max=3000, tol=1e-10, n_restarts=3)
    assert model.fit > 0.999
    truth = CPModel(
        None, [np.random.default_rng(1 + n).random((length, 3)) for n, length in enumerate(SHAPE)]
    )
    assert truth.score(model)[0] > 0.9


def test_hals_ends_where_no_entry_wants_to_move():
    """Karush-Kuhn-Tucker: the gradient is zero where an entry is positive, and not negative where it is zero."""
    X = gpualto.datasets.flights()
    model = cp_nn(X, 4, random_state=0, n_iter_max=3000, tol=1e-13)
    for mode, factor in enumerate(model.factors):
        scaled = factor * model.weights
        grams = np.prod([f.T @ f for n, f in enumerate(model.factors) if n != mode], axis=0)
        gradient = (scaled @ grams - X.mttkrp(model.factors, mode)) / np.abs(scaled @ grams).max()
        assert np.abs(np.minimum(scaled / scaled.max(), gradient)).max() < 1e-4


def test_a_tensor_that_points_the_other_way_leaves_nothing():
    X = low_rank_tensor(1, SHAPE, 1)
    model = cp_nn(-X, 2, random_state=0)
    assert not model.weights.any()
    assert model.fit == 0


def test_signs_of_eigenvectors_mean_nothing():
    assert cp_nn(gpualto.datasets.flights(), 4, init="nvecs", random_state=0).fit > 0.2


def test_wrong_input_is_refused():
    X = low_rank_tensor(1, SHAPE, 1)
    with pytest.raises(ValueError, match=r'^X: 720 negative values, first at \(0, 0, 0\); method="mu"'):
        cp_nn(-X, 2, method="mu")
    with pytest.raises(ValueError, match="^method: expected"):
        cp_nn(X, 2, method="als")
    with pytest.raises(ValueError, match="^init: mode 1 has negative numbers"):
        cp_nn(X, 2, init=[f * (-1) ** (n == 1) for n, f in enumerate(start(SHAPE, 2))])
    with pytest.raises(ValueError, match="^init: has negative weights"):
        cp_nn(X, 2, init=CPModel([1, -1], start(SHAPE, 2)))
