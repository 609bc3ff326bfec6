"""Tensors of other packages, in and out."""

import numpy as np
import pytest
import pyttb
import scipy.sparse.linalg
import sparse

import gpualto
from gpualto import formats
from tests.oracle import random_tensor

X = random_tensor(0, (4, 5, 3), 25)


@pytest.mark.parametrize("format", [formats.ALTO(3), formats.CSF(3), formats.Dense(3)], ids=str)
class TestRoundTrips:
    def test_pyttb(self, format):
        there = X.to_format(format).to_pyttb()
        assert isinstance(there, pyttb.sptensor)
        np.testing.assert_array_equal(there.full().data, X.todense())
        assert gpualto.from_any(there) == X

    def test_pydata_sparse(self, format):
        there = X.to_format(format).to_sparse()
        assert isinstance(there, sparse.COO)
        np.testing.assert_array_equal(there.todense(), X.todense())
        assert gpualto.from_any(there) == X
        assert gpualto.from_any(sparse.GCXS.from_coo(there)) == X


@pytest.mark.parametrize(("axis", "format"), [(0, formats.CSR()), (1, formats.CSC())], ids=str)
def test_matrices_of_pydata_sparse_share_their_arrays(axis, format):
    dense = random_tensor(0, (4, 5), 9).todense()
    theirs = sparse.GCXS.from_numpy(dense, compressed_axes=[axis])
    ours = gpualto.from_any(theirs)
    assert ours.format == format
    assert np.shares_memory(ours.values, theirs.data)
    back = ours.to_sparse()
    assert list(back.compressed_axes) == [axis]
    assert np.shares_memory(back.data, theirs.data)
    np.testing.assert_array_equal(back.todense(), dense)


def test_empty_tensors():
    empty = gpualto.Tensor.from_coo(np.zeros((2, 0), int), [], (3, 4))
    assert gpualto.from_any(empty.to_pyttb()) == empty
    assert gpualto.from_any(empty.to_sparse()) == empty
    assert gpualto.from_any(pyttb.sptensor(shape=(3, 4))) == empty


def test_tensors_and_dense_arrays():
    assert gpualto.from_any(X) is X
    fibers = X.to_format(formats.CSF(3))
    assert gpualto.from_any(fibers) is fibers
    assert gpualto.from_any(X.todense()) == X
    assert gpualto.from_any([[0, 2], [1, 0]]).nnz == 2
    assert gpualto.from_any(pyttb.tensor(X.todense())) == X


def test_a_mask_is_not_lost():
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    calls = [
        lambda: gpualto.from_any(masked),
        lambda: gpualto.Tensor.from_dense(masked),
        lambda: gpualto.Tensor.from_coo([[0, 1]], masked),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="a masked array; fill it"):
            call()


def test_classes_derived_from_those_of_other_packages():
    class Mine(scipy.sparse.csr_array):
        pass

    dense = np.eye(3)
    assert gpualto.from_any(Mine(dense)).format == formats.CSR()
    assert gpualto.from_any(sparse.DOK.from_numpy(dense)) == gpualto.Tensor.from_dense(dense)


class Exchanged:
    """What offers DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_is_enough():
    coords, values = Exchanged(np.array([0, 2])), Exchanged(np.array([1.0, 2.0]))
    assert gpualto.Tensor.from_coo([coords], values).todense().tolist() == [1, 0, 2]
    assert gpualto.from_any(Exchanged(np.eye(2))).nnz == 2


@pytest.mark.parametrize("count", [3, 5000])
def test_numbers_in_the_byte_order_of_other_machines(count):
    coords = np.arange(count).astype(">i8")
    X = gpualto.Tensor.from_coo([coords], np.arange(1.0, count + 1).astype(">f8"))
    assert X.dtype.isnative
    np.testing.assert_array_equal(X.todense(), np.arange(1.0, count + 1))


def test_what_is_not_stored_has_to_be_zero():
    array = sparse.COO.from_numpy(np.ones((2, 2)), fill_value=1.0)
    with pytest.raises(ValueError, match="what is not stored counts as 1.0"):
        gpualto.from_any(array)


@pytest.mark.parametrize(
    "item",
    [
        object(),
        "text",
        {1: 2},
        scipy.sparse.linalg.aslinearoperator(np.eye(2)),
        pyttb.ktensor([np.ones((2, 1)), np.ones((3, 1))]),
    ],
    ids=lambda item: type(item).__name__,
)
def test_what_is_no_tensor(item):
    with pytest.raises(TypeError, match="there is no tensor to be made of"):
        gpualto.from_any(item)
