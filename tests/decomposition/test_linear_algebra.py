import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualto.backends.dense import solve_normal_equations
from gpualto.decomposition.linear_algebra import (
    column_products,
    cross_gram,
    gram,
    hadamard,
    normalize_columns,
    normalize_with_gram,
)


def random_matrix(seed, rows, columns, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_products_are_in_float64(dtype):
    a, b = random_matrix(0, 100_000, 3, dtype), random_matrix(1, 100_000, 4, dtype)
    assert cross_gram(a, b).dtype == gram(a).dtype == np.float64
    np.testing.assert_allclose(cross_gram(a, b), a.astype(float).T @ b.astype(float), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gram(a), a.astype(float).T @ a.astype(float), rtol=1e-9, atol=1e-9)


def test_hadamard_and_column_products():
    a, b = random_matrix(0, 5, 3), random_matrix(1, 5, 3)
    np.testing.assert_array_equal(hadamard([a, b, a]), a * b * a)
    np.testing.assert_allclose(column_products(a, b), (a * b).sum(axis=0))


@given(st.integers(0, 99), st.integers(1, 6))
def test_the_solution_solves(seed, rank):
    matrix = gram(random_matrix(seed, rank + 5, rank)) + 0.1 * np.eye(rank)
    right = random_matrix(seed + 1, 4, rank)
    np.testing.assert_allclose(solve_normal_equations(matrix, right) @ matrix, right, atol=1e-8)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.ones((3, 3)),
        np.diag([1.0, 0.0, 2.0]),
        gram(random_matrix(0, 2, 3)),
        gram(np.hstack([random_matrix(1, 9, 2)] * 2)[:, :3]),
    ],
    ids=["zero", "rank one", "dead component", "rank above length", "equal columns"],
)
def test_a_singular_matrix_gives_a_finite_least_squares_solution(matrix):
    right = random_matrix(2, 4, 3) @ matrix  # consistent
    solution = solve_normal_equations(matrix, right)
    assert np.isfinite(solution).all()
    np.testing.assert_allclose(solution @ matrix, right, atol=1e-10)


def test_components_of_very_different_size_are_not_taken_for_singular():
    scale = np.array([1e-9, 1.0, 1e9])
    matrix = (gram(random_matrix(0, 9, 3)) + np.eye(3)) * np.outer(scale, scale)
    expected = random_matrix(1, 4, 3) / scale
    np.testing.assert_allclose(solve_normal_equations(matrix, expected @ matrix), expected, rtol=1e-9)


squares = st.one_of(st.floats(0, 1e300), st.sampled_from([0.0, 5e-324, 1e-300, 1e-45, 1e-20, 1e300]))


@given(st.lists(squares, min_size=1, max_size=4), st.sampled_from([np.float32, np.float64]))
def test_components_of_any_size_are_solved_for_or_count_as_zero(squares, dtype):
    squares = np.minimum(squares, 1e30) if dtype == np.float32 else np.array(squares)
    right = np.sqrt(squares)[np.newaxis].astype(dtype)  # what a tensor of norm one may give
    solution = solve_normal_equations(np.diag(squares), right)
    solved = solution[0] != 0
    assert solved[squares > (1e-19 if dtype == np.float32 else 1e-279)].all()
    np.testing.assert_allclose(solution[0, solved] * right[0, solved], 1, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_columns_of_any_size_are_normalized(scale):
    factor = random_matrix(0, 6, 3) * scale
    factor[:, 1] = 0
    unit, norms = normalize_columns(factor)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=0), [1, 0, 1])
    np.testing.assert_allclose(unit * norms, factor)


def test_normalizing_keeps_float32():
    unit, norms = normalize_columns(random_matrix(0, 6, 3, np.float32))
    assert (unit.dtype, norms.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1.0, 1e120, 1e200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_normalized_together_with_their_gram_matrix(scale, dtype):
    if dtype == np.float32 and scale != 1.0:
        scale = 1e-30 if scale < 1 else 1e30
    factor = random_matrix(0, 6, 3, dtype) * dtype(scale)
    unit, norms, matrix = normalize_with_gram(factor)
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(np.linalg.norm(unit, axis=0), 1, rtol=tolerance)
    np.testing.assert_allclose(unit * norms, factor, rtol=tolerance)
    np.testing.assert_allclose(matrix, gram(unit), atol=tolerance)
    assert unit.dtype == dtype


def test_a_column_of_zeros_stays_zero():
    factor = random_matrix(0, 6, 3)
    factor[:, 1] = 0
    unit, norms, matrix = normalize_with_gram(factor)
    assert norms[1] == 0
    assert not unit[:, 1].any()
    np.testing.assert_allclose(matrix, gram(unit))


def test_a_factor_of_no_rows():
    unit, norms = normalize_columns(np.zeros((0, 2)))
    assert unit.shape == (0, 2)
    assert norms.tolist() == [0, 0]


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 3e38), (np.float64, 1e308)])
def test_a_norm_beyond_the_type_of_the_factor(dtype, largest):
    factor = np.full((4, 2), largest, dtype) * np.array([1, 1e-30], dtype)
    with np.errstate(over="ignore"):
        unit, norms = normalize_columns(factor)
    np.testing.assert_allclose(unit, 0.5, rtol=1e-6)
    np.testing.assert_allclose(norms[1], largest * 2e-30, rtol=1e-6)
    assert dtype == np.float64 or norms[0] == pytest.approx(6e38, rel=1e-6)
