"""Linear indices in order: sorting them, finding equal ones, looking one up."""

from __future__ import annotations

from gpualto._arrays import Array, array_module
from gpualto.encoding import LinearIndex


def argsort(index: LinearIndex) -> Array:
    """Return the stable permutation that sorts linear indices, by one radix pass per word."""
    order = array_module(index[0]).argsort(index[0], kind="stable")
    for word in index[1:]:
        order = order[array_module(word).argsort(word[order], kind="stable")]
    return order


def group(index: LinearIndex) -> tuple[Array, Array]:
    """Return the stable permutation that sorts linear indices, and which of them then begins a run of equals.

    Examples
    --------
    >>> import numpy as np
    >>> group((np.array([7, 3, 7]),))
    (array([1, 0, 2]), array([ True,  True, False]))
    """
    order = argsort(index)
    return order, first_of_equals(tuple(word[order] for word in index))


def first_of_equals(index: LinearIndex) -> Array:
    """Mark the sorted linear indices that differ from the one before."""
    xp = array_module(index[0])
    first = xp.zeros(index[0].size, bool)
    first[:1] = True
    for word in index:
        first[1:] |= word[1:] != word[:-1]
    return first


def is_increasing(index: LinearIndex) -> bool:
    """Tell whether the linear indices are sorted and free of duplicates."""
    xp = array_module(index[0])
    undecided = xp.ones(max(index[0].size - 1, 0), bool)
    for word in reversed(index):
        if bool((undecided & (word[1:] < word[:-1])).any()):
            return False
        undecided &= word[1:] == word[:-1]
    return not bool(undecided.any())


def find(index: LinearIndex, key: LinearIndex) -> int | None:
    """Return the position of one linear index among sorted ones, None where it is absent.

    Narrows the range word by word, the high word first: O(log nnz).
    """
    low, high = 0, index[0].size
    for word, value in zip(reversed(index), reversed(key), strict=True):
        part, wanted = word[low:high], array_module(word).asarray(value)
        left, right = part.searchsorted(wanted, "left"), part.searchsorted(wanted, "right")
        low, high = low + int(left[0]), low + int(right[0])
    return low if low < high else None
