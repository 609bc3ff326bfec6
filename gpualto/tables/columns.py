"""Columns of a table, of whichever package, as Apache Arrow has them: checked, and free of nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from gpualto._arrays import LARGEST_EXACT_INTEGER, Array
from gpualto._optional import require

Column = Any
"""A ``pyarrow.ChunkedArray``."""

Table = Any
"""What has columns by name: of pandas, polars, pyarrow, DuckDB, or a mapping of names to arrays."""


def pyarrow(module: str = "pyarrow") -> Any:
    """Return pyarrow, or a module of it."""
    return require(module, "cpu", "a table")


NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"

Missing = Literal["error", "drop"]
"""What becomes of rows without a value."""


def columns_of(df: Table, names: Sequence[str], missing: Missing = "error") -> dict[str, Column]:
    """Return some columns of a table, of the rows that have a value in all of them.

    Raises
    ------
    TypeError
        If it is no table.
    ValueError
        If a column is not there, there twice, cannot be converted or has rows without a value that are not
        to be dropped, or if there are no rows.
    """
    pa = pyarrow()
    wanted = list(dict.fromkeys(names))
    try:
        table = _as_arrow(df, wanted)
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"df: pyarrow cannot convert it: {'; '.join(map(str, error.args))}") from None
    except TypeError:
        raise TypeError(
            "df: expected a table of pandas (2.2 or later), polars, pyarrow or DuckDB, or a mapping of names "
            f"to arrays, got {type(df).__module__}.{type(df).__qualname__}"
        ) from None
    if table.num_rows == 0:
        raise ValueError("df: the table has no rows, and so no labels")
    columns = {name: _plain(table.column(name)) for name in wanted}
    if missing == "error":
        for name, column in columns.items():
            _check_values(column, name)
        return columns
    complete = ~rows_without_value(columns)
    if not complete.any():
        raise ValueError(f"df: every row is without a value in one of the columns {', '.join(wanted)}")
    return {name: column.filter(pa.array(complete)) for name, column in columns.items()}


def rows_without_value(columns: Mapping[str, Column]) -> Array:
    """Return which rows have no value (None, NaN or NaT) in one of some columns."""
    return np.any([_is_null(column) for column in columns.values()], axis=0)


def as_numbers(column: Column, name: str) -> Array:
    """Return a numeric column as a float32 array if it is of 32 bits or fewer, else as float64.

    Raises
    ------
    ValueError
        If it is not numeric, or has integers that float64 cannot hold.
    """
    types = pyarrow().types
    if types.is_string(column.type) or types.is_large_string(column.type):
        raise _no_numbers(column, name)
    known = (types.is_decimal, types.is_integer, types.is_floating, types.is_boolean)
    if not any(is_known(column.type) for is_known in known):
        raise ValueError(f"column {name!r}: expected numbers, got {column.type}")
    is_fraction = types.is_decimal(column.type) and column.type.scale > 0
    array = (column.cast("float64") if is_fraction else column).to_numpy()
    is_whole = types.is_integer(column.type) or (types.is_decimal(column.type) and not is_fraction)
    if is_whole and array.size:
        bad = (array > LARGEST_EXACT_INTEGER) | (array < -LARGEST_EXACT_INTEGER)
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                f"column {name!r}: {array[row]} in {row_text(row)} is beyond 2**53 and has no exact float64; "
                "convert the column to float64 first if rounding is acceptable"
            )
    return array if array.dtype == np.float32 else array.astype(np.float64)


def _no_numbers(column: Column, name: str) -> ValueError:
    """Return the error for text where numbers are expected: it names the first that is none."""
    compute = pyarrow("pyarrow.compute")
    is_number = compute.match_substring_regex(column, NUMBER).to_numpy()
    if is_number.all():
        return ValueError(f"column {name!r}: expected numbers, got them as text; convert it to numbers first")
    row = int((~is_number).argmax())
    return ValueError(
        f"column {name!r}: expected numbers, got text such as {column[row].as_py()!r} in {row_text(row)}"
    )


def check_names(wanted: Sequence[str], existing: Sequence[str]) -> None:
    """Raise `ValueError` for a column that is not there, or there twice."""
    for name in wanted:
        count = list(existing).count(name)
        if count == 0:
            close = get_close_matches(name, existing, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            has = ", ".join(existing) or "none"
            raise ValueError(f"column {name!r}: not in the table, which has {has}{hint}")
        if count > 1:
            raise ValueError(f"column {name!r}: is there {count} times; rename all but one")


def row_text(row: int) -> str:
    """Return a row as messages name it."""
    return f"row {row} (from 0)"


def _as_arrow(df: Table, wanted: list[str]) -> Any:
    """Return an Arrow table; where it can be told, of these columns only: others may not convert."""
    pa = pyarrow()
    if type(df).__name__ == "Series":
        raise ValueError("df: is a single column; a table of it and its index is made by reset_index()")
    if isinstance(df, Mapping):
        columns = {str(name): column for name, column in df.items()}
        check_names(wanted, list(columns))
        for name in wanted:
            if not hasattr(columns[name], "__len__") or isinstance(columns[name], str):
                raise ValueError(f"column {name!r}: expected an array or a list, got {columns[name]!r}")
        return pa.table({name: columns[name] for name in wanted})
    if type(df).__module__.partition(".")[0] == "pandas" and hasattr(df, "columns"):
        names = list(map(str, df.columns))
        check_names(wanted, names)
        return pa.Table.from_pandas(df.loc[:, [name in wanted for name in names]], preserve_index=False)
    table = pa.table(df)
    check_names(wanted, table.column_names)
    return table


def _plain(column: Column) -> Column:
    """Return a column in a type that Arrow's functions take; ordered dictionaries stay as they are."""
    pa = pyarrow()
    kind = column.type
    if pa.types.is_dictionary(kind) and not kind.ordered:
        decoded = [_plain_array(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(decoded)
    return pa.chunked_array([_plain_array(chunk) for chunk in column.chunks])


def _plain_array(array: Any) -> Any:
    target = {"string_view": "large_string", "halffloat": "float32", "date64[ms]": "date32"}
    name = str(array.type)
    return array.cast(target[name]) if name in target else array


def _is_null(column: Column) -> Array:
    return pyarrow("pyarrow.compute").is_null(column, nan_is_null=True).to_numpy()


def _check_values(column: Column, name: str) -> None:
    is_null = _is_null(column)
    count = int(np.count_nonzero(is_null))
    if count:
        raise ValueError(
            f"column {name!r}: rows without a value (None, NaN or NaT): {count}, the first "
            f'{row_text(int(is_null.argmax()))}; missing="drop" leaves them out'
        )
