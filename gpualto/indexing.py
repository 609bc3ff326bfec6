"""What stands in square brackets: integers, slices and ellipses, checked against a shape."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

from gpualto._arrays import Array


def expand(key: Any, ndim: int) -> list[Any]:
    """Return one key per mode: an ellipsis and missing modes become full slices."""
    keys = list(key) if isinstance(key, tuple) else [key]
    ellipses = [position for position, k in enumerate(keys) if k is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can have only one ellipsis")
    given = len(keys) - len(ellipses)
    if given > ndim:
        raise IndexError(f"{given} indices were given for a tensor of {ndim} modes")
    where = ellipses[0] if ellipses else len(keys)
    return keys[:where] + [slice(None)] * (ndim - given) + keys[where + 1 :]


def as_key(key: slice | SupportsIndex, mode: int, length: int) -> int | range:
    """Return an index counted from the front, or a slice as a range."""
    if isinstance(key, slice):
        return range(*key.indices(length))
    try:
        index = operator.index(key)
    except TypeError:
        raise TypeError(f"mode {mode}: expected an integer or a slice, got {key!r}") from None
    if isinstance(key, bool):
        raise TypeError(f"mode {mode}: expected an integer or a slice, got {key!r}")
    if not -length <= index < length:
        raise IndexError(f"mode {mode}: index {index} is out of bounds for length {length}")
    return index % length


def contains(indices: range, coordinate: Array) -> Array:
    """Mark the coordinates that a range selects."""
    offset = coordinate - indices.start
    steps = offset // indices.step
    return (offset % indices.step == 0) & (steps >= 0) & (steps < size_of(indices))


def size_of(indices: range) -> int:
    """Return the length of a range, which ``len`` refuses from 2**63 on.

    Examples
    --------
    >>> size_of(range(2**63)) - 2**63, size_of(range(9, 2, -3)), size_of(range(2, 1))
    (0, 3, 0)
    """
    step = indices.step
    return max((indices.stop - indices.start + step - (1 if step > 0 else -1)) // step, 0)
