"""The ALTO encoding: which bit of the linear index is which bit of which coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from gpualto._arrays import Array, array_module, as_coordinates, as_shape, blocks, check_bounds

LinearIndex = tuple[Array, ...]
"""The words of many linear indices: one unsigned array per word, the low word first."""

_WORD_BITS = 64


@dataclass(frozen=True)
class BitRun:
    """Adjacent bits of one coordinate that are adjacent in one word of the index as well."""

    coordinate_bit: int
    word: int
    word_bit: int
    length: int

    @property
    def ones(self) -> int:
        """As many ones as the run has bits."""
        return (1 << self.length) - 1


@dataclass(frozen=True)
class AltoEncoding:
    """The bit layout of the adaptive linearized tensor order (ALTO) for one shape.

    A mode of length I takes ``(I - 1).bit_length()`` bits. The modes, ordered by their number of bits,
    deal their bits round-robin from the least significant position of the index. Long modes therefore own
    the most significant bits alone, and nearby nonzeros are neighbours in every mode.

    The index takes the fewest words that hold it: one uint32, one uint64, or uint64 words below the
    narrowest unsigned word that holds the rest.

    Parameters
    ----------
    shape : sequence of int
        Length of each mode.

    References
    ----------
    Helal, Laukemann, Checconi, Tithi, Ranadive, Petrini, Choi: ALTO: Adaptive Linearized Storage of Sparse
    Tensors. ICS 2021, section 3.1.

    Examples
    --------
    >>> encoding = AltoEncoding((4, 8, 2))
    >>> encoding.layout
    'j2 j1 i1 j0 i0 k0'
    >>> [hex(mask) for mask in encoding.masks]
    ['0xa', '0x34', '0x1']
    >>> (index,) = encoding.linearize([[1, 3], [0, 4], [0, 0]])
    >>> index
    array([ 2, 42], dtype=uint32)
    >>> encoding.delinearize((index,))
    array([[1, 3], [0, 4], [0, 0]])
    """

    shape: tuple[int, ...]

    def __init__(self, shape: Sequence[int]) -> None:
        object.__setattr__(self, "shape", as_shape(shape))

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @cached_property
    def bits_per_mode(self) -> tuple[int, ...]:
        """Number of bits that each mode takes."""
        return tuple(max(length - 1, 0).bit_length() for length in self.shape)

    @cached_property
    def nbits(self) -> int:
        """Number of bits of the linear index."""
        return sum(self.bits_per_mode)

    @cached_property
    def positions(self) -> tuple[tuple[int, ...], ...]:
        """Position in the index of every bit of every mode, the least significant bit first."""
        positions: list[list[int]] = [[] for _ in self.shape]
        by_bits = sorted(range(self.ndim), key=lambda mode: self.bits_per_mode[mode])
        position = 0
        for bit in range(max(self.bits_per_mode)):
            for mode in by_bits:
                if bit < self.bits_per_mode[mode]:
                    positions[mode].append(position)
                    position += 1
        return tuple(map(tuple, positions))

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The bits of the index that belong to each mode."""
        return tuple(sum(1 << position for position in positions) for positions in self.positions)

    @cached_property
    def words(self) -> tuple[np.dtype[np.unsignedinteger], ...]:
        """Type of each word of the index, the low word first."""
        if self.nbits <= 32:
            return (np.dtype(np.uint32),)
        full, rest = divmod(self.nbits, _WORD_BITS)
        high = [np.min_scalar_type((1 << rest) - 1)] if rest and full else [np.dtype(np.uint64)] * bool(rest)
        return (np.dtype(np.uint64),) * full + tuple(high)

    @cached_property
    def index_nbytes(self) -> int:
        """Bytes that the index of one nonzero takes."""
        return sum(word.itemsize for word in self.words)

    @property
    def mode_letters(self) -> tuple[str, ...]:
        """Short names of the modes: i, j, k, ... while the alphabet lasts, then d0:, d1:, ..."""
        if self.ndim <= len("ijklmnopqrstuvwxyz"):
            return tuple("ijklmnopqrstuvwxyz"[: self.ndim])
        return tuple(f"d{mode}:" for mode in range(self.ndim))

    @property
    def layout(self) -> str:
        """The bits of the index by name, the most significant first."""
        names = {
            position: f"{letter}{bit}"
            for letter, positions in zip(self.mode_letters, self.positions, strict=True)
            for bit, position in enumerate(positions)
        }
        return " ".join(names[position] for position in reversed(range(self.nbits)))

    @cached_property
    def runs(self) -> tuple[tuple[BitRun, ...], ...]:
        """The bits of each mode as runs that stay together on the way into the index."""
        return tuple(tuple(_bit_runs(positions)) for positions in self.positions)

    def linearize(self, coords: Array | Sequence[Array]) -> LinearIndex:
        """Pack coordinates into linear indices.

        Parameters
        ----------
        coords : (ndim, nnz) array or sequence of ndim arrays
            Coordinates of any integer type.

        Returns
        -------
        tuple of (nnz,) arrays
            One array per word, of the types in `words`, the low word first.

        Raises
        ------
        TypeError
            If the coordinates are not integers.
        ValueError
            If a coordinate lies outside the shape; mode, position and value are named.
        """
        coordinates = as_coordinates(coords)
        check_bounds(coordinates, self.shape)
        xp = array_module(coordinates[0])
        nnz = coordinates[0].size
        index = tuple(xp.zeros(nnz, word) for word in self.words)
        for block in blocks(nnz, xp):
            for coordinate, runs in zip(coordinates, self.runs, strict=True):
                bits = coordinate[block].astype(np.uint64)
                for run in runs:
                    piece = ((bits >> run.coordinate_bit) & run.ones) << run.word_bit
                    index[run.word][block] |= piece.astype(self.words[run.word])
        return index

    def delinearize(self, index: LinearIndex | Array) -> Array:
        """Unpack linear indices into coordinates: the inverse of `linearize`.

        Parameters
        ----------
        index : tuple of (nnz,) arrays, or one array where one word holds the index
            The words, the low word first.

        Returns
        -------
        (ndim, nnz) int64 array

        Raises
        ------
        ValueError
            If the number of words is not that of this encoding.
        """
        words = index if isinstance(index, tuple) else (index,)
        if len(words) != len(self.words):
            raise ValueError(f"index: {len(words)} words were given, this encoding has {len(self.words)}")
        xp: ModuleType = array_module(words[0])
        nnz = words[0].size
        coords = xp.zeros((self.ndim, nnz), np.int64)
        for block in blocks(nnz, xp):
            pieces = [word[block].astype(np.uint64) for word in words]
            for mode, runs in enumerate(self.runs):
                for run in runs:
                    bits = ((pieces[run.word] >> run.word_bit) & run.ones) << run.coordinate_bit
                    coords[mode, block] |= bits.astype(np.int64)
        return coords

    def __str__(self) -> str:
        """Draw the layout: words, bits by name, mask of each mode."""
        words = " + ".join(str(word) for word in reversed(self.words))
        lines = [f"{' x '.join(map(str, self.shape))}: {self.nbits} bits in {words}"]
        lines.append(f"  {self.layout or '(no bits)'}")
        width = (self.nbits + 3) // 4
        for mode, letter in enumerate(self.mode_letters):
            lines.append(
                f"  mode {mode} = {letter.rstrip(':')}  length {self.shape[mode]}  "
                f"bits {self.bits_per_mode[mode]}  mask 0x{self.masks[mode]:0{width}x}"
            )
        return "\n".join(lines)


def _bit_runs(positions: tuple[int, ...]) -> list[BitRun]:
    """Group the bits of one mode, given by their positions in the index, into runs within a word."""
    runs: list[BitRun] = []
    for bit, position in enumerate(positions):
        word, word_bit = divmod(position, _WORD_BITS)
        last = runs[-1] if runs else None
        if last and (last.word, last.word_bit + last.length) == (word, word_bit):
            runs[-1] = BitRun(last.coordinate_bit, word, last.word_bit, last.length + 1)
        else:
            runs.append(BitRun(bit, word, word_bit, 1))
    return runs
