import pytest

from gpualto.labels import ModeLabels, as_labels


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
