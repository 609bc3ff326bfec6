"""The values of a column as a mode: an index for each row, and a label for each index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpualto._arrays import Array
from gpualto.tables.columns import Column, pyarrow


class Coded(NamedTuple):
    """A column as a mode: `codes`, an index for each row, and `entries`, a label for each index."""

    codes: Array
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Categories:
    """Each distinct value of a column, in the order of the values.

    Parameters
    ----------
    column : str
    name : str
        Name of the mode.
    """

    column: str
    name: str

    def encode(self, column: Column) -> Coded:
        """Return indices and labels; ordered categories keep their order, and those without a row."""
        if pyarrow().types.is_dictionary(column.type):
            return _in_given_order(column, self.column)
        codes, distinct = distinct_values(column, self.column)
        return Coded(codes, tuple(texts(distinct, self.column)))


def distinct_values(column: Column, name: str) -> tuple[Array, Any]:
    """Return where each value of a column stands among the distinct ones, and these as a sorted array."""
    pa, pc = pyarrow(), pyarrow("pyarrow.compute")
    try:
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 becomes 0.0
        unique = pc.unique(column)
        distinct = unique.take(pc.array_sort_indices(unique))
        return pc.index_in(column, value_set=distinct).to_numpy(), distinct
    except pa.ArrowNotImplementedError:
        raise _no_labels(name, column.type) from None


def texts(values: Any, name: str) -> list[str]:
    """Return labels of the values of an array: integers without ``.0``, dates and times in ISO form."""
    pa = pyarrow()
    types, kind = pa.types, values.type
    if types.is_floating(kind):
        return [number_text(number) for number in values.to_numpy()]
    if types.is_boolean(kind):
        return [str(value) for value in values.to_pylist()]
    known = (
        types.is_integer,
        types.is_decimal,
        types.is_string,
        types.is_large_string,
        types.is_date,
        types.is_time,
        types.is_timestamp,
    )
    if not any(is_known(kind) for is_known in known):
        raise _no_labels(name, kind)
    return _coarsest(values).cast("string").to_pylist()  # type: ignore[no-any-return]


def number_text(number: Any) -> str:
    """Return a number in as few digits as tell it from others of its type.

    Examples
    --------
    >>> number_text(np.float64(15.0)), number_text(np.float32(0.1)), number_text(np.float64("inf"))
    ('15', '0.1', 'inf')
    """
    return str(number).removesuffix(".0")


def _coarsest(values: Any) -> Any:
    """Return dates and times in the coarsest unit that holds them: text shows all digits of a unit."""
    pa = pyarrow()
    if pa.types.is_timestamp(values.type):
        zone = values.type.tz
        units = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us")]
        candidates = units if zone else [pa.date32(), *units]
    elif pa.types.is_time(values.type):
        candidates = [pa.time32("s"), pa.time32("ms"), pa.time64("us")]
    else:
        candidates = []
    for candidate in candidates:
        coarse = values.cast(candidate, safe=False)
        if coarse.cast(values.type).equals(values):
            return coarse
    return values


def _in_given_order(column: Column, name: str) -> Coded:
    """Return the codes of an ordered dictionary and the labels of all its categories."""
    chunks = column.unify_dictionaries().chunks
    dictionary = chunks[0].dictionary
    if str(dictionary.type) == "string_view":
        dictionary = dictionary.cast("large_string")
    entries = tuple(texts(dictionary, name))
    if len(set(entries)) < len(entries):
        raise ValueError(f"column {name!r}: categories repeat; rename them")
    return Coded(np.concatenate([chunk.indices.to_numpy() for chunk in chunks]), entries)


def _no_labels(name: str, kind: Any) -> ValueError:
    return ValueError(
        f"column {name!r}: {kind} makes no labels; turn it into text, numbers or dates first, such as by "
        f"df[{name!r}].astype(str), or df[{name!r}].cat.rename_categories(str) for what pandas.cut gives"
    )
