"""The tensor that a command works on: a tensor file, or a table and what its columns are for."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from gpualto.cli import arguments
from gpualto.io import read
from gpualto.io.tables import TableFile, is_table, tensor_of
from gpualto.tables import binning
from gpualto.tables.binning import Bins
from gpualto.tables.categories import Categories
from gpualto.tables.columns import Missing, rows_without_value
from gpualto.tables.dataframes import Aggregate, as_bins, names_of
from gpualto.tensor import Tensor

_MANY = 100

TABLE_HELP = """\
A table (.csv, .tsv, also compressed, or .parquet) needs --modes. A column there may have bins:
  when:month                year, quarter, month, week, day or hour
  when:hour-of-day          month-of-year, weekday or hour-of-day
  delay:5                   five intervals with about equal numbers of rows
  delay:-inf/0/15/inf       intervals between edges
  month=when:month          the mode is called month; also kind=column
  "a, b",c                  a column whose name has a comma
"""


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the file, how its indices count, and what the columns of a table are for."""
    arguments.add_input(parser, f"{arguments.TENSOR_FILES}; or a table: .csv, .tsv, .parquet")
    parser.epilog = f"{parser.epilog}\n\n{TABLE_HELP}"
    parser.add_argument("--modes", metavar="A,B:BINS,...", help="columns of a table that become modes")
    parser.add_argument("--value", metavar="COLUMN", help="column of values (default: rows are counted)")
    parser.add_argument(
        "--aggregate", choices=get_args(Aggregate), help="what to do with rows of equal modes (default: sum)"
    )
    parser.add_argument(
        "--drop-missing", action="store_true", default=None, help="leave out rows without a value in a column"
    )


def read_input(options: argparse.Namespace) -> Tensor:
    """Return the tensor that the arguments name.

    Raises
    ------
    ValueError
        If the file cannot be read, or an option is for files of another kind.
    """
    if not is_table(options.file):
        _refuse_table_options(options)
        return read(options.file, index_base=options.index_base)
    if options.index_base != 1:
        raise ValueError(f"--index-base: is for .tns files, and {options.file} is a table")
    file = TableFile(options.file)
    if options.modes is None:
        raise ValueError(
            f"{options.file}: is a table; say which columns become modes, and which holds the values if any, "
            f"by --modes A,B --value C; it has {', '.join(file.names)}"
        )
    modes = [as_mode(text, file.names) for text in _split(options.modes)]
    value = None if options.value is None else _column(options.value, file.names)
    table = file.read(names_of(as_bins(modes), value))
    if options.drop_missing:
        _say_what_is_left_out(table)
    missing: Missing = "drop" if options.drop_missing else "error"
    try:
        X = tensor_of(options.file, table, modes, value, options.aggregate or "sum", missing)
    except ValueError as error:
        raise ValueError(str(error).replace('missing="drop"', "--drop-missing")) from None
    _hint_at_bins(X, table.num_rows)
    return X


def _hint_at_bins(X: Tensor, rows: int) -> None:
    """Say on standard error which modes are as good as different in every row, such as times."""
    for mode, (item, length) in enumerate(zip(X.labels, X.shape, strict=True)):
        if length > max(_MANY, rows / 2):
            print(
                f"gpualto: {item.title(mode)} has {length:,} values in {rows:,} rows, too many to be found "
                "again; bins make fewer, such as WHEN:month or NUMBER:10",
                file=sys.stderr,
            )


def _say_what_is_left_out(table: Any) -> None:
    columns = dict(zip(table.column_names, table.columns, strict=True))
    count = int(np.count_nonzero(rows_without_value(columns)))
    if count:
        print(f"left out {count:,} of {table.num_rows:,} rows, which have no value in one of the columns")


def _split(modes: str) -> list[str]:
    """Return the items between commas; one in double quotes may have commas itself."""
    try:
        items = next(csv.reader([modes], skipinitialspace=True))
    except csv.Error as error:
        raise ValueError(f"--modes: cannot be split at its commas: {error}") from None
    return [text.strip() for text in items]


def as_mode(text: str, columns: Sequence[str]) -> str | Bins:
    """Return the column, or the bins of one, that an item of ``--modes`` names.

    Examples
    --------
    >>> as_mode("when:hour-of-day", ["when"])
    TimeBins(column='when', name='when by hour of day', by='hour of day')
    >>> as_mode("delay:0/15/60", ["delay"])
    EdgeBins(column='delay', name='delay', edges=(0.0, 15.0, 60.0))
    >>> as_mode("month=when:month", ["when"]).name
    'month'
    >>> as_mode("a:b", ["a:b"])
    'a:b'
    >>> as_mode("kind=user kind", [" user kind"])
    Categories(column=' user kind', name='kind')
    """
    whole = _column(text, columns)
    if whole in columns:
        return whole
    before, colon, bins = text.rpartition(":")
    column, name = _column(before if colon else text, columns), None
    if column not in columns and "=" in column:
        name, _, column = column.partition("=")
        column = _column(column, columns)
    if not colon:
        return text if name is None else Categories(column, name)
    if bins.isdecimal():
        return binning.number(column, int(bins), name=name)
    if "/" in bins:
        return binning.number(column, edges=_edges(bins, text), name=name)
    try:
        return binning.time(column, bins, name=name)
    except ValueError:
        known = ", ".join(name.replace(" ", "-") for name in binning.TIMES)
        raise ValueError(
            f"--modes: there are no bins {bins!r} as in {text!r}; known are {known}, 5 for five intervals, "
            "and 0/15/60 for edges"
        ) from None


def _column(text: str, columns: Sequence[str]) -> str:
    """Return the column of a name, which may leave out spaces around it."""
    if text in columns:
        return text
    stripped = [column for column in columns if column.strip() == text.strip()]
    return stripped[0] if len(stripped) == 1 else text


def _edges(bins: str, text: str) -> list[float]:
    try:
        return [float(edge) for edge in bins.split("/")]
    except ValueError:
        raise ValueError(f"--modes: the edges in {text!r} are not all numbers") from None


def _refuse_table_options(options: argparse.Namespace) -> None:
    for name in ("modes", "value", "aggregate", "drop_missing"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option}: is for tables (.csv, .tsv, .parquet), and {options.file} is none")
