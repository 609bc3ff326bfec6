"""Every operation on any format equals dense NumPy."""

import string

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import formats
from gpualto.backends import reference
from tests.format.formats import formats as random_formats
from tests.format.test_storage import SLOW, with_room
from tests.oracle import dense_mttkrp, random_factors, random_tensor

SHAPE = (4, 5, 3)
FORMATS = [
    None,
    formats.COO(3),
    formats.CSF(3, (2, 0, 1)),
    formats.HiCOO(3, 2),
    formats.Dense(3),
    formats.Morton(3),
    gpualto.Format("(i, j, k) -> (i : dense, k-j : compressed, j : range)"),
    gpualto.Format("(i, j, k) -> (k : dense, i/3 : compressed, i%3 : dense, j : delta(1))"),
]
MATRICES = [
    None,
    formats.CSR(),
    formats.CSC(),
    formats.COO(2),
    formats.BSR(2, 3),
    formats.DIA(),
    formats.DCSR(),
]


def stored(X, format):
    return X if format is None else X.to_format(format)


@pytest.fixture(params=FORMATS, ids=str)
def X(request):
    return stored(random_tensor(0, SHAPE, 25), request.param)


@pytest.fixture(params=MATRICES, ids=str)
def matrix(request):
    return stored(random_tensor(1, (6, 7), 15), request.param)


def dense(result):
    return result.todense() if hasattr(result, "todense") else result


class TestMttkrp:
    @pytest.mark.parametrize("mode", [0, 1, 2, -1])
    def test_every_mode(self, X, mode):
        factors = random_factors(0, SHAPE, 4)
        np.testing.assert_allclose(X.mttkrp(factors, mode), dense_mttkrp(X.todense(), factors, mode % 3))

    def test_what_fills_a_format_up_takes_no_part(self):
        X = random_tensor(0, (4, 5), 6).to_format("(i, j) -> (j-i : compressed, i : range)")
        factors = random_factors(0, (4, 5), 2)
        factors[1][X.todense().any(axis=0).argmin()] = np.inf
        assert np.isfinite(X.mttkrp(factors, 0)).all()

    def test_out_and_types(self):
        X = random_tensor(0, SHAPE, 25, np.float32).to_format(formats.CSF(3))
        factors = random_factors(0, SHAPE, 4, np.float32)
        out = np.empty((5, 4), np.float32)
        assert X.mttkrp(factors, 1, out) is out
        np.testing.assert_allclose(out, dense_mttkrp(X.todense(), factors, 1), rtol=1e-5)


class TestReductions:
    @pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1,), (0, 1, 2)])
    def test_sum(self, X, axis):
        np.testing.assert_allclose(dense(X.sum(axis)), X.todense().sum(axis), atol=1e-12)

    @pytest.mark.parametrize("how", ["max", "min"])
    @pytest.mark.parametrize("axis", [None, 1, (0, 2)])
    def test_of_stored_entries(self, X, how, axis):
        array = X.todense()
        worst = -np.inf if how == "max" else np.inf
        desired = getattr(np.where(array != 0, array, worst), how)(axis)
        actual = dense(gpualto.collapse(X, axis, how))
        np.testing.assert_array_equal(actual, np.where(np.isfinite(desired), desired, 0))

    def test_nan_is_not_lost(self):
        X = gpualto.Tensor.from_coo([[0, 0, 1], [0, 1, 1]], [1.0, np.nan, 2.0], (2, 2))
        for how in ("max", "min", "sum"):
            np.testing.assert_array_equal(gpualto.collapse(X, 1, how).todense(), [np.nan, 2.0])

    def test_norm(self, X):
        np.testing.assert_allclose(X.norm(), np.linalg.norm(X.todense()))

    def test_labels_stay(self):
        X = gpualto.datasets.flights().sum(axis=(1, 2))
        assert [label.name for label in X.labels] == ["carrier", "month"]

    def test_wrong_arguments(self):
        X = random_tensor(0, SHAPE, 25)
        with pytest.raises(ValueError, match="axis: a mode is named twice"):
            X.sum(axis=(0, -3))
        with pytest.raises(ValueError, match="how: expected one of"):
            gpualto.collapse(X, 0, "mean")
        with pytest.raises(ValueError, match="no entry to take the max of"):
            gpualto.collapse(gpualto.Tensor.from_coo([[]], [], (3,)), how="max")
        with pytest.raises(TypeError, match="expected a gpualto.Tensor"):
            gpualto.collapse(np.ones(3))


class TestValues:
    def test_numbers(self, X):
        array = X.todense()
        for actual, desired in [(X * 2, array * 2), (3 * X, 3 * array), (X / 4, array / 4), (-X, -array)]:
            assert actual.format == X.format
            np.testing.assert_array_equal(actual.todense(), desired)

    def test_functions_of_entries(self, X):
        array = X.todense()
        mapped = gpualto.map_values(X, np.exp)
        np.testing.assert_allclose(mapped.todense(), np.where(array != 0, np.exp(array), 0))

    def test_what_is_no_number(self, X):
        with pytest.raises(TypeError):
            X * np.ones(3)
        with pytest.raises(TypeError):
            X * "2"
        with pytest.raises(ValueError, match=r"function: returned an array of shape \(1,\) for"):
            X.map_values(lambda values: values[:1])

    def test_float32_stays(self):
        X = random_tensor(0, SHAPE, 25, np.float32) * 0.5
        assert X.dtype == np.float32


class TestProducts:
    @pytest.mark.parametrize("mode", [0, 1, -1])
    def test_ttv(self, X, mode):
        vector = random_factors(0, SHAPE, 1)[mode][:, 0]
        desired = np.tensordot(X.todense(), vector, (mode, 0))
        np.testing.assert_allclose(X.ttv(vector, mode).todense(), desired, atol=1e-12)

    def test_ttv_of_several_modes(self, X):
        u, v, w = (factor[:, 0] for factor in random_factors(0, SHAPE, 1))
        array = X.todense()
        np.testing.assert_allclose(
            X.ttv([w, u], [2, 0]).todense(), np.einsum("ijk,i,k->j", array, u, w), atol=1e-12
        )
        np.testing.assert_allclose(X.ttv([u, v, w], [0, 1, 2]), np.einsum("ijk,i,j,k->", array, u, v, w))

    @pytest.mark.parametrize("rows", [1, 2, 40])
    @pytest.mark.parametrize("mode", [0, 1, -1])
    def test_ttm(self, X, mode, rows):
        matrix = random_factors(0, SHAPE, rows)[mode].T
        desired = np.moveaxis(np.tensordot(X.todense(), matrix, (mode, 1)), -1, mode)
        np.testing.assert_allclose(X.ttm(matrix, mode).todense(), desired, atol=1e-12)

    def test_ttm_of_one_mode_and_of_nothing(self):
        X = gpualto.Tensor.from_coo([[1, 2]], [2.0, 3.0], (4,))
        np.testing.assert_allclose(X.ttm(np.arange(8.0).reshape(2, 4), 0).todense(), [8.0, 28.0])
        empty = gpualto.Tensor.from_coo(np.zeros((2, 0), int), [], (3, 4))
        assert not empty.ttm(np.ones((5, 4)), 1).todense().any()

    def test_innerprod(self, X):
        array = X.todense()
        other = random_tensor(5, SHAPE, 30)
        model = gpualto.CPModel([1.0, 2.0], random_factors(0, SHAPE, 2))
        for operand, desired in [
            (other, other.todense()),
            (other.to_format(formats.CSF(3)), other.todense()),
            (other.todense(), other.todense()),
            (model, model.to_dense()),
        ]:
            np.testing.assert_allclose(X.innerprod(operand), (array * desired).sum())

    def test_innerprod_of_numbers_whose_products_overflow_elsewhere(self):
        one, other = (gpualto.Tensor.from_coo([[n]], [1e200], (3,)) for n in (0, 1))
        assert one.innerprod(other) == 0
        single = gpualto.Tensor.from_coo([[0]], np.array([1e30], np.float32), (3,))
        np.testing.assert_allclose(single.innerprod(single.todense()), 1e60, rtol=1e-6)
        np.testing.assert_allclose(single.innerprod(single), 1e60, rtol=1e-6)

    def test_matmul(self, matrix):
        B = random_factors(0, (6, 7), 4)[1]
        np.testing.assert_allclose(matrix @ B, matrix.todense() @ B, atol=1e-12)
        np.testing.assert_allclose(matrix @ B[:, 0], matrix.todense() @ B[:, 0], atol=1e-12)

    def test_batched_matmul(self, X):
        B = np.random.default_rng(0).random((4, 3, 2))
        np.testing.assert_allclose(X @ B, X.todense() @ B, atol=1e-12)
        np.testing.assert_allclose(X @ B[0], X.todense() @ B[0], atol=1e-12)
        np.testing.assert_allclose(X @ B[0, :, 0], X.todense() @ B[0, :, 0], atol=1e-12)

    def test_sddmm(self, matrix):
        A, B = np.random.default_rng(0).random((6, 40)), np.random.default_rng(1).random((40, 7))
        np.testing.assert_allclose(gpualto.sddmm(matrix, A, B).todense(), matrix.todense() * (A @ B))

    @pytest.mark.parametrize(
        ("call", "problem"),
        [
            (lambda X: X.ttv(np.ones(4), 1), r"vectors: mode 1: has shape \(4,\), expected \(5\)"),
            (lambda X: X.ttv([np.ones(4)] * 2, [0, 0]), "modes: a mode is named twice"),
            (lambda X: X.ttv([np.ones(4)], [0, 1]), "modes: 2 modes were given for 1 vectors"),
            (lambda X: X.ttm(np.ones((5, 4)), 1), r"matrix: has shape \(5, 4\), expected \(any, 5\)"),
            (lambda X: X.innerprod(np.ones((4, 5))), r"other: has shape \(4, 5\), expected \(4, 5, 3\)"),
            (lambda X: X.innerprod(random_tensor(0, (4, 5), 3)), "other: has shape"),
            (lambda X: X @ np.ones((4, 2)), r"other: has shape \(4, 2\), expected \(3, 2\)"),
            (lambda X: gpualto.sddmm(X, np.ones((4, 1)), np.ones((1, 3))), "X: has 3 modes, a matrix has 2"),
            (lambda X: random_tensor(0, (2,) * 4, 3) @ np.ones(2), "X: has 4 modes; a matrix has 2"),
        ],
    )
    def test_shapes_that_do_not_fit(self, call, problem):
        with pytest.raises(ValueError, match=problem):
            call(random_tensor(0, SHAPE, 25))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda X, other: X.innerprod(scipy.sparse.csr_array(other)),
            "expected a dense array, got a sparse one",
        ),
        (lambda X, other: X @ scipy.sparse.csr_array(other), "expected a dense array, got a sparse one"),
        (lambda X, other: X @ X, "expected a dense array, got a sparse one, StoredTensor"),
        (lambda X, other: X.ttv(np.ones(7), "1"), "modes: expected an integer"),
    ],
)
def test_operands_that_are_none(call, problem):
    X = random_tensor(1, (6, 7), 15)
    with pytest.raises(TypeError, match=problem):
        call(X.to_format(formats.CSR()), X.todense())


@st.composite
def problems(draw):
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=ndim, max_size=ndim)))
    X = random_tensor(draw(st.integers(0, 999)), shape, draw(st.integers(0, 20)))
    return with_room(X.to_format, draw(random_formats(ndim))), draw(st.integers(0, ndim - 1))


@settings(SLOW, max_examples=60)
@given(problems())
def test_random_formats(problem):
    """By the reference: code for a format takes a second to compile; see backends/cpu/test_generated.py for it."""
    X, mode = problem
    array = X.todense()
    factors = random_factors(0, X.shape, 3)
    modes = string.ascii_lowercase[: X.ndim]
    out = np.empty((X.shape[mode], 3))
    reference.mttkrp(X, [None if n == mode else f for n, f in enumerate(factors)], mode, out)
    np.testing.assert_allclose(out, dense_mttkrp(array, factors, mode), atol=1e-12)
    np.testing.assert_allclose(dense(X.sum(mode)), array.sum(mode), atol=1e-12)
    vector = factors[mode][:, 0]
    desired = np.einsum(f"{modes},{modes[mode]}->{modes.replace(modes[mode], '')}", array, vector)
    np.testing.assert_allclose(dense(X.ttv(vector, mode)), desired, atol=1e-12)
    np.testing.assert_allclose(X.innerprod(array), (array**2).sum())
    np.testing.assert_allclose(
        X.ttm(factors[mode].T, mode).sum(),
        np.einsum(f"{modes},{modes[mode]}z->", array, factors[mode]),
        atol=1e-10,
    )
