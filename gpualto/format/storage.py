"""`StoredTensor`: the arrays that hold a tensor in some format."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from gpualto._arrays import Array, array_module, blocks, mover_to
from gpualto.format.format import Format, as_format
from gpualto.format.indices import Column, nbytes_of, words_of
from gpualto.labels import ModeLabels, as_labels
from gpualto.methods import TensorMethods

if TYPE_CHECKING:
    from gpualto.tensor import Tensor


@dataclass(frozen=True, eq=False)
class LevelArrays:
    """What one level stores.

    Parameters
    ----------
    pos : int64 array
        Where the places of each parent begin and, in the next entry, end. Empty for types without.
    crd : int64 array, or tuple of unsigned arrays
        The coordinate of each place, of the narrowest signed type that holds all of the level's; a tuple of
        words, the low word first, for linear indices of more than 63 bits. Empty for types without.
    """

    pos: Array
    crd: Column

    @cached_property
    def reach(self) -> Array:
        """For a delta level, how far the gaps up to each place and the places themselves reach."""
        xp = array_module(self.pos)
        reach = xp.zeros(self.crd.size + 1, np.int64)
        xp.cumsum(self.crd.astype(np.int64) + 1, out=reach[1:])
        return reach


@dataclass(frozen=True, eq=False, repr=False)
class StoredTensor(TensorMethods):
    """A tensor in a format of the format language: what `Tensor.to_format` gives.

    Parameters
    ----------
    format : Format
        What the arrays mean.
    shape : tuple of int
        Length of each mode.
    levels : tuple of LevelArrays
        `pos` and `crd` of each level.
    values : array
        One value for each position, those included that a dense level makes for cells that nobody gave.
    labels : tuple of ModeLabels
        Names of the modes and of their indices.

    Examples
    --------
    >>> import gpualto
    >>> X = gpualto.Tensor.from_coo([[0, 0, 2], [1, 3, 0]], [1.0, 2.0, 3.0], shape=(3, 4))
    >>> rows = X.to_format("(i, j) -> (i : dense, j : compressed)")
    >>> rows
    gpualto.StoredTensor(3 x 4, 3 positions, float64, cpu)
      (i, j) -> (i : dense, j : compressed), 59 bytes
    >>> rows.pos(1), rows.crd(1), rows.values
    (array([0, 2, 2, 3]), array([1, 3, 0], dtype=int8), array([1., 2., 3.]))
    """

    format: Format
    shape: tuple[int, ...]
    levels: tuple[LevelArrays, ...]
    values: Array
    labels: tuple[ModeLabels, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", as_labels(self.labels or None, self.shape))

    # What it is -----------------------------------------------------------------------------------------

    def pos(self, level: int) -> Array:
        """Return where the places of each parent begin and end; empty where the level stores none."""
        return self._level(level).pos

    def crd(self, level: int) -> Column:
        """Return the coordinate of each place; empty where the level stores none.

        Linear indices of 64 bits and more are a tuple of words, the low word first.
        """
        return self._level(level).crd

    def _level(self, level: int) -> LevelArrays:
        number, count = operator.index(level), len(self.levels)
        if not 0 <= number < count:
            raise IndexError(f"level: {number} is outside [0, {count}) for {self.format}")
        return self.levels[number]

    @property
    def nse(self) -> int:
        """Number of positions: stored elements, those among them that fill up levels and blocks."""
        return int(self.values.size)

    @property
    def nnz(self) -> int:
        """Number of entries: see `entries`; counted each time where the format is filled up."""
        return int(self.entries()[1].size) if self.format.is_filled else self.nse

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.values.nbytes) + sum(nbytes_of(one.pos) + nbytes_of(one.crd) for one in self.levels)

    @property
    def coords(self) -> Array:
        """Coordinates of the entries, in the order of the format: a new (ndim, nnz) int64 array."""
        return self.entries()[0]

    def entries(self) -> tuple[Array, Array]:
        """Return coordinates and values of the entries: see `gpualto.format.decoding.entries`."""
        from gpualto.format.decoding import entries

        return entries(self)

    def parts(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Yield coordinates and values of the entries at `size` positions at a time."""
        from gpualto.format.decoding import read

        for block in blocks(self.nse, size=size):
            yield read(self, array_module(self.values).arange(block.start, block.stop))

    # What it gives --------------------------------------------------------------------------------------

    def to_format(self, format: Format | str) -> Tensor | StoredTensor:
        """Return the tensor in another format, on the same device: see `gpualto.Tensor.to_format`."""
        from gpualto.format.decoding import convert
        from gpualto.tensor import Tensor

        target = as_format(format)
        if not target.is_alto or target.ndim != self.ndim:
            return convert(self, target)
        coords, values = self.entries()
        return Tensor.from_coo(coords, values, self.shape, labels=self.labels)

    def to_device(self, device: str) -> Self:
        """Return the tensor with its arrays on a device: see `gpualto.Tensor.to_device`."""
        move = mover_to(device)

        def moved(column: Column) -> Column:
            return tuple(map(move, column)) if isinstance(column, tuple) else move(column)

        levels = tuple(LevelArrays(move(level.pos), moved(level.crd)) for level in self.levels)
        result = replace(self, levels=levels, values=move(self.values))
        return self if result.device == self.device else result

    # How it looks ---------------------------------------------------------------------------------------

    def describe(self) -> str:
        """Return a drawing of the levels with their arrays.

        Examples
        --------
        >>> import gpualto
        >>> X = gpualto.Tensor.from_coo([[0, 0, 2], [1, 3, 0]], [1.0, 2.0, 3.0], shape=(3, 4))
        >>> print(X.to_format(gpualto.formats.DCSR()).describe())
        (i, j) -> (i : compressed, j : compressed)    3 x 4
          i : compressed     pos [ 0 2 ]
                             crd [ 0 2 ]
          j : compressed     pos [ 0 2 3 ]
                             crd [ 1 3 0 ]
          values             [ 1 2 3 ]
        """
        from gpualto.format.drawing import draw

        return draw(self)

    def __eq__(self, other: object) -> bool:
        """Tell whether format, shape, type, and all arrays are equal; another format is another tensor."""
        if not isinstance(other, StoredTensor):
            return NotImplemented
        about, their = (self.format, self.shape, self.dtype), (other.format, other.shape, other.dtype)
        return about == their and all(map(_are_equal, self._arrays(), other._arrays()))

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> list[Array]:
        columns = [level.crd for level in self.levels]
        return [
            self.values,
            *(level.pos for level in self.levels),
            *(w for c in columns for w in words_of(c)),
        ]

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "scalar"
        return (
            f"gpualto.StoredTensor({shape}, {self.nse:,} positions, {self.dtype}, {self.device})\n"
            f"  {self.format}, {self.nbytes:,} bytes"
        )


def _are_equal(a: Array, b: Array) -> bool:
    return bool(a.shape == b.shape and (a == b).all())
