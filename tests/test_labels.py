import pytest

from gpualto import Tensor
from gpualto.labels import ModeLabels, as_labels, mode_number


def test_labels_come_as_sequences_or_a_mapping():
    by_sequence = as_labels([["a", "b"], None], (2, 3))
    assert by_sequence == (ModeLabels(None, ("a", "b")), ModeLabels())
    by_mapping = as_labels({"carrier": ["a", "b"], "month": None}, (2, 3))
    assert by_mapping == (ModeLabels("carrier", ("a", "b")), ModeLabels("month"))


def test_labels_are_checked_against_the_shape():
    with pytest.raises(ValueError, match="labels: 1 modes were given for a tensor of 2"):
        as_labels([None], (2, 3))
    with pytest.raises(ValueError, match="labels: carrier has 2 labels for a length of 3"):
        as_labels({"carrier": ["a", "b"]}, (3,))


def test_where_there_are_no_labels_the_index_stands_in():
    assert ModeLabels().text(7) == "7"
    assert ModeLabels().title(2) == "mode 2"
    assert ModeLabels("month").title(2) == "month"


def test_taking_some_indices_keeps_their_labels():
    assert ModeLabels("m", ("a", "b", "c")).take(range(2, -1, -2)) == ModeLabels("m", ("c", "a"))
    assert ModeLabels("m").take([0]) == ModeLabels("m")


def test_labels_are_text_whatever_they_were():
    labels = ModeLabels("m", [1, 2.5])
    assert labels == ModeLabels("m", ("1", "2.5"))
    with pytest.raises(TypeError, match="^labels: expected an item for each mode, got 5"):
        Tensor.from_coo([[0]], [1.0], labels=5)


def test_indices_are_found_by_their_labels():
    labels = ModeLabels("who", ("ann", "bob", "bob"))
    assert labels.find(["ann"], 0) == [0]
    with pytest.raises(ValueError, match="^coords: 'eve' is no label of who"):
        labels.find(["eve"], 0)
    with pytest.raises(ValueError, match="^coords: 'bob' is there more than once in who"):
        labels.find(["bob"], 0)
    with pytest.raises(ValueError, match="^coords: mode 3 has no labels; pass indices"):
        ModeLabels().find(["a"], 3)


def test_modes_are_found_by_their_names():
    labels = [ModeLabels("a"), ModeLabels("b"), ModeLabels("a")]
    assert mode_number("b", labels) == 1
    with pytest.raises(ValueError, match="^mode: no mode is called 'c'; they are a, b, a"):
        mode_number("c", labels)
    with pytest.raises(ValueError, match="^modes: more than one mode is called 'a'"):
        mode_number("a", labels, "modes")
    with pytest.raises(TypeError, match="^mode: expected an integer, got None"):
        mode_number(None, labels)
