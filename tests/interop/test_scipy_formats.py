"""Matrices keep their format and share their values."""

import numpy as np
import pytest
import scipy.sparse

import gpualto
from gpualto import formats
from gpualto.interop.scipy import from_scipy, to_scipy
from tests.oracle import random_tensor

KINDS = {
    "csr": formats.CSR(),
    "csc": formats.CSC(),
    "bsr": formats.BSR(2, 3),
    "dia": formats.DIA(),
}


def matrix(kind):
    array = scipy.sparse.coo_array(random_tensor(0, (6, 9), 20).todense())
    result = array.tobsr((2, 3)) if kind == "bsr" else array.asformat(kind)
    if kind == "bsr":
        result.sort_indices()
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_from_scipy(kind):
    array = matrix(kind)
    X = gpualto.from_any(array)
    assert X.format == KINDS[kind]
    np.testing.assert_array_equal(X.todense(), array.toarray())


@pytest.mark.parametrize("kind", KINDS)
def test_to_scipy_shares_the_values(kind):
    X = random_tensor(0, (6, 9), 20).to_format(KINDS[kind])
    array = X.to_scipy()
    assert array.format == kind
    assert np.shares_memory(array.data, X.values)
    np.testing.assert_array_equal(array.toarray(), X.todense())


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_there_and_back_shares_everything(kind):
    array = matrix(kind)
    X = from_scipy(array)
    back = to_scipy(X)
    for mine, other in [(back.data, array.data), (back.indices, array.indices), (back.indptr, array.indptr)]:
        assert np.shares_memory(mine, other)
    assert gpualto.from_any(matrix(kind)).to_format(formats.ALTO(2)) == random_tensor(0, (6, 9), 20)


def test_unsorted_and_repeated_entries_are_put_in_order_in_a_copy():
    array = scipy.sparse.csr_array(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3, 3]), shape=(2, 4))
    X = from_scipy(array)
    assert X.crd(1).tolist() == [0, 2]
    assert X.values.tolist() == [2.0, 4.0]
    assert array.indices.tolist() == [2, 0, 2]


def test_diagonals_in_any_order_of_any_width_with_anything_outside():
    data = np.array([[9.0, 1.0, 2.0], [3.0, 4.0, 9.0]])
    array = scipy.sparse.dia_array((data, [1, -1]), shape=(3, 5))
    X = from_scipy(array)
    assert X.crd(0).tolist() == [-1, 1]
    np.testing.assert_array_equal(X.todense(), array.toarray())
    np.testing.assert_allclose(X.norm(), np.linalg.norm(array.toarray()))


def test_blocks_that_do_not_divide_become_coordinates():
    X = random_tensor(0, (5, 7), 20).to_format(formats.BSR(2, 3))
    array = X.to_scipy()
    assert array.format == "coo"
    np.testing.assert_array_equal(array.toarray(), X.todense())


@pytest.mark.parametrize("format", [formats.DCSR(), formats.COO(2), formats.ALTO(2), formats.CSF(3)], ids=str)
def test_formats_that_scipy_does_not_have_become_coordinates(format):
    X = random_tensor(0, (5, 7, 3)[: format.ndim], 20).to_format(format)
    array = X.to_scipy()
    assert array.format == "coo"
    np.testing.assert_array_equal(array.toarray() if format.ndim == 2 else array.todense(), X.todense())


@pytest.mark.parametrize("kind", ["coo", "dok", "lil"])
def test_others_become_alto(kind):
    assert isinstance(gpualto.from_any(matrix(kind)), gpualto.Tensor)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("index", [-1, 260, 400_000_000])
def test_an_index_that_scipy_let_pass_is_refused(kind, index):
    array = matrix(kind)
    array.indices[1] = index
    with pytest.raises(
        ValueError, match=f"array: mode {int(kind != 'csc')} has the index {index} at position 1"
    ):
        from_scipy(array)


def test_row_pointers_that_step_back_are_refused():
    array = matrix("csr")
    array.indptr[1] = array.indptr[3] + 1
    with pytest.raises(ValueError, match="indptr does not lead from 0"):
        from_scipy(array)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(6, 0), (0, 9), (0, 0)])
def test_matrices_without_rows_or_columns(kind, shape):
    X = gpualto.Tensor.from_dense(np.zeros(shape)).to_format(KINDS[kind])
    assert X.to_scipy().shape == shape
    np.testing.assert_array_equal(X @ np.ones(shape[1]), np.zeros(shape[0]))


def test_a_flag_of_scipy_that_is_out_of_date():
    A = scipy.sparse.csr_array(np.array([[1.0, 2.0]]))
    assert A.has_canonical_format
    A.indices[:] = [1, 1]
    assert gpualto.from_any(A).todense().tolist() == [[0, 3]]


def test_sparse_vectors():
    A = scipy.sparse.csr_array(np.array([1.0, 0.0, 2.0]))
    assert gpualto.from_any(A).todense().tolist() == [1, 0, 2]


def test_a_number_has_no_other_package_to_go_to():
    X = gpualto.format.build("() -> ()", [], np.array([3.0]), ())
    for call in (X.to_scipy, X.to_pyttb):
        with pytest.raises(ValueError, match="X: has no modes"):
            call()
    with pytest.raises(ValueError, match="X: has no modes"):
        gpualto.model_values(X, [])
    assert X.innerprod(X) == 9


def test_a_sparse_array_is_not_dense():
    with pytest.raises(TypeError, match="got csr_array; gpualto.from_any takes sparse arrays"):
        gpualto.Tensor.from_dense(scipy.sparse.eye_array(3, format="csr"))
