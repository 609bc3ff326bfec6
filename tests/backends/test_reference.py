import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualto import Tensor
from gpualto.backends.reference import add_rows, mttkrp
from tests.oracle import random_factors, random_tensor


@given(st.lists(st.integers(0, 4), max_size=20), st.integers(1, 3))
def test_add_rows_is_an_unbuffered_add(targets, rank):
    rows = np.random.default_rng(0).integers(-9, 9, (len(targets), rank)).astype(float)
    targets = np.array(targets, np.int64)
    expected = np.ones((5, rank))
    np.add.at(expected, targets, rows)
    result = np.ones((5, rank))
    add_rows(result, targets, rows)
    np.testing.assert_array_equal(result, expected)


def test_the_loop_knows_nothing_of_the_format():
    """Any object that yields its entries will do."""
    X = random_tensor(0, (4, 5), 12)

    class Coordinates:
        shape, ndim = X.shape, X.ndim

        @staticmethod
        def parts(size):
            for first in range(0, X.nnz, 5):
                yield X.coords[:, ::-1][:, first : first + 5], X.values[::-1][first : first + 5]

    factors = [None, random_factors(1, X.shape, 3)[1]]
    out, expected = np.empty((4, 3)), np.empty((4, 3))
    mttkrp(Coordinates, factors, 0, out)
    mttkrp(X, factors, 0, expected)
    np.testing.assert_allclose(out, expected, atol=1e-12)


def test_float32_is_accumulated_in_float64():
    X = Tensor.from_coo([[0] * 4, range(4)], np.array([2**24, 1, 1, -(2**24)], np.float32))
    out = np.empty((1, 1), np.float32)
    mttkrp(X, [None, np.ones((4, 1), np.float32)], 0, out)
    assert out.tolist() == [[2.0]]
