"""Formats and operations on device arrays equal those on the host."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import gpualto
from gpualto import formats
from gpualto.interop.scipy import from_scipy
from tests.backends.cuda import standin
from tests.oracle import random_factors, random_tensor

SHAPE = (4, 5, 3)
FORMATS = [
    formats.COO(3),
    formats.CSF(3, (2, 0, 1)),
    formats.HiCOO(3, 2),
    formats.Morton(3),
    gpualto.Format("(i, j, k) -> (i : dense, k-j : compressed, j : range)"),
    gpualto.Format("(i, j, k) -> (k : dense, i/3 : compressed, i%3 : dense, j : delta(1))"),
    gpualto.Format("(i, j, k) -> (i : dense, j : structured(5), k : compressed)"),
]


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_conversion_there_and_back(cupy, format):
    X = random_tensor(0, SHAPE, 25)
    desired, actual = X.to_format(format), X.to_device("cuda").to_format(format)
    assert actual.device == "cuda:0"
    moved = actual.to_device("cpu")
    for level in range(len(format.levels)):
        np.testing.assert_array_equal(moved.pos(level), desired.pos(level))
        np.testing.assert_array_equal(moved.crd(level), desired.crd(level))
    np.testing.assert_array_equal(moved.values, desired.values)
    assert actual.to_format(formats.ALTO(3)).to_device("cpu") == X
    assert actual.describe() == desired.describe()


@pytest.mark.parametrize("format", [formats.ALTO(3), *FORMATS], ids=str)
def test_operations(cupy, format):
    X = random_tensor(0, SHAPE, 25).to_format(format)
    there = X.to_device("cuda")
    v = random_factors(0, SHAPE, 1)[1][:, 0]
    matrix = random_factors(1, SHAPE, 6)[1].T
    np.testing.assert_allclose(there.ttv(cupy.asarray(v), 1).todense().get(), X.ttv(v, 1).todense())
    np.testing.assert_allclose(there.ttm(cupy.asarray(matrix), 1).todense().get(), X.ttm(matrix, 1).todense())
    np.testing.assert_allclose(there.sum((0, 2)).todense().get(), X.sum((0, 2)).todense())
    lowest = gpualto.collapse(there, 1, "min")
    np.testing.assert_allclose(lowest.todense().get(), gpualto.collapse(X, 1, "min").todense())
    np.testing.assert_allclose((2 * there).todense().get(), 2 * X.todense())
    assert abs(there.innerprod(there) - X.norm() ** 2) < 1e-9
    assert abs(there.norm() - X.norm()) < 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_mttkrp_by_code_written_for_the_format(cupy, format, dtype):
    X = random_tensor(0, SHAPE, 25, dtype)
    there = X.to_device("cuda").to_format(format)
    factors = random_factors(0, SHAPE, 8, dtype)
    inputs = [cupy.asarray(factor) for factor in factors]
    for mode in range(3) if dtype == np.float64 else [1]:
        out = there.mttkrp(inputs, mode).get()
        np.testing.assert_allclose(out, X.mttkrp(factors, mode), rtol=1e-3, atol=1e-4)
    assert "code written for (i, j, k)" in gpualto.explain("mttkrp", there)
    assert f"// {format}\nstruct Stored" in gpualto.source("mttkrp", there)


def test_what_fills_a_format_up_takes_no_part(cupy):
    X = random_tensor(0, (4, 5), 6)
    factors = random_factors(0, (4, 5), 2)
    factors[1][X.todense().any(axis=0).argmin()] = np.inf
    there = X.to_device("cuda").to_format("(i, j) -> (j-i : compressed, i : range)")
    out = there.mttkrp([None, cupy.asarray(factors[1])], 0).get()
    np.testing.assert_allclose(out, X.mttkrp(factors, 0))


def test_a_plan_queues_kernels_and_nothing_else(standin_cupy):
    X = random_tensor(0, SHAPE, 25).to_device("cuda").to_format(formats.CSF(3))
    plan = gpualto.plan_mttkrp(X, 4)
    factors = [standin_cupy.ones((length, 4)) for length in SHAPE]
    out = standin_cupy.zeros((4, 4))
    standin.counts.clear()
    plan(factors, 0, out)
    assert not standin.counts


def test_what_is_not_written_says_so(cupy):
    X = gpualto.Tensor.from_coo([[5], [6], [7]], [2.0], (2**30, 2**29, 2**28)).to_device("cuda")
    with pytest.raises(
        ValueError, match=r"no code is written for .* pass X.to_format\(gpualto.formats.ALTO\(3\)\)"
    ):
        gpualto.plan_mttkrp(X.to_format(formats.BLCO(3, 32)), 2)
    with pytest.raises(ValueError, match="deterministic: for ALTO only"):
        gpualto.plan_mttkrp(X.to_format(formats.CSF(3)), 2, deterministic=True)


def test_matrix_products(cupy):
    X = random_tensor(0, (6, 7), 15)
    there = X.to_device("cuda")
    A, B = np.random.default_rng(0).random((6, 3)), np.random.default_rng(1).random((7, 3))
    np.testing.assert_allclose((there @ cupy.asarray(B)).get(), X @ B)
    product = gpualto.sddmm(there, cupy.asarray(A), cupy.asarray(B.T))
    np.testing.assert_allclose(product.todense().get(), X.todense() * (A @ B.T))
    with pytest.raises(TypeError, match="other: is a NumPy array and the tensor is on cuda:0"):
        there @ B


class TestCupyx:
    """By a module in its place on the host: what is passed to it, and taken from it."""

    def test_csr_there_and_back_shares_its_values(self, standin_cupy):
        X = random_tensor(0, (6, 7), 15).to_device("cuda").to_format(formats.CSR())
        matrix = X.to_scipy()
        assert matrix.data is X.values
        assert matrix.shape == (6, 7)
        back = gpualto.from_any(matrix)
        assert back.device == "cuda:0"
        assert back.to_device("cpu") == X.to_device("cpu")

    def test_diagonals_stay_on_the_device(self, standin_cupy):
        matrix = scipy.sparse.dia_array(([[1.0, 2.0, 9.0], [7.0, 3.0, 4.0]], [-1, 1]), shape=(2, 3))
        arrays = {"data": standin_cupy.asarray(matrix.data), "offsets": standin_cupy.asarray(matrix.offsets)}
        there = SimpleNamespace(format="dia", shape=matrix.shape, **arrays)
        X = from_scipy(there)
        assert (X.device, X.format) == ("cuda:0", formats.DIA())
        np.testing.assert_array_equal(X.todense().get(), matrix.toarray())

    @pytest.mark.parametrize(
        "format", [formats.CSR(), formats.CSC(), formats.DIA(), formats.BSR(2, 3), formats.COO(2)], ids=str
    )
    def test_products_and_what_comes_back(self, standin_cupy, format):
        X = random_tensor(0, (6, 9), 25)
        there = X.to_device("cuda").to_format(format)
        B = np.random.default_rng(0).random((9, 2))
        device_B = standin_cupy.asarray(B)
        np.testing.assert_allclose((there @ device_B).get(), X @ B)
        back = gpualto.from_any(there.to_scipy())
        assert back.device == "cuda:0"
        np.testing.assert_array_equal(back.todense().get(), X.todense())
        np.testing.assert_allclose(back.mttkrp([None, device_B], 0).get(), X @ B)

    def test_what_cupyx_has_not(self, standin_cupy):
        with pytest.raises(ValueError, match="^X: has 3 modes, and cupyx has matrices only"):
            random_tensor(0, (2, 3, 4), 5).to_device("cuda").to_scipy()

    def test_wild_indices_are_refused(self, standin_cupy):
        matrix = random_tensor(0, (6, 7), 15).to_device("cuda").to_format(formats.CSR()).to_scipy()
        matrix.indices[2] = 99
        with pytest.raises(ValueError, match="mode 1 has the index 99 at position 2"):
            gpualto.from_any(matrix)
