"""Formats and operations on device arrays equal those on the host."""

import numpy as np
import pytest

import gpualto
from gpualto import formats
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


def test_kernels_read_alto_only_and_say_so(cupy):
    X = random_tensor(0, SHAPE, 25).to_device("cuda").to_format(formats.CSF(3))
    factors = [cupy.ones((length, 2)) for length in SHAPE]
    with pytest.raises(
        TypeError, match=r"kernels read ALTO only.* pass X.to_format\(gpualto.formats.ALTO\(3\)\)"
    ):
        X.mttkrp(factors, 0)
    np.testing.assert_allclose(X.to_format(formats.ALTO(3)).mttkrp(factors, 0).get().sum(), 2 * X.sum())


def test_matrix_products(cupy):
    X = random_tensor(0, (6, 7), 15)
    there = X.to_device("cuda")
    A, B = np.random.default_rng(0).random((6, 3)), np.random.default_rng(1).random((7, 3))
    np.testing.assert_allclose((there @ cupy.asarray(B)).get(), X @ B)
    product = gpualto.sddmm(there, cupy.asarray(A), cupy.asarray(B.T))
    np.testing.assert_allclose(product.todense().get(), X.todense() * (A @ B.T))
    with pytest.raises(TypeError, match="other: is a NumPy array and the tensor is on cuda:0"):
        there @ B
