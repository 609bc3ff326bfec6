"""From coordinates to sorted linear indices on all cores: packing bits, then a radix sort.

The sort takes the digits of the index from the least significant on, as many as there are bits in use, and
moves keys together with the positions that they came from. Scratch: a second array of keys and two of
positions, 16 bytes a nonzero for an index of 64 bits and fewer than 2**32 nonzeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpualto._arrays import Array, Coordinates, check_bounds
from gpualto.backends.cpu import bits, kernels, threads
from gpualto.encoding import AltoEncoding, LinearIndex

_DIGIT_BITS = 11
"""Bits of a digit: 2048 write positions, whose cache lines fit the second level."""


def linearize(encoding: AltoEncoding, coords: Coordinates) -> LinearIndex:
    """Return the linear indices of coordinates within the shape: see `AltoEncoding.linearize`."""
    nnz = coords[0].size
    layout = bits.layout_of(encoding, range(encoding.ndim))
    index = tuple(np.empty(nnz, word) for word in encoding.words)
    for number, word in enumerate(index):
        _in_parallel(kernels.pack_kernel(number), nnz, layout, coords, word)
    return index


def delinearize(encoding: AltoEncoding, index: LinearIndex) -> Array:
    """Return the coordinates of linear indices: see `AltoEncoding.delinearize`."""
    nnz = index[0].size
    layout = bits.layout_of(encoding, range(encoding.ndim))
    coords = np.empty((encoding.ndim, nnz), np.int64)
    _in_parallel(kernels.unpack, nnz, index, layout, coords)
    return coords


def sort_entries(encoding: AltoEncoding, coords: Coordinates, values: Array) -> tuple[LinearIndex, Array]:
    """Return linear indices and values in stable order of the index: see the reference."""
    check_bounds(coords, encoding.shape)
    index = linearize(encoding, coords)
    order, keys = None, index[0]
    for number, word in enumerate(index):
        keys = word if order is None else gather(word, order)
        nbits = min(encoding.nbits - 64 * number, 64)
        keys, order = _sort(keys, order, nbits)
    if order is None:  # an index of no bits
        return index, values.copy()
    if len(index) == 1:
        return (keys,), gather(values, order)
    return (*(gather(word, order) for word in index[:-1]), keys), gather(values, order)


def argsort(index: LinearIndex) -> Array:
    """Return the stable permutation that sorts linear indices of any number of words."""
    order = None
    for word in index:
        keys = word.astype(np.uint64) if order is None else gather(word, order)
        _, order = _sort(keys, order, int(word.max(initial=0)).bit_length())
    return np.arange(index[0].size) if order is None else order


def stable_order(keys: Array, nbits: int) -> Array:
    """Return the permutation that sorts integers of so many bits, in 4 bytes each where that is enough."""
    _, order = _sort(keys.astype(np.uint64), None, nbits)
    return np.arange(keys.size, dtype=_position_type(keys.size)) if order is None else order


def gather(source: Array, order: Array) -> Array:
    """Return ``source[order]``."""
    out = np.empty(order.size, source.dtype)
    _in_parallel(kernels.gather, order.size, source, order, out)
    return out


def _sort(keys: Array, order: Array | None, nbits: int) -> tuple[Array, Array | None]:
    """Return keys sorted by their low `nbits` bits, and the order moved along with them."""
    passes = -(-nbits // _DIGIT_BITS)
    width = -(-nbits // max(passes, 1))
    position = _position_type(keys.size)
    spare: list[tuple[Array, Array]] = []
    for number in range(passes):
        moved = spare.pop() if spare else (np.empty_like(keys), np.empty(keys.size, position))
        _sort_by_digit(keys, order, number * width, width, *moved)
        if number > 0 and order is not None:
            spare.append((keys, order))
        keys, order = moved
    return keys, order


def _position_type(count: int) -> type[np.unsignedinteger]:
    return np.uint32 if count <= np.iinfo(np.uint32).max else np.uint64


def _sort_by_digit(
    keys: Array, order: Array | None, shift: int, width: int, keys_out: Array, order_out: Array
) -> None:
    """Do one pass: count the digits of each thread's run, then move every key to its place."""
    runs = threads.split(keys.size)
    counts = np.zeros((len(runs), 1 << width), np.int64)
    amount = keys.dtype.type(shift)
    threads.run(
        kernels.count_digits, [(keys, amount, *run, row) for run, row in zip(runs, counts, strict=True)]
    )
    # Digit by digit, and within a digit run by run: where each run writes its first key of each digit.
    ends = counts.T.cumsum().reshape(counts.T.shape).T
    starts = np.ascontiguousarray(ends - counts)
    threads.run(
        kernels.move_by_digit,
        [
            (keys, order, amount, *run, row, keys_out, order_out)
            for run, row in zip(runs, starts, strict=True)
        ],
    )


def _in_parallel(kernel: Callable[..., Any], size: int, *arguments: Any) -> None:
    threads.run(kernel, [(*arguments, start, stop) for start, stop in threads.split(size)])
