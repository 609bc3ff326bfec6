"""What all methods have in common: which data and starts they take, and what they say of others."""

import inspect

import numpy as np
import pytest

import gpualto
from gpualto import CPModel, Tensor
from gpualto.decomposition.methods import METHODS
from tests.oracle import random_factors, random_tensor

ALL = {**METHODS, "tucker": lambda X, rank, **options: gpualto.tucker_als(X, (rank,) * X.ndim, **options)}
STEPS = {"random_state": 0, "n_iter_max": 3}


def positive_tensor(dtype=np.float64):
    X = random_tensor(0, (6, 7, 8), 90, dtype)
    return X.map_values(abs)


@pytest.mark.parametrize("method", ALL.values(), ids=ALL)
class TestData:
    @pytest.mark.parametrize("norm", [1e-170, 1e-150, 1e145, 1e200])
    def test_squares_that_leave_the_range_are_refused(self, method, norm):
        X = positive_tensor()
        with pytest.raises(
            ValueError, match=r"^X: has the norm .* leave the range of float64; fit X / 1e[-+]"
        ):
            method(X * (norm / X.norm()), 2, **STEPS)

    def test_large_numbers_of_32_bits_are_to_become_64(self, method):
        X = positive_tensor(np.float32)
        with pytest.raises(ValueError, match=r"leave the range of float32; fit X\.astype\(np\.float64\)"):
            method(X * (1e35 / X.norm()), 2, **STEPS)
        assert np.isfinite(method(X.astype(np.float64) * (1e35 / X.norm()), 2, **STEPS).fit)

    @pytest.mark.parametrize(
        ("dtype", "norm"),
        [(np.float32, 1e-29), (np.float32, 1e29), (np.float64, 1e-130), (np.float64, 1e130)],
    )
    def test_all_that_do_not_are_fitted(self, method, dtype, norm):
        X = positive_tensor(dtype)
        model = method(X * (norm / X.norm()), 2, **STEPS)
        assert np.isfinite(model.fit)
        assert all(np.isfinite(factor).all() for factor in model.factors)

    def test_a_mode_without_indices_is_named(self, method):
        with pytest.raises(ValueError, match="mode 1 has (length 0|0 indices)"):
            method(Tensor.from_coo([[], [], []], [], (3, 0, 2)), 2, **STEPS)


@pytest.mark.parametrize("name", METHODS)
class TestStarts:
    X = positive_tensor(np.float32)

    def test_weights_have_to_be_finite(self, name):
        start = CPModel([np.nan, 1.0], [abs(factor) for factor in random_factors(0, self.X.shape, 2)])
        with pytest.raises(ValueError, match="^init: has weights that are not finite"):
            METHODS[name](self.X, 2, init=start)

    def test_factors_have_to_be_finite_in_the_type_of_the_tensor(self, name):
        start = [abs(factor) * 1e300 for factor in random_factors(0, self.X.shape, 2)]
        with pytest.raises(
            ValueError, match="^init: mode 0 has values that are not finite in the tensor's float32"
        ):
            METHODS[name](self.X, 2, init=start)
        with pytest.raises(ValueError, match="^init: the product of weights and norms leaves the range"):
            METHODS[name](self.X.astype(np.float64), 2, init=start)


def test_a_rank_that_no_machine_has_room_for_is_refused():
    with pytest.raises(MemoryError, match="^rank: 100000000 components need .* and this machine has"):
        gpualto.cp_als(positive_tensor(), 10**8)


@pytest.mark.parametrize("name", ["als", "nn", "apr", "opt", "complete"])
def test_the_size_of_the_data_does_not_matter(name):
    rng = np.random.default_rng(0)
    factors = [rng.random((length, 2)) for length in (6, 7, 8)]
    X = Tensor.from_dense(CPModel(None, factors).to_dense())
    method = METHODS[name]
    options = {"random_state": 1, "tol": 0, "n_iter_max": 30}
    expected = method(X, 2, **options)
    assert expected.fit > 0.95
    for scale in (2.0**-60, 2.0**50) if name != "apr" else (2.0**-60, 2.0**-20):
        model = method(X * scale, 2, **options)
        np.testing.assert_allclose(model.fit, expected.fit, atol=1e-3 if name == "apr" else 1e-6)
        np.testing.assert_allclose(
            model.weights / scale, expected.weights, rtol=0.05 if name == "apr" else 1e-3
        )


def test_all_methods_take_what_the_runner_offers():
    offered = {
        "n_iter_max",
        "tol",
        "init",
        "random_state",
        "n_restarts",
        "verbose",
        "callback",
        "deterministic",
    }
    for name, method in METHODS.items():
        assert offered <= set(inspect.signature(method).parameters), name
