"""PyTorch is large, so that it is no part of the extra `test`: CI installs it for this file."""

import numpy as np
import pytest

from gpualto import StoredTensor, Tensor, formats, from_any
from tests.oracle import random_tensor

torch = pytest.importorskip("torch", reason='PyTorch is not installed: pip install "gpualto[torch]"')

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")

X = random_tensor(0, (6, 8), 20)
KINDS = {"csr": formats.CSR(), "csc": formats.CSC(), "bsr": formats.BSR(2, 4), "bsc": formats.BSC(2, 4)}


def compressed(kind):
    dense = torch.from_numpy(X.todense())
    block = {"blocksize": (2, 4)} if kind.startswith("b") else {}
    return getattr(dense, f"to_sparse_{kind}")(**block)


@pytest.mark.parametrize("kind", KINDS)
def test_compressed_layouts_stay_and_share_their_values(kind):
    theirs = compressed(kind)
    ours = from_any(theirs)
    assert ours.format == KINDS[kind]
    np.testing.assert_array_equal(ours.todense(), X.todense())
    assert np.shares_memory(ours.values, theirs.values().numpy())
    assert np.shares_memory(
        ours.crd(1), (theirs.row_indices if kind.endswith("c") else theirs.col_indices)().numpy()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_and_back(kind):
    theirs = X.to_format(KINDS[kind]).to_torch()
    assert theirs.layout == compressed(kind).layout
    np.testing.assert_array_equal(theirs.to_dense().numpy(), X.todense())
    theirs.values().mul_(2)  # a copy: tensors of this package never change
    np.testing.assert_array_equal(X.to_format(KINDS[kind]).todense(), X.todense())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coo_of_any_number_of_modes(dtype):
    ours = random_tensor(1, (3, 4, 5, 6), 40, dtype)
    theirs = ours.to_torch()
    np.testing.assert_array_equal(theirs.to_dense().numpy(), ours.todense())
    assert from_any(theirs) == ours
    assert from_any(theirs.coalesce().requires_grad_()) == ours


def test_duplicates_are_summed():
    theirs = torch.sparse_coo_tensor([[1, 0, 1], [3, 2, 3]], [0.25, 1.0, 0.5], (2, 4))
    assert from_any(theirs)[1, 3] == 0.75


def test_dense_tensors_and_operands():
    assert from_any(torch.from_numpy(X.todense())) == X
    factors = [torch.ones(6, 3, dtype=torch.float64), torch.ones(8, 3, dtype=torch.float64)]
    np.testing.assert_allclose(X.mttkrp(factors, 0)[:, 0], X.todense().sum(axis=1))


def test_blocks_that_do_not_divide_the_shape_become_coo():
    ours = random_tensor(1, (5, 7), 20).to_format(formats.BSR(2, 3))
    theirs = ours.to_torch()
    assert theirs.layout == torch.sparse_coo
    np.testing.assert_array_equal(theirs.to_dense().numpy(), ours.todense())


def test_what_cannot_be_taken_is_refused():
    batch = torch.ones(2, 3, 4, dtype=torch.float64).to_sparse_csr()
    with pytest.raises(ValueError, match=r"^tensor: a batch of csr matrices of shape \(2, 3, 4\)"):
        from_any(batch)
    hybrid = torch.ones(2, 3, 4).to_sparse(2)
    with pytest.raises(ValueError, match="^tensor: has 1 dense dimensions"):
        from_any(hybrid)
    unsorted = torch.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 3), check_invariants=False)
    with pytest.raises(ValueError, match="indices repeat or are out of order"):
        from_any(unsorted)
    wild = torch.sparse_csr_tensor([0, 1], [7], [1.0], (1, 3), check_invariants=False)
    with pytest.raises(ValueError, match="mode 1 has the index 7 at position 0"):
        from_any(wild)


def test_types():
    assert isinstance(from_any(compressed("csr")), StoredTensor)
    assert isinstance(from_any(torch.eye(3)), Tensor)
