import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualto.ordering import argsort, find, first_of_equals, is_increasing

pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30)


def as_index(rows):
    """Return an index of two words, whose rows are (high, low)."""
    table = np.array(rows, np.int64).reshape(-1, 2)
    return table[:, 1].astype(np.uint64), table[:, 0].astype(np.uint8)


@given(pairs)
def test_argsort_sorts_by_the_high_word_first_and_is_stable(rows):
    expected = sorted(range(len(rows)), key=lambda position: rows[position])
    assert argsort(as_index(rows)).tolist() == expected


def test_order_is_unsigned():
    index = (np.array([2**64 - 1, 0, 2**63], np.uint64),)
    assert argsort(index).tolist() == [1, 2, 0]


@given(pairs)
def test_first_of_equals_marks_each_distinct_index_once(rows):
    rows = sorted(rows)
    first = first_of_equals(as_index(rows))
    assert [row for row, marked in zip(rows, first, strict=True) if marked] == sorted(set(rows))


@given(pairs)
def test_increasing_means_sorted_and_distinct(rows):
    assert is_increasing(as_index(rows)) == (rows == sorted(set(rows)))


@given(pairs, st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_find_agrees_with_a_search_from_the_front(rows, key):
    rows = sorted(set(rows))
    assert find(as_index(rows), as_index([key])) == (rows.index(key) if key in rows else None)
