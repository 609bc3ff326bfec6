"""Tables in files: ``.csv`` and ``.tsv``, compressed or not, and ``.parquet``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from gpualto._arrays import LARGEST_EXACT_INTEGER, Array
from gpualto.io.files import DataFileError, StrPath, read_bytes, replacing, split_suffix
from gpualto.tables.columns import NUMBER, Column, Missing, check_names, pyarrow
from gpualto.tables.dataframes import Aggregate, Modes, as_bins, names_of
from gpualto.tensor import Tensor

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_BLOCK_BYTES = 1 << 24

_INTEGER = r"^[+-]?[0-9]{1,38}$"
_LARGE_INTEGER = r"^[+-]?[0-9]{16,}$"
"""Of more digits than a float keeps, and perhaps none of them."""

TABLE_SUFFIXES = (*_DELIMITERS, ".parquet")


def is_table(path: Path) -> bool:
    """Tell by its suffix whether a file holds a table.

    Examples
    --------
    >>> is_table(Path("x.csv.gz")), is_table(Path("x.tns"))
    (True, False)
    """
    suffix, compression = split_suffix(path)
    return suffix in _DELIMITERS or (suffix == ".parquet" and not compression)


def read_table(
    path: StrPath,
    modes: Modes,
    value: str | None = None,
    *,
    aggregate: Aggregate = "sum",
    missing: Missing = "error",
) -> Tensor:
    r"""Read a tensor with labels from a table in a file, by suffix.

    ``.csv`` and ``.tsv``, which begin with the names of the columns (also ``.gz``, ``.bz2``, ``.xz``), and
    ``.parquet``. Only the columns that are needed are read.

    Parameters
    ----------
    path : path-like
    modes : sequence of str or bins
        A column for each mode, or bins of one: see `Tensor.from_dataframe`.
    value : str, optional
        A numeric column; by default rows are counted.
    aggregate : {"sum", "count", "mean", "min", "max"}
        What to do with rows of equal coordinates.
    missing : {"error", "drop"}
        What to do with rows that have no value in a column that is used.

    Raises
    ------
    DataFileError
        A ``ValueError`` that names the file and what is wrong with it.
    MissingPackageError
        If pyarrow is not installed.

    Notes
    -----
    Apache Arrow finds out the types of the columns of a text file: ``007`` is a number and loses its zeros.
    A field that is empty, also between quotes, or ``NA`` and the like without quotes, has no value, which is
    an error. Integers keep all their digits, those of more than 38 and those among other numbers as text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flights.csv")
    ...     _ = path.write_text("carrier,hour,count\nUA,7,3\nAA,15,1\nUA,7,2\n")
    ...     X = read_table(path, ["carrier", "hour"], "count")
    >>> X.todense()
    array([[0., 1.], [5., 0.]])
    >>> X.labels[0].entries, X.labels[1].entries
    (('AA', 'UA'), ('7', '15'))
    """
    path = Path(path)
    if not is_table(path):
        raise ValueError(f"path: {str(path)!r} does not end in .csv, .tsv (also compressed) or .parquet")
    columns = TableFile(path).read(names_of(as_bins(modes), value))
    return tensor_of(path, columns, modes, value, aggregate, missing)


def _other_delimiter(names: Sequence[str]) -> str:
    """Return a hint where the only column is all of them."""
    found = next((mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]), None)
    return f"; the columns seem to be separated by {found!r}: write the file with commas" if found else ""


def tensor_of(
    path: Path, columns: Any, modes: Modes, value: str | None, aggregate: Aggregate, missing: Missing
) -> Tensor:
    """Return the tensor of the columns that a file had; errors name the file."""
    try:
        return Tensor.from_dataframe(columns, modes, value, aggregate=aggregate, missing=missing)
    except ValueError as error:
        raise DataFileError(f"{path}: {str(error).removeprefix('df: ')}") from None


class TableFile:
    """A table in a file: the names of its columns, and the columns that are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _errors_of(path):
            is_parquet = split_suffix(path)[0] == ".parquet"
            self._content: _Content = _Parquet(path) if is_parquet else _Text(path)
        self.names = self._content.names

    def read(self, names: Sequence[str]) -> Any:
        """Return columns as an Arrow table."""
        wanted = list(dict.fromkeys(names))
        with _errors_of(self._path):
            try:
                check_names(wanted, self.names)
            except ValueError as error:
                raise ValueError(f"{error}{_other_delimiter(self.names)}") from None
            return self._content.read(wanted)


class _Content(Protocol):
    names: list[str]

    def read(self, wanted: list[str]) -> Any: ...


class _Parquet:
    """One file; `pyarrow.parquet.read_table` would add columns for folders named ``a=1``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self.names: list[str] = pyarrow("pyarrow.parquet").read_schema(file).names

    def read(self, wanted: list[str]) -> Any:
        with self._path.open("rb") as file:
            return pyarrow("pyarrow.parquet").ParquetFile(file).read(columns=wanted)


class _Text:
    """Text, read and unpacked once, whose first line Arrow takes as it takes the whole."""

    def __init__(self, path: Path) -> None:
        self._text = read_bytes(path)
        delimiter = _DELIMITERS[split_suffix(path)[0]]
        self._csv = pyarrow("pyarrow.csv")
        self._parsing = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with self._csv.open_csv(pyarrow().BufferReader(self._text), parse_options=self._parsing) as reader:
            self.names: list[str] = reader.schema.names

    def read(self, wanted: list[str]) -> Any:
        table = self._parsed(wanted, strings_can_be_null=True, quoted_strings_can_be_null=False)
        for number, name in enumerate(wanted):
            table = table.set_column(number, name, self._typed(name, table.column(number)))
        return table

    def _parsed(self, wanted: list[str], **options: Any) -> Any:
        return self._csv.read_csv(
            pyarrow().BufferReader(self._text),
            read_options=self._csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=self._parsing,
            convert_options=self._csv.ConvertOptions(include_columns=wanted, **options),
        )

    def _typed(self, name: str, column: Column) -> Column:
        """Return a column in the type that its text asks for, where Arrow guesses another."""
        types, compute = pyarrow().types, pyarrow("pyarrow.compute")
        if types.is_binary(column.type):
            raise ValueError(f"column {name!r}: is not UTF-8 text; save the file as UTF-8")
        if types.is_string(column.type) and compute.any(compute.equal(column, "")).as_py():
            return self._by_text(name)
        if types.is_timestamp(column.type) and column.type.tz:
            return self._by_text(name)  # Arrow has them in UTC, and not the clock that the text shows
        if types.is_floating(column.type):
            beyond = compute.greater_equal(compute.abs(column), float(LARGEST_EXACT_INTEGER))
            return self._by_text(name) if compute.any(beyond).as_py() else column
        return column

    def _by_text(self, name: str) -> Column:
        """Return a column as integers if all are, of any size, as floats if none is large, else as text.

        Nothing between quotes is no value: writers that quote all text have it in columns of numbers too.
        """
        pa, compute = pyarrow(), pyarrow("pyarrow.compute")
        text = self._parsed(
            [name],
            column_types={name: pa.string()},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ).column(0)
        text = compute.if_else(compute.equal(text, ""), None, text)
        numbers = compute.utf8_trim_whitespace(text)
        if _all_match(numbers, _INTEGER):
            whole = numbers.cast(pa.decimal128(38, 0))
            largest = compute.max(compute.abs(whole)).as_py() or 0
            return whole.cast(pa.int64()) if largest < 2**63 else whole
        has_large = compute.any(compute.match_substring_regex(numbers, _LARGE_INTEGER)).as_py()
        return text if has_large or not _all_match(numbers, NUMBER) else numbers.cast(pa.float64())


def _all_match(column: Column, pattern: str) -> bool:
    compute = pyarrow("pyarrow.compute")
    return bool(compute.all(compute.match_substring_regex(column, pattern)).as_py())


def write_table(path: Path, columns: Mapping[str, Array]) -> None:
    """Write a table to a file, by suffix, whole or not at all."""
    table = pyarrow().table(columns)
    suffix = split_suffix(path)[0]
    with replacing(path) as file:
        if suffix == ".parquet":
            pyarrow("pyarrow.parquet").write_table(table, file)
        else:
            csv = pyarrow("pyarrow.csv")
            csv.write_csv(table, file, csv.WriteOptions(delimiter=_DELIMITERS[suffix]))


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Name the file in what Arrow complains about."""
    try:
        yield
    except (ValueError, OSError, pyarrow().ArrowException) as error:
        is_named = isinstance(error, OSError) and error.filename is not None  # not by Arrow
        if is_named or isinstance(error, DataFileError):
            raise
        raise DataFileError(f"{path}: {error}") from None
