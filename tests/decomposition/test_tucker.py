import numpy as np
import pandas as pd
import pytest
import pyttb
import tensorly
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import Tensor, TuckerModel, hosvd, tucker_als
from tests.cases import data_file
from tests.decomposition.test_als import exact_fit
from tests.oracle import random_tensor, small_tensors

RANKS = (4, 5, 3, 2)


def orthonormal(seed, shape, ranks):
    rng = np.random.default_rng(seed)
    return [np.linalg.qr(rng.standard_normal(size))[0] for size in zip(shape, ranks, strict=True)]


def feasible_ranks(shape, most):
    """Return ranks that no mode and no product of others forbids."""
    ranks = [min(length, most) for length in shape]
    for _ in shape:
        ranks = [min(rank, np.prod(ranks[:n] + ranks[n + 1 :], dtype=int)) for n, rank in enumerate(ranks)]
    return ranks


def dense_sweep(dense, factors):
    """Return the factors after one sweep, with the core, all from dense unfoldings."""
    factors = list(factors)
    for mode in range(dense.ndim):
        projected = dense
        for other, factor in enumerate(factors):
            if other != mode:
                projected = np.moveaxis(np.tensordot(factor.T, projected, (1, other)), 0, other)
        unfolding = np.moveaxis(projected, mode, 0).reshape(dense.shape[mode], -1)
        factors[mode] = np.linalg.svd(unfolding, full_matrices=False)[0][:, : factors[mode].shape[1]]
    return TuckerModel(np.tensordot(factors[-1].T, projected, (1, dense.ndim - 1)).T, factors), projected


def test_it_walks_the_path_of_pyttb():
    X = gpualto.datasets.flights()
    start = orthonormal(0, X.shape, RANKS)
    theirs, _, output = pyttb.tucker_als(
        pyttb.tensor(X.todense()),
        list(RANKS),
        init=[factor.copy() for factor in start],
        maxiters=6,
        stoptol=0,
        printitn=0,
    )
    ours = tucker_als(X, RANKS, init=start, n_iter_max=6, tol=0)
    np.testing.assert_allclose(ours.fit, output["fit"], atol=1e-10)
    np.testing.assert_allclose(ours.to_dense(), theirs.full().data, atol=1e-8 * X.values.max())


@pytest.mark.parametrize("name", ["flights", "lesmis", "parti-3D_12031"])
def test_hosvd_is_that_of_pyttb(name):
    X = gpualto.read(data_file(name))
    ranks = RANKS[: X.ndim]
    theirs = pyttb.hosvd(
        pyttb.tensor(X.todense()), tol=1e-9, ranks=np.array(ranks), sequential=False, verbosity=0
    )
    ours = hosvd(X, ranks)
    np.testing.assert_allclose(ours.to_dense(), theirs.full().data, atol=1e-8 * abs(X.values).max())


def test_it_ends_where_tensorly_ends():
    X = gpualto.read(data_file("lesmis"))
    theirs = tensorly.decomposition.tucker(X.todense(), [5] * X.ndim, init="svd", tol=1e-10, n_iter_max=200)
    difference = np.linalg.norm(tensorly.tucker_to_tensor(theirs) - X.todense())
    ours = tucker_als(X, 5, tol=1e-12, n_iter_max=200)
    np.testing.assert_allclose(ours.fit, 1 - difference / X.norm(), atol=1e-5)


@settings(max_examples=40)
@given(small_tensors(), st.integers(1, 3), st.sampled_from(["random", "hosvd"]))
def test_factors_are_orthonormal_and_the_fit_is_exact_and_never_falls(X, most, init):
    ranks = feasible_ranks(X.shape, most)
    model = tucker_als(X, ranks, init=init, random_state=0, n_iter_max=5, tol=0)
    assert model.core.shape == tuple(ranks)
    for factor in model.factors:
        np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)
        assert (factor.max(axis=0) >= -factor.min(axis=0) - 1e-12).all()
    assert (np.diff(model.fits) >= -1e-7).all()
    if X.norm() > 0:
        np.testing.assert_allclose(model.fit, exact_fit(X, model), atol=1e-6)
    else:
        assert (model.fit, model.core.any()) == (1.0, False)


@settings(max_examples=40)
@given(st.lists(st.integers(2, 6), min_size=2, max_size=4), st.integers(0, 999))
def test_a_sweep_is_that_of_dense_unfoldings(shape, seed):
    ranks = feasible_ranks(shape, 2)
    X = random_tensor(seed, tuple(shape), 200)
    start = orthonormal(seed, shape, ranks)
    model = tucker_als(X, ranks, init=start, n_iter_max=1)
    desired, projected = dense_sweep(X.todense(), start)
    core = np.moveaxis(np.tensordot(desired.factors[-1].T, projected, (1, len(shape) - 1)), 0, -1)
    np.testing.assert_allclose(model.to_dense(), TuckerModel(core, desired.factors).to_dense(), atol=1e-8)


def test_full_ranks_give_the_tensor_back():
    X = random_tensor(1, (3, 4, 5), 40)
    model = hosvd(X, X.shape)
    np.testing.assert_allclose(model.to_dense(), X.todense(), atol=1e-12)
    assert model.fit == pytest.approx(1, abs=1e-7)


def test_long_modes_and_float32():
    rng = np.random.default_rng(0)
    coords = [rng.integers(0, length, 3000) for length in (5, 20_000, 30)]
    X = Tensor.from_coo(coords, rng.random(3000).astype(np.float32), (5, 20_000, 30))
    model = tucker_als(X, (3, 4, 2), random_state=0)
    assert {array.dtype for array in (model.core, *model.factors)} == {np.dtype(np.float32)}
    wide = tucker_als(X.astype(np.float64), (3, 4, 2), random_state=0)
    np.testing.assert_allclose(model.fit, wide.fit, atol=1e-5)


def test_what_a_model_can_do(tmp_path):
    X = gpualto.datasets.flights()
    model = tucker_als(X, RANKS, random_state=0)
    core, factors = model
    dense = model.to_dense()
    np.testing.assert_allclose(dense, np.einsum("abcd,ia,jb,kc,ld->ijkl", core, *factors), atol=1e-9)
    np.testing.assert_allclose(model.values_at(X.coords), dense[tuple(X.coords)], atol=1e-9)
    np.testing.assert_allclose(model.residuals(X), X.values - dense[tuple(X.coords)], atol=1e-9)
    np.testing.assert_allclose(model.to_pyttb().full().data, dense, atol=1e-9)
    np.testing.assert_allclose(tensorly.tucker_to_tensor(model.to_tensorly()), dense, atol=1e-9)
    model.save(tmp_path / "model.npz")
    again = TuckerModel.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.core, core)
    assert (again.labels, again.fits, again.converged) == (X.labels, model.fits, True)
    assert repr(again) == repr(model)
    with pytest.raises(ValueError, match="expected a gpualto CP model"):
        gpualto.CPModel.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="coords: mode 0 has the coordinate 16"):
        model.values_at([[16], [0], [0], [0]])


def test_a_model_in_words_and_as_a_table():
    X = gpualto.datasets.flights()
    model = tucker_als(X, (3, 3, 1, 1), random_state=0)
    lines = model.describe(top=2).splitlines()
    assert [line.partition(":")[0] for line in lines[:8]] == [
        *(f"carrier {n}" for n in (1, 2, 3)),
        *(f"dest {n}" for n in (1, 2, 3)),
        "hour 1",
        "month 1",
    ]
    assert lines[7] == "month 1: every"
    largest = np.unravel_index(abs(model.core).argmax(), model.core.shape)
    assert (
        lines[8]
        == f"core {model.core.max():,.0f}: carrier {largest[0] + 1}, dest {largest[1] + 1}, hour 1, month 1"
    )
    table = pd.DataFrame(model.to_table())
    for mode, name in enumerate(["carrier", "dest"]):
        part = table[table["mode"] == name].pivot(index="index", columns="column", values="weight")
        np.testing.assert_array_equal(part, model.factors[mode])


def test_restarts_keep_the_best_and_a_seed_repeats():
    X = gpualto.datasets.flights()
    few = tucker_als(X, RANKS, init="random", random_state=3, n_iter_max=3)
    best = tucker_als(X, RANKS, init="random", random_state=3, n_iter_max=3, n_restarts=3)
    assert best.fit >= few.fit
    again = tucker_als(X, RANKS, init="random", random_state=3, n_iter_max=3, n_restarts=3)
    np.testing.assert_array_equal(best.core, again.core)
    with pytest.raises(ValueError, match="n_restarts: more than one start needs"):
        tucker_als(X, RANKS, n_restarts=2)


@pytest.mark.parametrize(
    ("ranks", "options", "message"),
    [
        ((2, 2), {}, "ranks: 2 were given for a tensor of 3 modes"),
        ((2, 0, 2), {}, "ranks: mode 1: expected a positive integer, got 0"),
        ((4, 2, 2), {}, "ranks: mode 0 has 3 indices, fewer than its rank 4"),
        ((1, 3, 2), {}, "ranks: mode 1 has rank 3, more than the product 2 of the others"),
        (2, {"init": "nvecs"}, 'init: expected "hosvd", "random", a TuckerModel or factors'),
        (2, {"init": [np.eye(3)[:, :2]] * 2}, "init: expected factors of shapes"),
        (2, {"init": [np.full((n, 2), np.nan) for n in (3, 4, 5)]}, "init: mode 0 has values that are not"),
        (2, {"tol": -1.0}, "tol: expected a number that is not negative"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(ranks, options, message):
    with pytest.raises(ValueError, match=message):
        tucker_als(random_tensor(0, (3, 4, 5), 20), ranks, **options)


def test_values_that_are_not_finite_are_refused():
    X = Tensor.from_coo([[0, 1], [1, 0]], [np.nan, 1.0])
    for method in (hosvd, tucker_als):
        with pytest.raises(ValueError, match=r"X: 1 non-finite value, first at \(0, 1\)"):
            method(X, 1)


def test_factors_that_do_not_fit_the_core_are_refused():
    with pytest.raises(ValueError, match=r"factors: expected a \(length, rank\) array for each of the ranks"):
        TuckerModel(np.ones((2, 3)), [np.ones((4, 2)), np.ones((5, 2))])
