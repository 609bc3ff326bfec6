import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualto import Tensor
from gpualto.labels import ModeLabels
from gpualto.testing import assert_tensors_equal


@given(st.permutations("abcde"), st.permutations("abcde"), st.integers(0, 5))
def test_entries_keep_their_labels(own, wanted, extra):
    dense = np.arange(1.0, 11).reshape(5, 2)
    X = Tensor.from_coo([*np.indices(dense.shape).reshape(2, -1)], dense.ravel(), labels=[own, None])
    wanted = wanted + list("vwxyz")[:extra]
    aligned = X.align([ModeLabels("m", tuple(wanted)), ModeLabels()])
    assert aligned.shape == (5 + extra, 2)
    for label, row in zip(own, dense, strict=True):
        np.testing.assert_array_equal(aligned.todense()[wanted.index(label)], row)
    assert aligned.labels[0] == ModeLabels("m", tuple(wanted))


def test_entries_of_other_labels_are_refused_or_dropped():
    X = Tensor.from_coo([[0, 1, 2], [0, 0, 1]], [1.0, 2.0, 3.0], labels={"a": "xyz", "b": None})
    wanted = [ModeLabels("a", ("z", "x")), ModeLabels()]
    with pytest.raises(
        ValueError, match="X: a has labels that are not known: 'y'; their entries are left out"
    ):
        X.align(wanted)
    assert X.align(wanted, unknown="drop").todense().tolist() == [[0, 3], [1, 0]]
    with pytest.raises(ValueError, match='unknown: expected "error" or "drop"'):
        X.align(wanted, unknown="keep")
    with pytest.raises(ValueError, match="labels: 1 modes were given for a tensor of 2"):
        X.align(wanted[:1])


def test_labels_that_are_there_twice_are_refused():
    X = Tensor.from_coo([[0, 1, 2]], [1.0, 10.0, 100.0], labels=[["a", "a", "b"]])
    with pytest.raises(ValueError, match="labels: mode 0: 'a' is the label of more than one index"):
        X.align([("b", "a")])
    Y = Tensor.from_coo([[0, 1]], [1.0, 10.0], labels=[["a", "b"]])
    with pytest.raises(ValueError, match="labels: mode 0: 'a' is the label of more than one index"):
        Y.align([("a", "a", "b")])


def test_labels_that_no_entry_has_may_be_unknown():
    X = Tensor.from_coo([[0]], [1.0], (2,), labels=[["x", "nobody"]])
    assert X.align([ModeLabels("a", ("w", "x"))]).todense().tolist() == [0, 1]


def test_modes_without_labels_stay():
    X = Tensor.from_coo([[0, 1]], [1.0, 2.0], labels=[["x", "y"]])
    assert_tensors_equal(X.align([ModeLabels()]), X)
    bare = Tensor.from_coo([[0, 1], [0, 1]], [1.0, 2.0], labels=[None, ["x", "y"]])
    aligned = bare.align([ModeLabels("a", ("u", "v", "w")), ModeLabels("b", ("y", "x"))])
    assert aligned.shape == (2, 2)
    assert aligned.labels[0] == ModeLabels()
    assert aligned.todense().tolist() == [[0, 1], [2, 0]]


def test_what_is_aligned_already_is_not_sorted_again():
    X = Tensor.from_coo([[0, 1]], [1.0, 2.0], labels=[["x", "y"]])
    assert X.align(X.labels) is X
