import numpy as np
import pytest
import pyttb
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import CPModel, Tensor, cp_apr
from gpualto.decomposition import poisson
from tests.cases import data_file
from tests.decomposition.test_als import as_pyttb
from tests.oracle import dense_model, random_tensor, small_tensors


def start(shape, rank):
    return [np.random.default_rng(n).random((length, rank)) + 0.1 for n, length in enumerate(shape)]


@pytest.mark.parametrize("name", ["flights", "lesmis"])
def test_it_walks_the_path_of_pyttb(name, monkeypatch):
    """Without lifting: pyttb 1.8 lifts every entry near zero, the paper those whose gradient asks for it."""
    monkeypatch.setattr(poisson, "_NEAR_ZERO", 0)
    X = gpualto.read(data_file(name))
    theirs, _, output = pyttb.cp_apr(
        as_pyttb(X), 4, algorithm="mu", init=pyttb.ktensor(start(X.shape, 4)), maxiters=6, stoptol=1e-12,
        kappatol=0, printitn=0, printinneritn=0,
    )  # fmt: skip
    ours = cp_apr(X, 4, init=start(X.shape, 4), n_iter_max=6, tol=1e-12)
    expected = CPModel(theirs.weights, theirs.factor_matrices).arrange(ord=1)
    np.testing.assert_allclose(ours.weights, expected.weights, rtol=1e-8)
    for factor, other in zip(ours.factors, expected.factors, strict=True):
        np.testing.assert_allclose(factor, other, atol=1e-8)
    np.testing.assert_allclose(ours.measures["log-likelihood"][-1], output["obj"], rtol=1e-8)


def log_likelihood(X, model):
    dense, mean = X.todense(), model.to_dense()
    return float((np.where(dense > 0, dense * np.log(np.where(dense > 0, mean, 1)), 0) - mean).sum())


@settings(max_examples=40)
@given(small_tensors(), st.integers(1, 4), st.integers(0, 9))
def test_likelihood_and_fit_are_those_of_the_dense_model(X, rank, seed):
    X = X.map_values(lambda values: np.round(abs(values) * 3))
    model = cp_apr(X, rank, random_state=seed, n_iter_max=6, tol=0)
    assert all((factor >= 0).all() for factor in model.factors)
    np.testing.assert_allclose(model.weights.sum(), X.sum(), atol=1e-8)
    for factor in model.factors:
        np.testing.assert_allclose(factor.sum(axis=0), 1)
    desired = log_likelihood(X, model)
    np.testing.assert_allclose(model.measures["log-likelihood"][-1], desired, rtol=1e-6, atol=1e-6)
    if X.norm() > 0:
        residual = np.linalg.norm(X.todense() - model.to_dense()) / X.norm()
        np.testing.assert_allclose(model.fit, 1 - residual, atol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_the_likelihood_does_not_fall_within_one_lifting(seed):
    X = random_tensor(seed, (6, 7, 8), 60).map_values(lambda values: np.ceil(abs(values)))
    model = cp_apr(X, 3, random_state=seed, n_iter_max=40, tol=0)
    likelihoods = np.array(model.measures["log-likelihood"])
    # A lift adds 0.01 to shares that are zero: what it may cost is small beside what the updates gain.
    assert (np.diff(likelihoods) > -1e-3 * abs(likelihoods).max()).all()
    assert likelihoods[-1] > likelihoods[0]


def test_it_finds_the_means_that_counts_were_drawn_from():
    rng = np.random.default_rng(0)
    truth = CPModel([4e4, 2e4], [rng.dirichlet(np.full(length, 0.3), 2).T for length in (12, 15, 10)])
    X = Tensor.from_dense(rng.poisson(dense_model(*truth)))
    model = cp_apr(X, 2, random_state=0, n_restarts=3)
    assert truth.score(model)[0] > 0.97
    assert log_likelihood(X, model) >= log_likelihood(X, truth)


def test_it_stops_when_the_conditions_hold():
    X = gpualto.datasets.flights()
    model = cp_apr(X, 2, random_state=0, tol=1e-3)
    assert model.converged
    assert model.measures["KKT violation"][-1] < 1e-3
    assert (np.array(model.measures["KKT violation"][:-1]) >= 1e-3).all()
    for mode, factor in enumerate(model.factors):
        scaled = [f * model.weights if n == mode else f for n, f in enumerate(model.factors)]
        ratio = X.with_values(X.values / gpualto.model_values(X, model)).mttkrp(scaled, mode)
        assert abs(np.minimum(factor * model.weights, 1 - ratio)).max() < 2e-3


def test_inadmissible_zeros_come_back():
    X = Tensor.from_dense(np.multiply.outer([5.0, 3.0], [2.0, 4.0]))
    factors = [np.array([[1.0], [1.0]]), np.array([[1.0], [0.0]])]
    model = cp_apr(X, 1, init=factors, n_iter_max=50, tol=1e-8)
    np.testing.assert_allclose(model.to_dense(), X.todense(), rtol=1e-5)


def test_restarts_keep_the_best_likelihood():
    X = gpualto.read(data_file("lesmis"))
    one, best = (cp_apr(X, 4, random_state=0, n_iter_max=20, n_restarts=n) for n in (1, 4))
    assert best.measures["log-likelihood"][-1] >= one.measures["log-likelihood"][-1]


def test_airline_networks():
    """Components of flights are networks: the main carrier of most of them holds most of its flights."""
    model = cp_apr(gpualto.datasets.flights(), 8, random_state=0)
    carriers = model.labels[0]
    main = [carriers.text(index).strip() for index in model.factors[0].argmax(axis=0)]
    assert {"EV", "UA", "DL", "B6", "US", "WN"} <= set(main)
    assert (np.sort(model.factors[0].max(axis=0))[2:] > 0.65).all()
    southwest = main.index("WN")
    dest = model.labels[1]
    top = np.argsort(-model.factors[1][:, southwest])[:5]
    assert {"MDW", "STL", "HOU"} <= {dest.text(index) for index in top}


def test_negative_values_are_refused():
    X = Tensor.from_coo([[0, 1], [1, 1]], [1.0, -2.0])
    with pytest.raises(ValueError, match=r"^X: 1 negative value, first at \(1, 1\); a Poisson model needs"):
        cp_apr(X, 2)


def test_the_likelihood_is_that_of_the_values_as_they_are():
    X = random_tensor(0, (5, 6, 4), 60).map_values(lambda values: abs(values) * 2.0**-30)
    model = cp_apr(X, 2, random_state=0, n_iter_max=20)
    dense, means = X.todense(), model.to_dense()
    stored = dense > 0
    desired = (dense[stored] * np.log(means[stored])).sum() - means.sum()
    np.testing.assert_allclose(model.measures["log-likelihood"][-1], desired, rtol=1e-9)
    np.testing.assert_allclose(model.weights.sum(), X.sum(), rtol=1e-3)
