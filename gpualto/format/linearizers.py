"""Linearizers: several coordinates as one index, in ALTO, Morton or row-major order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.encoding import AltoEncoding, LinearIndex

_WORD = 1 << 64


class MortonEncoding(AltoEncoding):
    """Z-Morton order: every part takes as many bits as the longest; the last part has the lowest bit.

    Examples
    --------
    >>> [hex(mask) for mask in MortonEncoding((4, 8, 2)).masks]
    ['0x124', '0x92', '0x49']
    """

    @cached_property
    def bits_per_mode(self) -> tuple[int, ...]:
        """Number of bits that each part takes."""
        return (max(super().bits_per_mode),) * self.ndim

    @cached_property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """Position in the index of every bit of every part, the least significant bit first."""
        bits = self.bits_per_mode[0]
        return tuple(
            tuple(range(self.ndim - 1 - part, bits * self.ndim, self.ndim)) for part in range(self.ndim)
        )


class RowMajor:
    """Row-major order, in which the last part varies fastest.

    Parts whose index does not fit one 64-bit word are dealt to several, as many of the last parts to the low
    word as it holds: the words sort in row-major order, but are no longer the digits of one number.

    Examples
    --------
    >>> order = RowMajor((4, 8, 2))
    >>> order.linearize([[1], [6], [1]])
    (array([29], dtype=uint64),)
    >>> order.delinearize(order.linearize([[1], [6], [1]]))
    array([[1], [6], [1]])
    """

    def __init__(self, extents: Sequence[int]) -> None:
        self.extents = tuple(extents)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The parts in each word, the low word first, the fastest part first."""
        groups: list[list[int]] = [[]]
        for part in reversed(range(len(self.extents))):
            if math.prod(self.extents[other] for other in [*groups[-1], part]) > _WORD:
                groups.append([])
            groups[-1].append(part)
        return tuple(map(tuple, groups))

    def linearize(self, coords: Sequence[Array]) -> LinearIndex:
        """Pack coordinates into the words of linear indices, the low word first."""
        return tuple(self._pack(coords, group) for group in self.groups)

    def _pack(self, coords: Sequence[Array], group: tuple[int, ...]) -> Array:
        xp = array_module(coords[0])
        word = xp.zeros(len(coords[0]), np.uint64)
        for part in reversed(group):
            word = word * self.extents[part] + xp.asarray(coords[part]).astype(np.uint64)
        return word

    def delinearize(self, index: LinearIndex) -> Array:
        """Unpack linear indices into coordinates, one int64 row per part."""
        xp = array_module(index[0])
        coords = xp.empty((len(self.extents), index[0].size), np.int64)
        for word, group in zip(index, self.groups, strict=True):
            rest = word.astype(np.uint64, copy=False)
            for part in group:
                extent = max(self.extents[part], 1)
                coords[part] = (rest % extent).astype(np.int64)
                rest = rest // extent
        return coords


ORDERS = ("alto", "morton", "lin")
"""The linearizers by the names they have in a format."""


Linearizer = AltoEncoding | RowMajor


@lru_cache(maxsize=256)
def linearizer(order: str, extents: tuple[int, ...]) -> Linearizer:
    """Return the linearizer of one order for parts of these lengths."""
    if order == "lin":
        return RowMajor(extents)
    return AltoEncoding(extents) if order == "alto" else MortonEncoding(extents)


@lru_cache(maxsize=256)
def index_size(order: str, extents: tuple[int, ...]) -> int:
    """Return the number of linear indices, those of no cell included.

    Examples
    --------
    >>> index_size("lin", (5, 3)), index_size("alto", (5, 3)), index_size("morton", (5, 3))
    (15, 32, 64)
    """
    made = linearizer(order, extents)
    if 0 in extents or isinstance(made, RowMajor):
        return math.prod(extents)
    return 1 << made.nbits


def word_count(order: str, extents: tuple[int, ...]) -> int:
    """Return the number of words of a linear index."""
    made = linearizer(order, extents)
    return len(made.groups) if isinstance(made, RowMajor) else len(made.words)
