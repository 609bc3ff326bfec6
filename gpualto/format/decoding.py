"""Decoding: from positions among the values back to coordinates, and from one format to another."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.format.building import assemble
from gpualto.format.expressions import Bounds, Dimension, Expression
from gpualto.format.format import Format
from gpualto.format.indices import Column, take
from gpualto.format.levels import Compressed, Delta, LevelType, Singleton, Structured
from gpualto.format.recovery import is_within, run
from gpualto.format.storage import LevelArrays, StoredTensor


def decode(storage: StoredTensor, positions: Array) -> tuple[Array, Array]:
    """Return the coordinates of positions among the values: the definition of what a format means.

    Parameters
    ----------
    storage : StoredTensor
        The tensor.
    positions : (n,) integer array
        Positions in ``storage.values``.

    Returns
    -------
    coords : (ndim, n) int64 array
        Their coordinates; zero where there is no cell.
    stored : (n,) array of bool
        Whether the position is that of a cell of the tensor. Those in the padding of blocks and diagonals
        are not, nor are the places left over in a structured level. Their values are zero.

    Examples
    --------
    >>> from gpualto.format import Format, build
    >>> diagonals = Format("(i, j) -> (j-i : compressed, i : range)")
    >>> storage = build(diagonals, [[0, 1], [1, 2]], np.array([5.0, 6.0]), (3, 3))
    >>> storage.values
    array([5., 6., 0.])
    >>> decode(storage, np.arange(3))
    (array([[0, 1, 0], [1, 2, 0]]), array([ True, True, False]))
    """
    format, shape = storage.format, storage.shape
    xp = array_module(storage.values)
    places = xp.asarray(positions).astype(np.int64, copy=False)
    count = places.size
    stored = xp.ones(count, bool)
    known: dict[Expression, Column] = {}
    limits = format.bounds(shape)
    for number in reversed(range(len(format.levels))):
        kind = format.levels[number].type
        column, places = _read(kind, storage.levels[number], limits[number], places)
        known[format.expressions[number]] = column
        if isinstance(kind, Structured):
            stored &= is_within(column, limits[number])
    known, inside = run(format.steps, known, shape)

    coords = xp.empty((format.ndim, count), np.int64)
    for mode in range(format.ndim):
        coords[mode] = known[Dimension(mode)]
    if format.is_filled:
        if inside is not None:
            stored &= inside
        coords *= stored
    return coords, stored


def _read(kind: LevelType, arrays: LevelArrays, limits: Bounds, places: Array) -> tuple[Column, Array]:
    """Return the coordinate of places in one level, and the places of their parents in the level above."""
    match kind:
        case Compressed():
            return _coordinates(arrays, places), _parents(arrays.pos, places)
        case Singleton():
            return _coordinates(arrays, places), places
        case Delta():
            parents = _parents(arrays.pos, places)
            return arrays.reach[places + 1] - arrays.reach[arrays.pos[parents]] - 1, parents
        case Structured(count):
            return _coordinates(arrays, places), places // count
        case _:
            size = max(limits.size, 1)
            return places % size, places // size


def _coordinates(arrays: LevelArrays, places: Array) -> Column:
    column = take(arrays.crd, places)
    return column if isinstance(column, tuple) else column.astype(np.int64, copy=False)


def _parents(pos: Array, places: Array) -> Array:
    return pos.searchsorted(places, side="right") - 1


def entries(storage: StoredTensor) -> tuple[Array, Array]:
    """Return coordinates and values of what is stored, in the order of the format.

    A format whose last level is compressed, singleton or structured knows its entries, and explicit zeros are
    among them. In the others a place is made for each cell of a dense, batch, range or delta level, given or
    not: there a zero is a cell that nobody gave.

    Returns
    -------
    coords : (ndim, n) int64 array
    values : (n,) array

    Examples
    --------
    >>> from gpualto.format import Format, build
    >>> row = Format("(i) -> (i : dense)")
    >>> entries(build(row, [[1, 3]], np.array([7.0, 0.0]), [4]))
    (array([[1]]), array([7.]))
    """
    return read(storage, array_module(storage.values).arange(storage.values.size))


def read(storage: StoredTensor, positions: Array) -> tuple[Array, Array]:
    """Return coordinates and values of the entries at some positions: see `entries`."""
    format, values = storage.format, storage.values[positions]
    if not format.tells_zeros:
        positions, values = positions[values != 0], values[values != 0]
    coords, stored = decode(storage, positions)
    return (coords[:, stored], values[stored]) if format.is_filled else (coords, values)


def convert(storage: StoredTensor, format: Format) -> StoredTensor:
    """Return the same tensor in another format, on the same device.

    Examples
    --------
    >>> from gpualto.format import Format, build
    >>> coo = Format("(i, j) -> (i : compressed(nonunique), j : singleton)")
    >>> storage = build(coo, [[0, 0, 2], [1, 3, 0]], np.array([1.0, 2.0, 3.0]), (3, 4))
    >>> convert(storage, Format("(i, j) -> (j : dense, i : compressed)")).pos(1)
    array([0, 1, 2, 2, 3])
    """
    if format.ndim != storage.format.ndim:
        raise ValueError(f"format: {format} has {format.ndim} modes, the tensor has {storage.format.ndim}")
    coords, values = entries(storage)
    return assemble(format, tuple(coords), values, storage.shape, storage.labels)
