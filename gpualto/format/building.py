"""Building: from coordinates to the arrays of a format.

Building is a walk down the levels with one number for each entry: its *place* in the level above. All
entries begin at place 0 of the root. A dense level computes the next place; a compressed level numbers the
places that occur. The place in the last level is the position of the entry's value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from gpualto._arrays import Array, array_module, as_coordinates, as_shape, as_values, check_bounds
from gpualto.encoding import LinearIndex
from gpualto.format.expressions import Bounds, Dimension, Expression, Linearized, evaluate, walk
from gpualto.format.format import Format, as_format
from gpualto.format.indices import NARROW, Column, changes, take
from gpualto.format.levels import (
    COMPUTED,
    Compressed,
    Delta,
    LevelType,
    Singleton,
    Structured,
)
from gpualto.format.storage import LevelArrays, StoredTensor
from gpualto.labels import AnyLabels, ModeLabels, as_labels
from gpualto.ordering import is_increasing

_WORD = 1 << 64


@dataclass(frozen=True)
class _Places:
    """The place of each entry in a level, and how many places the level has."""

    of: Array
    count: int


def build(
    format: Format | str,
    coords: Array | Sequence[Array],
    values: Array,
    shape: Sequence[int],
    *,
    labels: AnyLabels | None = None,
) -> StoredTensor:
    """Store a tensor in a format.

    Entries may come in any order; they are sorted unless they are in the format's order already. Coordinates
    are distinct. Explicit zeros are kept. `pos` is int64,
    `crd` as narrow as the shape allows.

    Parameters
    ----------
    format : Format or str
        How to store it.
    coords : (ndim, nnz) array or sequence of ndim arrays
        Coordinates of the entries, of any integer type; none for a scalar.
    values : (nnz,) array
        Their values, float32 or float64; integers become float64.
    shape : sequence of int
        Length of each mode.
    labels : optional
        Names of the modes and their indices, as in `gpualto.Tensor.from_coo`.

    Raises
    ------
    ValueError
        If the format has another number of modes, a coordinate is out of bounds or repeated, or a level
        cannot hold what it is given.

    Examples
    --------
    >>> blocks = Format("(i) -> (i / 4 : compressed, i % 4 : dense)")
    >>> build(blocks, [[0, 3, 8]], np.array([6.0, 4.0, -1.0]), [12]).values
    array([ 6.,  0.,  0.,  4., -1.,  0.,  0.,  0.])
    """
    format = as_format(format)
    lengths = as_shape(shape) if len(shape) else ()
    if len(lengths) != format.ndim:
        raise ValueError(f"format: {format} has {format.ndim} modes, the shape {lengths} has {len(lengths)}")
    checked = as_values(values)
    coordinates = as_coordinates(coords) if format.ndim else ()
    check_bounds(coordinates, lengths)
    if any(row.size != checked.size for row in coordinates):
        raise ValueError(f"values: {checked.size} values for {coordinates[0].size} coordinates")
    return assemble(format, coordinates, checked, lengths, as_labels(labels, lengths))


def assemble(
    format: Format,
    coords: Sequence[Array],
    values: Array,
    shape: tuple[int, ...],
    labels: tuple[ModeLabels, ...],
) -> StoredTensor:
    """Do what `build` does with arguments that are known to be right."""
    xp = array_module(values)
    known: dict[Expression, Column] = {
        Dimension(mode): row.astype(np.int64, copy=False) for mode, row in enumerate(coords)
    }
    limits = format.bounds(shape)
    _check_limits(format, limits, shape)
    columns = [evaluate(level.expression, known, shape) for level in format.levels]
    columns, values = _in_order(columns, limits, values)

    arrays = []
    places = _Places(xp.zeros(values.size, np.int64), 1)
    for level, column, bounds in zip(format.levels, columns, limits, strict=True):
        what = f"{level.write(format.names)} in the shape {shape}"
        if isinstance(level.type, Structured):
            _check_places(places.count * level.type.count * values.itemsize, what)
        with _memory_for(what):
            stored, places = _store(level.type, column, bounds, places)
        _check_places(places.count * values.itemsize, what)
        arrays.append(stored)
    if format.is_filled:
        with _memory_for(f"values in the shape {shape}"):
            filled = xp.zeros(places.count, values.dtype)
        filled[places.of] = values
        values = filled
    return StoredTensor(format, shape, tuple(arrays), values, labels)


def _check_limits(format: Format, limits: Sequence[Bounds], shape: tuple[int, ...]) -> None:
    """Raise for coordinates that a level has no type for: only linear indices have several words."""
    for level, expression, (low, high) in zip(format.levels, format.expressions, limits, strict=True):
        is_stored = isinstance(level.type, (Compressed, Singleton))
        is_linear = any(isinstance(part, Linearized) for part in walk(expression))
        largest = high + 1 if isinstance(level.type, Structured) else high  # one more says that there is none
        if largest >= NARROW and not (is_stored and is_linear):
            remedy = "" if is_stored else "; compress it"
            raise ValueError(
                f"format: {level.write(format.names)} has coordinates up to {high} in the shape {shape}, and "
                f"such levels hold less than 2**63{remedy}"
            )
        if low < -NARROW:
            raise ValueError(
                f"format: {level.write(format.names)} has coordinates down to {low} in the shape {shape}"
            )


@contextmanager
def _memory_for(what: str) -> Iterator[None]:
    """Name what memory does not reach for."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"format: {what}: {error}") from None


def _check_places(nbytes: int, what: str) -> None:
    if nbytes >= NARROW:
        raise ValueError(f"format: {what} needs {nbytes} bytes of values; compress a level")


# Order ----------------------------------------------------------------------------------------------------


def _in_order(columns: list[Column], limits: Sequence[Bounds], values: Array) -> tuple[list[Column], Array]:
    """Sort the entries by their levels, the first level first; coordinates are narrowed before they move."""
    if not columns:
        if values.size > 1:
            raise ValueError(f"coords: a scalar has one value, {values.size} were given")
        return columns, values
    from gpualto.backends import backend_for_construction

    keys = _sort_keys(columns, limits)
    columns = list(map(narrowed, columns, limits))
    if is_increasing(keys):
        return columns, values
    order = backend_for_construction(values).argsort(keys)
    if not bool(changes(*take(keys, order)).all()):
        raise ValueError(
            "coords: a coordinate is repeated; sum the duplicates first, as Tensor.from_coo does"
        )
    return [take(column, order) for column in columns], values[order]


def _sort_keys(columns: Sequence[Column], limits: Sequence[Bounds]) -> LinearIndex:
    """Return as few unsigned words as hold all levels' coordinates, the low word first."""
    keys: list[Array] = []
    room = 0
    for column, (low, high) in reversed(list(zip(columns, limits, strict=True))):
        if isinstance(column, tuple):
            keys.extend(column)
            room = 0
            continue
        if high <= low:
            continue
        digit = (column - low if low else column).view(np.uint64)
        size = high - low + 1
        if size > room:
            keys.append(digit)
            room = _WORD // size
        else:
            keys[-1] = keys[-1] + digit * (_WORD // room)
            room //= size
    return tuple(keys) or (columns[0] * 0,)


# Levels ---------------------------------------------------------------------------------------------------


def _store(kind: LevelType, column: Column, limits: Bounds, parents: _Places) -> tuple[LevelArrays, _Places]:
    """Store one level's coordinates of sorted entries; return its arrays and the place of each entry."""
    xp = array_module(parents.of)
    if isinstance(kind, COMPUTED):
        return _store_computed(column, limits, parents, xp)
    match kind:
        case Compressed():
            return _store_compressed(kind, column, parents, xp)
        case Singleton():
            return LevelArrays(_nothing(xp), column), parents
        case Delta(bits):
            return _store_delta(bits, column, parents, xp)
        case Structured(count):
            return _store_structured(count, column, limits, parents, xp)


def _store_computed(
    column: Column, limits: Bounds, parents: _Places, xp: ModuleType
) -> tuple[LevelArrays, _Places]:
    count = parents.count * limits.size
    if count >= NARROW:
        return LevelArrays(_nothing(xp), _nothing(xp)), _Places(parents.of, count)
    return LevelArrays(_nothing(xp), _nothing(xp)), _Places(parents.of * limits.size + column, count)


def _store_compressed(
    kind: Compressed, column: Column, parents: _Places, xp: ModuleType
) -> tuple[LevelArrays, _Places]:
    entries = parents.of.size
    if not kind.unique:
        pos = _offsets(parents.of, parents.count, xp)
        return LevelArrays(pos, column), _Places(xp.arange(entries), entries)
    first, of = _number(column, parents, xp)
    pos = _offsets(parents.of[first], parents.count, xp)
    return LevelArrays(pos, take(column, first)), _Places(of, int(pos[-1]))


def _store_delta(bits: int, column: Column, parents: _Places, xp: ModuleType) -> tuple[LevelArrays, _Places]:
    first, of = _number(column, parents, xp)
    parent, coordinate = parents.of[first], column[first].astype(np.int64)
    gap = coordinate.copy()
    gap[1:] -= xp.where(parent[1:] == parent[:-1], coordinate[:-1] + 1, 0)
    ends = xp.cumsum((gap >> bits) + 1)
    count = int(ends[-1]) if ends.size else 0
    largest = (1 << bits) - 1
    crd = xp.full(count, largest, narrow_type(Bounds(0, largest)))
    crd[ends - 1] = gap & largest
    ends_before = xp.concatenate([xp.zeros(1, np.int64), ends])
    pos = ends_before[_offsets(parent, parents.count, xp)]
    return LevelArrays(pos, crd), _Places((ends - 1)[of], count)


def _store_structured(
    count: int, column: Column, limits: Bounds, parents: _Places, xp: ModuleType
) -> tuple[LevelArrays, _Places]:
    first, of = _number(column, parents, xp)
    parent = parents.of[first]
    slot = xp.arange(parent.size) - _offsets(parent, parents.count, xp)[parent]
    if slot.size and int(slot.max()) >= count:
        raise ValueError(
            f"format: a parent needs {int(slot.max()) + 1} places and structured({count}) has {count}; use "
            f"structured({int(slot.max()) + 1}) or compressed"
        )
    place = parent * count + slot
    crd = xp.full(parents.count * count, limits.size, narrow_type(Bounds(limits.low, limits.size)))
    crd[place] = column[first]
    return LevelArrays(_nothing(xp), crd), _Places(place[of], parents.count * count)


def narrowed(column: Column, limits: Bounds) -> Column:
    """Return a column in the narrowest signed type for its level's coordinates; words stay as they are."""
    return column if isinstance(column, tuple) else column.astype(narrow_type(limits), copy=False)


def narrow_type(limits: Bounds) -> np.dtype[np.signedinteger]:
    """Return the narrowest signed integer type for coordinates within bounds.

    Examples
    --------
    >>> narrow_type(Bounds(0, 127)), narrow_type(Bounds(-4, 200))
    (dtype('int8'), dtype('int16'))
    """
    reach = max(limits.high, -limits.low - 1, 0)
    return next(np.dtype(f"i{size}") for size in (1, 2, 4, 8) if reach < 1 << (8 * size - 1))


def _number(column: Column, parents: _Places, xp: ModuleType) -> tuple[Array, Array]:
    """Mark the first entry of each distinct coordinate of a parent, and number these for each entry."""
    first = changes(parents.of, column)
    of = xp.cumsum(first)
    of -= 1
    return first, of


def _offsets(parent: Array, count: int, xp: ModuleType) -> Array:
    """Return where each parent's places begin among places sorted by parent, and the end of the last."""
    pos = xp.zeros(count + 1, np.int64)
    if xp is np:
        np.cumsum(np.bincount(parent, minlength=count), out=pos[1:])
        return pos
    # CuPy's bincount overflows beyond two million bins before version 14.2.
    starts = changes(parent).nonzero()[0]
    ends = xp.concatenate([starts[1:], xp.full(1, parent.size)])[: starts.size]
    pos[parent[starts] + 1] = ends - starts
    return xp.cumsum(pos)


def _nothing(xp: ModuleType) -> Array:
    return xp.zeros(0, np.int64)
