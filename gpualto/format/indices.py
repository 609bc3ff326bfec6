"""Columns of level coordinates: int64 where that is wide enough, else the words of linear indices.

A *column* holds one level's coordinate of many entries. Coordinates below 2**63 are one int64 array. Longer
ones, which only linearizers have, are a tuple of unsigned arrays, the low word first, as in
`gpualto.encoding`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.encoding import LinearIndex

Column = Any
"""An int64 array, or a tuple of unsigned ones."""

NARROW_BITS = 64
"""Linear indices of fewer bits are one array."""

NARROW = 1 << (NARROW_BITS - 1)
"""Coordinates below this are int64."""

_BITS = 64


def words_of(column: Column) -> LinearIndex:
    """Return the column as a tuple of arrays, the low word first."""
    return column if isinstance(column, tuple) else (column,)


def length_of(column: Column) -> int:
    """Return the number of coordinates in a column."""
    return int(words_of(column)[0].size)


def take(column: Column, where: Array) -> Column:
    """Return the coordinates at some positions, or where a mask is set."""
    return tuple(word[where] for word in column) if isinstance(column, tuple) else column[where]


def nbytes_of(column: Column) -> int:
    """Return the bytes that a column takes."""
    return sum(int(word.nbytes) for word in words_of(column))


def column_of(words: LinearIndex, high: int) -> Column:
    """Return words as a column of coordinates that are at most `high`."""
    return words[0].astype(np.int64) if high < NARROW else words


def fit_words(words: LinearIndex, count: int) -> LinearIndex:
    """Return the lowest words, or words of zeros above them, as many as asked for."""
    return words[:count] + (words[0].astype(np.uint64) & 0,) * (count - len(words))


def changes(*columns: Column) -> Array:
    """Mark the entries where any column differs from the entry before; the first entry is marked."""
    arrays = [word for column in columns for word in words_of(column)]
    xp = array_module(arrays[0])
    changed = xp.zeros(arrays[0].size, bool)
    changed[:1] = True
    for array in arrays:
        changed[1:] |= array[1:] != array[:-1]
    return changed


def shift_right(words: LinearIndex, bits: int) -> LinearIndex:
    """Divide numbers of several words by a power of two.

    Examples
    --------
    >>> shift_right((np.array([7], np.uint64), np.array([3], np.uint64)), 65)
    (array([1], dtype=uint64),)
    """
    skipped, rest = divmod(bits, _BITS)
    kept = [word.astype(np.uint64) for word in words[skipped:]]
    if not kept:
        return (array_module(words[0]).zeros(words[0].size, np.uint64),)
    if rest == 0:
        return tuple(kept)
    carried = [word << (_BITS - rest) for word in kept[1:]]
    carried.append(kept[-1] & 0)
    return tuple((low >> rest) | high for low, high in zip(kept, carried, strict=True))


def lowest_bits(words: LinearIndex, bits: int) -> LinearIndex:
    """Return numbers of several words modulo a power of two."""
    full, rest = divmod(bits, _BITS)
    kept = [word.astype(np.uint64) for word in words[: full + bool(rest)]]
    if rest and len(kept) > full:
        kept[-1] = kept[-1] & ((1 << rest) - 1)
    return tuple(kept) or (words[0].astype(np.uint64) & 0,)


def join_bits(high: LinearIndex, low: LinearIndex, bits: int) -> LinearIndex:
    """Return ``high * 2**bits + low`` in as many words as it needs: the inverse of the two above.

    Examples
    --------
    >>> number = (np.array([7], np.uint64), np.array([3], np.uint64))
    >>> join_bits(shift_right(number, 65), lowest_bits(number, 65), 65)[:2] == number
    True
    """
    skipped, rest = divmod(bits, _BITS)
    zero = low[0].astype(np.uint64) & 0
    words = [zero] * (skipped + len(high) + bool(rest))
    for number, word in enumerate(low):
        words[number] = words[number] | word.astype(np.uint64)
    for number, word in enumerate(high):
        wide = word.astype(np.uint64)
        words[skipped + number] = words[skipped + number] | (wide << rest)
        if rest:
            words[skipped + number + 1] = words[skipped + number + 1] | (wide >> (_BITS - rest))
    return tuple(words)
