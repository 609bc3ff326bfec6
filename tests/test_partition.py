import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualto import Tensor
from gpualto.partition import STAGING_REUSE, choose_strategy, fiber_reuse, partition, segment_bounds
from tests.oracle import random_tensor, small_tensors
from tests.test_encoding import PAPER_COORDS, PAPER_SHAPE


def test_the_example_of_the_paper():
    halves = partition(Tensor.from_coo(PAPER_COORDS, np.ones(6), PAPER_SHAPE), 2)
    assert halves.bounds.tolist() == [0, 3, 6]
    assert halves.low.tolist() == [[0, 0, 0], [1, 2, 0]]
    assert halves.high.tolist() == [[3, 3, 1], [3, 6, 1]]
    assert [halves.staging_rows(mode) for mode in range(3)] == [7, 9, 4]


@given(st.integers(0, 1000), st.integers(1, 50))
def test_segments_are_equal_to_within_one_and_none_is_empty(nnz, nsegments):
    sizes = np.diff(segment_bounds(nnz, nsegments))
    assert sizes.sum() == nnz
    assert len(sizes) == min(nsegments, nnz)
    if nnz:
        assert sizes.min() >= max(sizes.max() - 1, 1)


@given(small_tensors(), st.integers(1, 8))
def test_intervals_hold_the_coordinates_of_their_segments_and_no_more(X, nsegments):
    parts = partition(X, nsegments)
    assert parts.low.shape == parts.high.shape == (parts.nsegments, X.ndim)
    for segment in range(parts.nsegments):
        coords = X.coords[:, parts.bounds[segment] : parts.bounds[segment + 1]]
        np.testing.assert_array_equal(parts.low[segment], coords.min(axis=1))
        np.testing.assert_array_equal(parts.high[segment], coords.max(axis=1))


def test_no_segments_is_refused():
    with pytest.raises(ValueError, match="at least one segment"):
        partition(random_tensor(0, (2, 2), 3), 0)


def test_reuse_is_nonzeros_per_row():
    X = Tensor.from_coo([[0, 1, 1], [0, 0, 9]], np.ones(3), (2, 10))
    assert fiber_reuse(X) == (1.5, 0.3)
    assert fiber_reuse(Tensor.from_coo([[], []], [], (2, 0))) == (0.0, 0.0)


def test_staging_begins_above_the_threshold():
    assert choose_strategy(STAGING_REUSE) == "atomic"
    assert choose_strategy(np.nextafter(STAGING_REUSE, 5)) == "staged"
