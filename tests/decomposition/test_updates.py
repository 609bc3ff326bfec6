import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import cp_als
from gpualto.decomposition.updates import hals, roughness, smooth
from tests.oracle import dense_mttkrp, random_factors, random_tensor, small_tensors

X = random_tensor(0, (12, 9, 10), 300)


def problem(seed=0, rank=3):
    """Return Gram product and MTTKRP of mode 0, and the objective of a factor in its place."""
    factors = random_factors(seed, X.shape, rank)
    product = dense_mttkrp(X.todense(), factors, 0)
    gram = (factors[1].T @ factors[1]) * (factors[2].T @ factors[2])

    def residual(U):
        return np.sum((X.todense() - np.einsum("ir,jr,kr->ijk", U, *factors[1:])) ** 2)

    return gram, product, residual


def test_smooth_solves_the_penalised_equations():
    gram, product, _ = problem()
    unit, norms, _ = smooth(0.7)(gram, product, None, None)
    length = len(product)
    differences = np.diff(np.eye(length), axis=0)
    operator = np.kron(np.eye(length), gram) + 0.7 * np.kron(differences.T @ differences, np.eye(3))
    desired = np.linalg.solve(operator, product.ravel()).reshape(length, 3)
    np.testing.assert_allclose(unit * norms, desired, atol=1e-10)


@pytest.mark.parametrize("penalty", [1e6, 1e12, 1e18])
def test_a_large_penalty_makes_columns_constant(penalty):
    gram, product, _ = problem()
    unit, norms, _ = smooth(penalty)(gram, product, None, None)
    constant = np.linalg.solve(gram, product.mean(axis=0))
    np.testing.assert_allclose(unit * norms, np.tile(constant, (len(product), 1)), atol=1e-3)


def test_hals_lowers_the_residual_to_that_of_nonnegative_least_squares():
    from scipy.optimize import nnls

    gram, product, residual = problem()
    U = np.ones((12, 3))
    for _ in range(50):
        unit, norms, _ = hals(gram, product, U, np.ones(3))
        assert residual(unit * norms) <= residual(U) + 1e-9
        U = unit * norms
    root = np.linalg.cholesky(gram).T
    desired = [nnls(root, np.linalg.solve(root.T, row))[0] for row in product]
    np.testing.assert_allclose(U, desired, atol=1e-6)


def penalised(X, model, l2, penalties):
    rough = sum(weight * roughness(model.factors[mode]) for mode, weight in penalties.items())
    residual = ((1 - model.fit) * X.norm()) ** 2
    return residual + float((model.weights**2 * (l2 + rough)).sum())


@settings(max_examples=40)
@given(small_tensors(), st.integers(1, 3), st.floats(0, 3), st.floats(0, 3), st.booleans())
@example(gpualto.Tensor.from_coo([[], []], [], (1, 1)), 1, 5e-324, 0.0, False)
def test_no_sweep_raises_the_penalised_objective(X, rank, l2, penalty, is_nonnegative):
    objectives = []
    cp_als(
        X,
        rank,
        l2=l2,
        smooth_modes={-1: penalty},
        nonnegative_modes=[0] if is_nonnegative and X.ndim > 1 else [],
        n_iter_max=8,
        tol=0,
        random_state=0,
        callback=lambda model: objectives.append(penalised(X, model, l2, {X.ndim - 1: penalty})),
    )
    scale = X.norm() ** 2 + 1e-300
    assert X.norm() == 0 or (np.diff(objectives) <= 1e-9 * scale).all()


def test_constraints_hold_and_say_so_in_the_factors():
    X = gpualto.datasets.flights()
    plain = cp_als(X, 4, random_state=0)
    model = cp_als(X, 4, random_state=0, nonnegative_modes=[0, -3], smooth_modes={2: 3.0}, l2=0.1)
    assert all((model.factors[mode] >= 0).all() or (model.factors[mode] <= 0).all() for mode in (0, 1))
    assert roughness(model.factors[2]).mean() < 0.5 * roughness(plain.factors[2]).mean()
    assert model.weights.sum() < plain.weights.sum()
    assert plain.fit > model.fit > 0.15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": -1}, "^l2: expected a number that is not negative, got -1"),
        ({"smooth_modes": {1: -1}}, "^smooth_modes: mode 1: expected"),
        ({"smooth_modes": {1: float("nan")}}, "^smooth_modes: mode 1: expected"),
        ({"smooth_modes": {3: 1}}, "^smooth_modes: 3 is outside"),
        ({"nonnegative_modes": ["day"]}, "^nonnegative_modes: no mode is called 'day'; they are mode 0"),
        ({"smooth_modes": {1: 1}, "nonnegative_modes": [1]}, "nonnegative_modes, smooth_modes: mode 1"),
        ({"smooth_modes": {0: 1, -3: 5}}, r"^smooth_modes: a mode is named twice in \[0, -3\]"),
        ({"fixed_modes": [0], "nonnegative_modes": [-3]}, "fixed_modes, nonnegative_modes: mode 0"),
    ],
)
def test_wrong_constraints_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cp_als(X, 2, **options)
