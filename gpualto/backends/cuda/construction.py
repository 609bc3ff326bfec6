"""Coordinates to sorted linear indices and back, on the device."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, Coordinates, array_module, check_bounds, out_of_bounds
from gpualto.backends.cuda.launching import (
    address,
    blocks_for,
    c_name,
    kernel,
    words_parameter,
)
from gpualto.backends.cuda.sorting import argsort
from gpualto.encoding import AltoEncoding, LinearIndex

_THREADS = 256
_NONE_WRONG = 2**64 - 1

_COLUMN = np.dtype([("data", "u8"), ("stride", "i8"), ("bytes", "i4"), ("is_signed", "i4")])


def sort_entries(encoding: AltoEncoding, coords: Coordinates, values: Array) -> tuple[LinearIndex, Array]:
    """Check coordinates, and return linear indices and values in stable order of the index.

    At its peak it takes twice the index and 32 bytes a nonzero, its result among them, and what the sort
    takes for itself: about twice the word that it sorts, and 16 bytes a nonzero.
    """
    index = linearize(encoding, coords)
    order = argsort(encoding, index)
    return tuple(word[order] for word in index), values[order]


def linearize(encoding: AltoEncoding, coords: Coordinates) -> LinearIndex:
    """Pack coordinates of any integer type and stride; one number is read back, for the bounds."""
    cupy = array_module(coords[0])
    nnz = coords[0].size
    if len(coords) != encoding.ndim or nnz == 0:
        check_bounds(coords, encoding.shape)
    index = tuple(cupy.empty(nnz, word) for word in encoding.words)
    if nnz == 0:
        return index
    wrong = cupy.full(1, _NONE_WRONG, np.uint64)
    columns = [(address(c), c.strides[0], c.itemsize, c.dtype.kind == "i") for c in coords]
    pack = kernel(cupy, encoding, "linearize.cu", f"linearize<Layout, {_THREADS}>")
    parameter = np.array((columns,), np.dtype([("at", _COLUMN, (len(columns),))]))
    pack(
        (blocks_for(cupy, pack, _THREADS, nnz),),
        (_THREADS,),
        (parameter, np.int64(nnz), words_parameter(index), address(wrong)),
    )
    first = int(wrong[0])
    if first != _NONE_WRONG:
        raise out_of_bounds(coords, encoding.shape, *divmod(first, nnz))
    return index


def delinearize(encoding: AltoEncoding, index: LinearIndex) -> Array:
    """Return the (ndim, nnz) int64 coordinates of linear indices."""
    return _unpack(encoding, index, 0, encoding.ndim, np.dtype(np.int64))


def coordinates_of_mode(encoding: AltoEncoding, index: LinearIndex, mode: int) -> Array:
    """Return the coordinates of one mode, in the narrowest type that the kernels have."""
    narrow = encoding.bits_per_mode[mode] <= np.iinfo(np.uint32).bits
    return _unpack(encoding, index, mode, 1, np.dtype(np.uint32 if narrow else np.int64))[0]


def _unpack(
    encoding: AltoEncoding, index: LinearIndex, first: int, count: int, dtype: np.dtype[np.integer]
) -> Array:
    cupy = array_module(index[0])
    nnz = index[0].size
    coords = cupy.empty((count, nnz), dtype)
    if nnz:
        expression = f"delinearize<Layout, {first}, {count}, {c_name(dtype)}, {_THREADS}>"
        unpack = kernel(cupy, encoding, "delinearize.cu", expression)
        parameters = (words_parameter(index), np.int64(nnz), address(coords))
        unpack((blocks_for(cupy, unpack, _THREADS, nnz),), (_THREADS,), parameters)
    return coords
