"""The compiled loops. Each works on a run of stored positions and lets go of the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import overload, register_jitable

from gpualto.backends.cpu.bits import coordinates, pack
from gpualto.backends.cpu.instructions import (
    add_product,
    add_product_atomically,
    add_ratio,
    add_ratio_atomically,
    sum_of_product,
)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that lets go of the interpreter's lock, and keep it on disk where there is a place."""
    try:
        return njit(nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # neither the package's folder nor the user's can be written
        return njit(nogil=True)(function)  # type: ignore[no-any-return]


class Plain(NamedTuple):
    """A segment alone writes to its rows; the address is that of row 0."""

    rows: np.uint64


class Split(NamedTuple):
    """`nrows` rows from `first` on are private, the others written where they belong."""

    rows: np.uint64
    private: np.uint64
    first: np.uint64
    nrows: np.uint64


class Atomic(NamedTuple):
    """`nrows` rows from `first` on are shared with other segments, and updated atomically."""

    rows: np.uint64
    first: np.uint64
    nrows: np.uint64


Place = Plain | Split | Atomic
"""Where a segment writes. Each kind has a loop of its own: a test costs a third of a nonzero's time."""


@cache
def mttkrp_kernel(stride: int, width: int, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return the loop ``kernel(words, layout, values, order, start, stop, bases, place)``.

    It adds, for each stored position, the value times the product of the rows at `bases` to a row of `place`.
    Rows are `stride` bytes apart, and `width` bytes of them are worked on.
    The modes of `layout` begin with that of the output. `order` is None, or the stored positions in the order
    in which they are taken.
    """
    as_number = dtype.type

    @compiled
    def kernel(words, layout, values, order, start, stop, bases, place):
        # Unsigned: for signed indices Numba looks whether they count from the back.
        for step in range(np.uint64(start), np.uint64(stop)):
            position = stored_position(order, step)
            coords = coordinates(words, layout, position)
            add_to(place, as_number(values[position]), bases, coords, stride, width)

    return kernel


@cache
def model_values_kernel(stride: int, width: int, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return the loop ``kernel(words, layout, bases, out, start, stop)``.

    It adds to `out`, for each stored position, the sum of the product of the rows at `bases`, one a mode.
    Rows are as in `mttkrp_kernel`.
    """
    one = dtype.type(1)

    @compiled
    def kernel(words, layout, bases, out, start, stop):
        for position in range(np.uint64(start), np.uint64(stop)):
            coords = coordinates(words, layout, position)
            out[position] += sum_of_product(one, bases, coords, stride, width)

    return kernel


@cache
def ratios_kernel(stride: int, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return the loop ``kernel(words, layout, values, order, start, stop, smallest, bases, place)``.

    It does what that of `mttkrp_kernel` does, each value divided by the sum of the product of the rows at
    `bases`, one a mode in the order of `layout`, or by `smallest` where that is larger. Whole rows only.
    """
    as_number = dtype.type

    @compiled
    def kernel(words, layout, values, order, start, stop, smallest, bases, place):
        for step in range(np.uint64(start), np.uint64(stop)):
            position = stored_position(order, step)
            coords = coordinates(words, layout, position)
            add_ratio_to(place, as_number(values[position]), smallest, bases, coords, stride)

    return kernel


def stored_position(order: Any, step: Any) -> Any:
    """Return which position is taken at a step: compiled code only."""
    raise NotImplementedError("for compiled code")


def add_to(place: Any, value: Any, bases: Any, coords: Any, stride: Any, width: Any) -> None:
    """Add a value times the product of rows to a row of a place: compiled code only."""
    raise NotImplementedError("for compiled code")


def add_ratio_to(place: Any, value: Any, smallest: Any, bases: Any, coords: Any, stride: Any) -> None:
    """Add a value over the model's, times the product of rows, to a row of a place: compiled code only."""
    raise NotImplementedError("for compiled code")


@overload(stored_position)
def _stored_position(order, step):
    if order is types.none:
        return lambda order, step: step
    return lambda order, step: np.uint64(order[step])


@overload(add_to, prefer_literal=True)
def _add_to(place, value, bases, coords, stride, width):
    return _UPDATES[place.instance_class]


@overload(add_ratio_to, prefer_literal=True)
def _add_ratio_to(place, value, smallest, bases, coords, stride):
    return _RATIO_UPDATES[place.instance_class]


@register_jitable
def _own_row(place, coords, stride):
    """Return the address of the row of a place that the first coordinate selects."""
    return place.rows + coords[0] * np.uint64(stride)


@register_jitable
def _private_or_own_row(place, coords, stride):
    offset = coords[0] - place.first
    if offset < place.nrows:
        return place.private + offset * np.uint64(stride)
    return _own_row(place, coords, stride)


def _add_plainly(place, value, bases, coords, stride, width):
    add_product(_own_row(place, coords, stride), value, bases, coords, stride, width)


def _add_split(place, value, bases, coords, stride, width):
    add_product(_private_or_own_row(place, coords, stride), value, bases, coords, stride, width)


def _add_atomically(place, value, bases, coords, stride, width):
    if coords[0] - place.first < place.nrows:
        add_product_atomically(_own_row(place, coords, stride), value, bases, coords, stride, width)
    else:
        add_product(_own_row(place, coords, stride), value, bases, coords, stride, width)


def _add_ratio_plainly(place, value, smallest, bases, coords, stride):
    add_ratio(_own_row(place, coords, stride), value, smallest, bases, coords, stride)


def _add_ratio_split(place, value, smallest, bases, coords, stride):
    add_ratio(_private_or_own_row(place, coords, stride), value, smallest, bases, coords, stride)


def _add_ratio_atomically(place, value, smallest, bases, coords, stride):
    if coords[0] - place.first < place.nrows:
        add_ratio_atomically(_own_row(place, coords, stride), value, smallest, bases, coords, stride)
    else:
        add_ratio(_own_row(place, coords, stride), value, smallest, bases, coords, stride)


_UPDATES = {Plain: _add_plainly, Split: _add_split, Atomic: _add_atomically}
_RATIO_UPDATES = {Plain: _add_ratio_plainly, Split: _add_ratio_split, Atomic: _add_ratio_atomically}


@compiled
def mode_intervals(words, layout, start, stop, low, high):
    """Lower `low` and raise `high`, one number a mode, to the coordinates of a run of positions."""
    for position in range(np.uint64(start), np.uint64(stop)):
        coords = coordinates(words, layout, position)
        for mode in range(len(coords)):
            low[mode] = min(low[mode], np.int64(coords[mode]))
            high[mode] = max(high[mode], np.int64(coords[mode]))


@compiled
def unpack(words, layout, coords, start, stop):
    """Fill columns of `coords`, (ndim, nnz), with the coordinates of stored positions."""
    for position in range(np.uint64(start), np.uint64(stop)):
        unpacked = coordinates(words, layout, position)
        for mode in range(len(unpacked)):
            coords[mode, position] = np.int64(unpacked[mode])


@cache
def pack_kernel(number: int) -> Callable[..., None]:
    """Return the loop ``kernel(layout, coords, word, start, stop)`` that fills a word of the linear index."""

    @compiled
    def kernel(layout, coords, word, start, stop):
        for position in range(np.uint64(start), np.uint64(stop)):
            word[position] = pack(layout, coords, position, number)

    return kernel


@compiled
def gather(source, order, out, start, stop):
    """Fill `out` with the items of `source` at the positions of `order`."""
    for position in range(np.uint64(start), np.uint64(stop)):
        out[position] = source[np.uint64(order[position])]


@compiled
def count_digits(keys, shift, start, stop, counts):
    """Count how often each digit, the bits of a key from `shift` on, occurs in a run of keys."""
    last = keys.dtype.type(counts.size - 1)
    for position in range(np.uint64(start), np.uint64(stop)):
        counts[np.uint64((keys[position] >> shift) & last)] += 1


@compiled
def move_by_digit(keys, order, shift, start, stop, places, keys_out, order_out):
    """Move a run of keys, and where they came from, to the places kept for their digits."""
    last = keys.dtype.type(places.size - 1)
    for step in range(np.uint64(start), np.uint64(stop)):
        key = keys[step]
        digit = np.uint64((key >> shift) & last)
        place = np.uint64(places[digit])
        places[digit] += 1
        keys_out[place] = key
        order_out[place] = stored_position(order, step)
