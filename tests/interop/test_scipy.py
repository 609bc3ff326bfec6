import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from gpualto import Tensor
from gpualto.interop.scipy import unfold
from gpualto.testing import assert_tensors_equal
from tests.oracle import random_tensor, small_tensors


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
def test_two_dimensional_arrays_of_every_format(format):
    dense = random_tensor(0, (4, 5), 9).todense()
    assert_tensors_equal(
        Tensor.from_scipy(scipy.sparse.coo_array(dense).asformat(format)), Tensor.from_dense(dense)
    )
    assert_tensors_equal(Tensor.from_scipy(scipy.sparse.csr_matrix(dense)), Tensor.from_dense(dense))


@given(small_tensors())
def test_round_trip_in_any_number_of_modes(X):
    there = X.to_scipy()
    assert there.shape == X.shape
    assert_tensors_equal(Tensor.from_scipy(there), X)


def test_duplicates_follow_the_policy():
    twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert Tensor.from_scipy(twice)[0, 1] == 3.0
    with pytest.raises(ValueError, match="1 surplus entries"):
        Tensor.from_scipy(twice, duplicates="error")


@given(small_tensors(), st.data())
def test_an_unfolding_has_the_gram_matrix_of_the_dense_one(X, data):
    mode = data.draw(st.integers(0, X.ndim - 1))
    dense = np.moveaxis(X.todense(), mode, 0).reshape(X.shape[mode], -1)
    sparse = unfold(X, mode)
    assert sparse.shape[1] <= X.nnz
    np.testing.assert_allclose((sparse @ sparse.T).toarray(), dense @ dense.T, atol=1e-10)
