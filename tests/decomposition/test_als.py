import numpy as np
import pytest
import pyttb
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import CPModel, Tensor, cp_als
from tests.cases import REFERENCE, case, case_tensor, data_file
from tests.oracle import dense_model, random_factors, random_tensor, small_tensors


def exact_fit(X, model):
    """Return the fit by the dense residual."""
    return 1 - np.linalg.norm(X.todense() - model.to_dense()) / np.linalg.norm(X.todense())


def low_rank_tensor(seed, shape, rank):
    factors = [np.random.default_rng(seed + n).random((length, rank)) for n, length in enumerate(shape)]
    return Tensor.from_dense(dense_model(np.ones(rank), factors))


def as_pyttb(X):
    return pyttb.sptensor(np.ascontiguousarray(X.coords.T), X.values[:, np.newaxis].copy(), X.shape)


@pytest.mark.parametrize("name", ["flights", "splatt-med"])
def test_it_walks_the_path_of_pyttb(name):
    X = gpualto.read(data_file(name))
    start = [np.random.default_rng(n).random((length, 6)) for n, length in enumerate(X.shape)]
    theirs, _, output = pyttb.cp_als(
        as_pyttb(X), 6, init=pyttb.ktensor([f.copy() for f in start]), maxiters=10, stoptol=0, printitn=0
    )
    ours = cp_als(X, 6, init=start, n_iter_max=10, tol=0)
    expected = CPModel(theirs.weights, theirs.factor_matrices).arrange().fix_signs()
    np.testing.assert_allclose(ours.fit, output["fit"], atol=1e-8)
    np.testing.assert_allclose(ours.weights, expected.weights, rtol=1e-8)
    for factor, other in zip(ours.factors, expected.factors, strict=True):
        np.testing.assert_allclose(factor, other, atol=1e-8)


@pytest.mark.parametrize("name", ["flights", "lesmis", "babynames", "routes", "parti-3D_12031"])
@pytest.mark.parametrize("rank", [1, 4])
def test_real_data_reaches_the_fits_of_the_reference(name, rank):
    model = cp_als(
        gpualto.read(data_file(name)), rank, random_state=0, n_restarts=3, tol=1e-6, n_iter_max=150
    )
    np.testing.assert_allclose(model.fit, REFERENCE[name]["cp_als"][str(rank)]["best"], atol=2e-3)


def test_flights_at_rank_8():
    assert round(cp_als(gpualto.datasets.flights(), 8, random_state=0, n_restarts=3).fit, 3) == 0.328


@settings(max_examples=40)
@given(small_tensors(), st.integers(1, 4), st.integers(0, 9))
def test_the_fit_is_that_of_the_dense_residual_and_never_falls(X, rank, seed):
    model = cp_als(X, rank, random_state=seed, n_iter_max=8, tol=0)
    assert all(np.isfinite(factor).all() for factor in model.factors)
    # Rounding of what large weights leave of each other.
    rounding = 1e-6 + 1e-6 * float(model.weights.max(initial=0)) / (X.norm() or 1.0)
    assert (np.diff(model.fits) >= -rounding).all()
    if X.norm() > 0:
        np.testing.assert_allclose(model.fit, exact_fit(X, model), atol=1e-6)
    else:
        assert model.fit == 1.0
        assert not model.weights.any()


def test_it_recovers_an_exact_model():
    X = low_rank_tensor(1, (8, 9, 10), 3)
    model = cp_als(X, 3, random_state=0, n_iter_max=2000, tol=1e-12, n_restarts=3)
    assert model.fit > 0.9999


def test_the_result_is_normalized_arranged_and_labelled():
    model = cp_als(gpualto.datasets.flights(), 3, random_state=0, n_iter_max=5)
    assert [item.name for item in model.labels] == ["carrier", "dest", "hour", "month"]
    assert (np.diff(model.weights) <= 0).all()
    for factor in model.factors:
        np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1)
        assert factor.flags.c_contiguous


class TestStopping:
    X = random_tensor(0, (10, 11, 12), 200)

    def test_the_rule_is_on_the_change_of_the_fit(self):
        model = cp_als(self.X, 2, random_state=0, tol=1e-3)
        changes = abs(np.diff(model.fits))
        assert model.converged
        assert changes[-1] < 1e-3
        assert (changes[:-1] >= 1e-3).all()
        assert model.n_iter == len(model.fits) == len(model.times) < 100
        assert list(model.times) == sorted(model.times)

    def test_no_tolerance_runs_every_sweep(self):
        model = cp_als(self.X, 2, random_state=0, tol=0, n_iter_max=7)
        assert (model.n_iter, model.converged) == (7, False)

    def test_the_callback_sees_every_sweep_and_can_stop(self):
        seen = []

        def callback(model):
            seen.append(model.fit)
            return len(seen) == 3

        model = cp_als(self.X, 2, random_state=0, tol=0, callback=callback)
        assert seen == list(model.fits)
        assert model.n_iter == 3

    def test_verbose_prints_a_line_every_so_many_sweeps(self, capsys):
        cp_als(self.X, 2, random_state=0, tol=0, n_iter_max=6, verbose=2)
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in lines] == ["sweep 2", "sweep 4", "sweep 6"]
        cp_als(self.X, 2, random_state=0, n_iter_max=6)
        assert capsys.readouterr().out == ""


class TestSeeds:
    X = random_tensor(0, (6, 7, 8), 60)

    @pytest.mark.parametrize("init", ["random", "nvecs"])
    @pytest.mark.parametrize("seeded", [int, np.random.default_rng, np.random.RandomState])
    def test_the_same_seed_gives_the_same_bits(self, init, seeded):
        np.random.seed(1)
        one = cp_als(self.X, 3, init=init, random_state=seeded(5))
        np.random.seed(2)
        two = cp_als(self.X, 3, init=init, random_state=seeded(5))
        for a, b in zip((one.weights, *one.factors), (two.weights, *two.factors), strict=True):
            assert a.tobytes() == b.tobytes()

    def test_what_is_no_seed_is_refused(self):
        with pytest.raises(TypeError, match=r"^random_state: "):
            cp_als(self.X, 2, random_state="seed")
        with pytest.raises(TypeError, match=r"^random_state: "):
            cp_als(self.X, 2, random_state=-1)

    def test_restarts_keep_the_best(self):
        X = gpualto.read(data_file("lesmis"))
        fits = []
        generator = np.random.default_rng(3)
        for _ in range(4):
            fits.append(cp_als(X, 1, random_state=generator).fit)
        assert cp_als(X, 1, random_state=3, n_restarts=4).fit == max(fits)

    def test_restarts_need_random_starts(self):
        with pytest.raises(ValueError, match=r"^n_restarts: "):
            cp_als(self.X, 2, init="nvecs", n_restarts=2)


class TestStarts:
    X = random_tensor(0, (6, 7, 8), 60)

    def test_a_start_is_not_modified(self):
        start = random_factors(1, self.X.shape, 3)
        before = [factor.copy() for factor in start]
        cp_als(self.X, 3, init=start)
        cp_als(self.X, 3, init=CPModel(np.ones(3), start), fixed_modes=[0])
        for factor, copy in zip(start, before, strict=True):
            np.testing.assert_array_equal(factor, copy)

    def test_eigenvectors_start_close(self):
        X = low_rank_tensor(2, (20, 21, 22), 2)
        assert cp_als(X, 2, init="nvecs", random_state=0, n_iter_max=1).fit > 0.8

    @pytest.mark.parametrize("init", ["random", "nvecs"])
    def test_a_rank_above_the_length_of_a_mode(self, init):
        given, expected = case("cp-rank-gt-dim")
        X = random_tensor(3, tuple(given["shape"]), 500)
        model = cp_als(X, given["rank"], init=init, random_state=0)
        assert [list(factor.shape) for factor in model.factors] == expected["factor_shapes"]
        assert all(np.isfinite(factor).all() for factor in model.factors)

    @pytest.mark.parametrize(
        ("init", "message"),
        [
            ("svd", '^init: expected "random", "nvecs"'),
            (random_factors(0, (6, 7), 2), "^init: 2 factors were given for a tensor of 3 modes"),
            (random_factors(0, (6, 7, 9), 2), r"^init: mode 2 has shape \(9, 2\), expected \(8, 2\)"),
            (random_factors(0, (6, 7, 8), 3), r"^init: mode 0 has shape \(6, 3\), expected \(6, 2\)"),
            ([np.full((n, 2), np.nan) for n in (6, 7, 8)], "^init: mode 0 has values that are not finite"),
        ],
    )
    def test_a_start_that_does_not_fit_is_refused(self, init, message):
        with pytest.raises(ValueError, match=message):
            cp_als(self.X, 2, init=init)


class TestFixedModes:
    @pytest.mark.parametrize(
        ("dtype", "scale"), [(np.float32, 1e-18), (np.float32, 1e15), (np.float64, 1e-120)]
    )
    @pytest.mark.parametrize("fixed", [[], [1], [0, 2]])
    def test_the_size_of_a_start_does_not_matter(self, dtype, scale, fixed):
        X = random_tensor(0, (6, 7, 8), 90, dtype)
        start = random_factors(0, X.shape, 3, dtype)
        large = [factor * dtype(scale) for factor in start]
        expected = cp_als(X, 3, init=start, fixed_modes=fixed, n_iter_max=4, tol=0)
        model = cp_als(X, 3, init=large, fixed_modes=fixed, n_iter_max=4, tol=0)
        np.testing.assert_allclose(model.fits, expected.fits, atol=1e-5)
        weights = expected.weights / float(scale) ** len(fixed)
        np.testing.assert_allclose(model.weights, weights, rtol=1e-3)

    def test_the_last_mode_may_be_fixed(self):
        given, expected = case("cp-fixed-last")
        factors = [np.array(factor) for factor in given["factors"]]
        X = Tensor.from_dense(dense_model(np.ones(2), factors))
        start = [*random_factors(4, (3, 4), 2), factors[2]]
        model = cp_als(X, 2, init=start, fixed_modes=[-1], n_iter_max=500, tol=1e-12)
        assert model.factors[2].tolist() == expected["last_factor_unchanged"]
        assert model.fit >= expected["fit_at_least"]

    def test_all_modes_may_be_fixed(self):
        X = random_tensor(0, (3, 4, 2), 12)
        start = CPModel([2.0, -1.0], random_factors(5, X.shape, 2))
        model = cp_als(X, 2, init=start, fixed_modes=[0, 1, 2])
        for ours, theirs in zip(
            (model.weights, *model.factors), (start.weights, *start.factors), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(model.fit, exact_fit(X, start))

    @pytest.mark.parametrize("fixed", [[0], [1], [2], [0, 2], [1, 2]])
    def test_fixed_factors_keep_their_values_and_the_fit_is_exact(self, fixed):
        X = random_tensor(0, (3, 4, 5), 30)
        start = random_factors(6, X.shape, 2)
        model = cp_als(X, 2, init=start, fixed_modes=fixed, n_iter_max=10)
        for mode in fixed:
            np.testing.assert_array_equal(model.factors[mode], start[mode])
        np.testing.assert_allclose(model.fit, exact_fit(X, model), atol=1e-9)

    def test_random_starts_have_nothing_to_fix(self):
        with pytest.raises(ValueError, match=r"^fixed_modes: \[1\] need factors to stay at"):
            cp_als(random_tensor(0, (3, 4), 5), 2, fixed_modes=[1])


class TestHardInputs:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_a_constant_tensor(self, seed):
        given, expected = case("cp-singular-ones")
        X = Tensor.from_dense(np.full((4, 2, 3), 0.5))
        model = cp_als(X, given["rank"], random_state=seed)
        assert model.fit >= expected["fit_at_least"]
        assert all(np.isfinite(factor).all() for factor in model.factors)

    def test_a_start_with_equal_columns(self):
        X = Tensor.from_dense(np.full((4, 2, 3), 0.5))
        start = [np.repeat(factor, 2, axis=1) for factor in random_factors(0, X.shape, 1)]
        assert cp_als(X, 2, init=start).fit >= 0.999999

    def test_modes_of_length_one(self):
        given, expected = case("cp-size1-modes")
        X = case_tensor(given)
        np.testing.assert_allclose(X.norm(), expected["norm"])
        assert cp_als(X, given["rank"], random_state=0).fit >= expected["fit_at_least"]

    def test_one_mode(self):
        X = Tensor.from_coo([[0, 3]], [1.0, 2.0])
        assert cp_als(X, 2, random_state=0).fit >= 0.999999

    def test_no_nonzeros(self):
        X = case_tensor(case("empty")[0])
        model = cp_als(X, 2, random_state=0)
        assert model.weights.tolist() == [0, 0]
        assert model.fit == 1.0
        assert all(np.isfinite(factor).all() for factor in model.factors)

    def test_one_nonzero(self):
        given, expected = case("one-nonzero")
        np.testing.assert_allclose(cp_als(case_tensor(given), 1, random_state=0).fit, expected["fit_rank1"])

    def test_an_exact_start_has_fit_one(self):
        given, expected = case("fit-nan")
        factors = [np.array(column)[:, np.newaxis] for column in given["outer"]]
        X = Tensor.from_dense(dense_model(np.ones(1), factors))
        np.testing.assert_allclose(X.norm() ** 2, expected["norm_squared"])
        model = cp_als(X, 1, init=factors)
        np.testing.assert_allclose(model.fits, expected["fit"], atol=expected["tol"])

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_values_not_finite_are_refused(self, value):
        given, _ = case("cp-nan-input")
        X = Tensor.from_coo(np.array(given["coords0"]).T, [value, 1.0], given["shape"])
        with pytest.raises(ValueError, match=r"^X: 1 non-finite value, first at \(0, 0, 0\)"):
            cp_als(X, 1)

    def test_integers(self):
        given, expected = case("cp-int")
        X = Tensor.from_dense(np.arange(1, 31).reshape(5, 2, 3))
        np.testing.assert_allclose(X.norm(), expected["norm"])
        model = cp_als(X, given["rank"], random_state=0, n_restarts=4, n_iter_max=500)
        assert model.fit >= expected["fit_at_least"]
        assert model.factors[0].dtype == np.dtype(expected["dtype_factors"])

    def test_normalizing_does_not_change_the_model(self):
        X = Tensor.from_dense(np.random.default_rng(0).standard_normal((6, 9, 7)))
        model = cp_als(X, 3, random_state=0, n_iter_max=20)
        np.testing.assert_allclose(model.fit, exact_fit(X, model), atol=1e-8)
        np.testing.assert_allclose(model.normalize().to_dense(), model.to_dense(), rtol=1e-8, atol=1e-12)
        assert (model.weights >= 0).all()

    def test_float32(self):
        X = low_rank_tensor(1, (8, 9, 10), 2)
        model = cp_als(X.astype(np.float32), 2, random_state=0, n_iter_max=300, tol=1e-9)
        assert {factor.dtype for factor in model.factors} == {np.dtype(np.float32)}
        np.testing.assert_allclose(
            model.fit, cp_als(X, 2, random_state=0, n_iter_max=300, tol=1e-9).fit, atol=1e-3
        )

    def test_values_of_extreme_size(self):
        X = random_tensor(0, (5, 6, 7), 60)
        expected = cp_als(X, 2, random_state=0, n_iter_max=10, tol=0).fit
        for scale in (1e-100, 1e100):
            Y = Tensor.from_coo(X.coords, X.values * scale, X.shape)
            np.testing.assert_allclose(
                cp_als(Y, 2, random_state=0, n_iter_max=10, tol=0).fit, expected, rtol=1e-6
            )

    @pytest.mark.parametrize("name", ["rank", "n_iter_max", "n_restarts"])
    @pytest.mark.parametrize("value", [0, -1, 1.5])
    def test_counts_have_to_be_positive_integers(self, name, value):
        options = {"rank": 2, name: value}
        with pytest.raises(ValueError, match=f"^{name}: expected a positive integer"):
            cp_als(random_tensor(0, (3, 4), 5), **options)


def test_the_fit_hardly_falls_where_components_become_equal():
    """Rank 3 in two dimensions: an explicit inverse of the Gram product once made it fall by 24."""
    for seed in range(60):
        X = gpualto.Tensor.from_dense(np.random.default_rng(seed).standard_normal((2, 2)))
        fits = cp_als(X, 3, random_state=seed, n_iter_max=8, tol=0).fits
        assert min(np.diff(fits)) > -1e-4, seed
