"""Bins: times by month or weekday, numbers by intervals, as modes of a tensor made of a table.

The public name of this module is ``gpualto.bins``. What its functions return stands in place of a column's
name in `Tensor.from_dataframe` and `gpualto.read_table`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from gpualto._arrays import Array
from gpualto.tables.categories import Coded, distinct_values, number_text
from gpualto.tables.columns import Column, as_numbers, pyarrow, row_text

_PERIODS = {
    "year": "%Y",
    "quarter": "",  # strftime knows none
    "month": "%Y-%m",
    "week": "%G-W%V",
    "day": "%Y-%m-%d",
    "hour": "%Y-%m-%d %Hh",
}
"""Spans of time by name, and their labels."""

_CYCLES = {
    "month of year": (
        "month",
        ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    ),
    "weekday": ("day_of_week", ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")),
    "hour of day": ("hour", tuple(f"{hour:02}h" for hour in range(24))),
}
"""What returns, by name: the function of Arrow that gives its number, and the label of each number."""

_ZONE = r"(:[0-9]{2}(?:\.[0-9]+)?) ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)$"
"""What a time ends in, after its minutes or seconds."""

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""In a second, by unit."""

TIMES = (*_PERIODS, *_CYCLES)
"""What times can be put together by."""


class Bins(Protocol):
    """What makes a mode of a column."""

    @property
    def column(self) -> str:
        """Name of the column."""

    @property
    def name(self) -> str:
        """Name of the mode."""

    def encode(self, column: Column) -> Coded:
        """Return an index for each row and a label for each index."""


@dataclass(frozen=True)
class TimeBins:
    """Dates or timestamps by a span of time; made by `time`."""

    column: str
    name: str
    by: str

    def encode(self, column: Column) -> Coded:
        """Return indices and labels, in the order of time, of the spans that occur."""
        times = _local_times(column, self)
        if self.by in _CYCLES:
            return _cycle(times, self)
        floored = pyarrow("pyarrow.compute").floor_temporal(times, unit=self.by, week_starts_monday=True)
        codes, distinct = distinct_values(floored, self.column)
        return Coded(codes, _span_labels(distinct, self.by))


@dataclass(frozen=True)
class QuantileBins:
    """Numbers by intervals with about as many rows each; made by `number`."""

    column: str
    name: str
    count: int

    def encode(self, column: Column) -> Coded:
        """Return indices and labels of the intervals between quantiles."""
        numbers = as_numbers(column, self.column)
        shares = [step / self.count for step in range(self.count + 1)]
        quantile = pyarrow("pyarrow.compute").quantile
        # An edge that is a value reads better than one between two.
        edges = np.unique(quantile(pyarrow().array(numbers), q=shares, interpolation="higher").to_numpy())
        return Coded(_intervals(numbers, edges), _interval_labels(edges))


@dataclass(frozen=True)
class EdgeBins:
    """Numbers by intervals between given edges; made by `number`."""

    column: str
    name: str
    edges: tuple[float, ...]

    def encode(self, column: Column) -> Coded:
        """Return indices and labels of all the intervals, those without a row too."""
        numbers, edges = as_numbers(column, self.column), np.array(self.edges)
        with np.errstate(over="ignore"):  # what is 0.1 in 32 bits is not beyond an edge of 0.1
            ends = edges[[0, -1]].astype(numbers.dtype).astype(np.float64)
        outside = (numbers < min(edges[0], ends[0])) | (numbers > max(edges[-1], ends[-1]))
        if outside.any():
            row, count = int(outside.argmax()), int(np.count_nonzero(outside))
            raise ValueError(
                f"column {self.column!r}: values outside the edges {number_text(edges[0])} to "
                f"{number_text(edges[-1])}: {count}, the first, {number_text(numbers[row])}, in "
                f"{row_text(row)}; let -inf be the first edge and inf the last"
            )
        return Coded(_intervals(numbers, edges), _interval_labels(edges))


def time(column: str, by: str, *, name: str | None = None) -> TimeBins:
    """Return bins of the dates or timestamps of a column.

    The mode has an index for each span that occurs, in the order of time, or for everything that returns: all
    24 hours of the day. Timestamps with a time zone are taken in their zone; text is read where all of it is
    in ISO form.

    Parameters
    ----------
    column : str
    by : str
        A span of time: "year" (2013), "quarter" (2013-Q1), "month" (2013-01), "week" (2013-W01, of ISO 8601,
        from Monday), "day" (2013-01-05), "hour" (2013-01-05 07h). Or what returns: "month of year" (Jan),
        "weekday" (Mon), "hour of day" (07h); hyphens may take the place of spaces.
    name : str, optional
        Name of the mode, by default such as "when by month".

    Raises
    ------
    ValueError
        If `by` is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> from gpualto import Tensor
    >>> days = {"when": np.array(["2013-01-05", "2013-03-01", "2013-01-31"], "datetime64[D]")}
    >>> X = Tensor.from_dataframe(days, [time("when", by="month"), time("when", by="weekday")])
    >>> X.labels[0].entries, X.labels[1].entries
    (('2013-01', '2013-03'), ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'))
    """
    words = str(by).replace("-", " ")
    if words not in TIMES:
        raise ValueError(f"by: expected one of {', '.join(TIMES)}, got {by!r}")
    return TimeBins(column, name or f"{column} by {words}", words)


def number(
    column: str,
    count: int | None = None,
    *,
    edges: Sequence[float] | None = None,
    name: str | None = None,
) -> QuantileBins | EdgeBins:
    """Return bins of the numbers of a column: so many with about equal numbers of rows, or between edges.

    A label ``[0, 15)`` holds 0 and not 15. The last one, ``[15, 60]``, holds both its ends.

    Parameters
    ----------
    column : str
    count : int, optional
        Number of bins. The edges are quantiles that occur as values; equal ones are merged, which leaves
        fewer bins where a value fills more than one.
    edges : sequence of float, optional
        Ends of the bins, increasing. Values outside are an error: begin with ``-inf``, end with ``inf``.
    name : str, optional
        Name of the mode, by default that of the column.

    Raises
    ------
    ValueError
        If not just one of `count` and `edges` is given, or they make no bins.

    Examples
    --------
    >>> from gpualto import Tensor
    >>> delays = {"delay": [3, 0, 15, 700, 60]}
    >>> Tensor.from_dataframe(delays, [number("delay", 2)]).labels[0].entries
    ('[0, 15)', '[15, 700]')
    >>> Tensor.from_dataframe(delays, [number("delay", edges=[0, 15, float("inf")])]).todense()
    array([2., 3.])
    """
    if (count is None) == (edges is None):
        raise ValueError("count, edges: pass one of them, the number of bins or their ends")
    if edges is not None:
        return EdgeBins(column, name or column, _checked(edges))
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise ValueError(f"count: expected a number of bins of at least 1, got {count!r}")
    return QuantileBins(column, name or column, int(count))


def _checked(edges: Sequence[float]) -> tuple[float, ...]:
    numbers = tuple(map(float, edges))
    increasing = all(a < b for a, b in pairwise(numbers))
    if len(numbers) < 2 or not increasing or any(map(math.isnan, numbers)):
        raise ValueError(f"edges: expected two or more increasing numbers, got {list(edges)}")
    return numbers


def _local_times(column: Column, bins: TimeBins) -> Column:
    """Return dates, or timestamps as a clock on the wall shows them."""
    types = pyarrow().types
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = _read_times(column, bins.column)
    if types.is_timestamp(column.type):
        local = pyarrow("pyarrow.compute").local_timestamp(column) if column.type.tz else column
        # In seconds: where a span begins may lie before the first nanosecond of all.
        ticks = local.cast("int64").to_numpy() // _TICKS[local.type.unit]
        return pyarrow().chunked_array([ticks.astype("datetime64[s]")])
    if not types.is_date(column.type):
        raise ValueError(
            f"column {bins.column!r}: bins of time are made of dates and times, got {column.type}; "
            f"convert them first: pandas.to_datetime(df[{bins.column!r}])"
        )
    if bins.by.startswith("hour"):
        raise ValueError(f"column {bins.column!r}: dates have no {bins.by}")
    return column


def _read_times(column: Column, name: str) -> Column:
    """Return texts in ISO form as dates, else as timestamps by the clock of the zone that they name."""
    pa = pyarrow()
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.date32())
    column = pyarrow("pyarrow.compute").replace_substring_regex(column, _ZONE, r"\1")
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.timestamp("us"))
    row = _first_that_fails(column, pa.timestamp("us"))
    raise ValueError(
        f"column {name!r}: {row_text(row)} holds {column[row].as_py()!r}, which is no time in ISO form "
        f"such as 2013-01-05 07:10; write times so, or convert them: pandas.to_datetime(df[{name!r}])"
    )


def _first_that_fails(column: Column, kind: Any) -> int:
    """Return the first row that cannot be cast, by halving where it may be."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(kind)
        except pyarrow().ArrowInvalid:
            high = middle
        else:
            low = middle
    return low


def _cycle(times: Column, bins: TimeBins) -> Coded:
    """Return the number of each time in its cycle, and labels of the whole cycle."""
    function, names = _CYCLES[bins.by]
    numbers = getattr(pyarrow("pyarrow.compute"), function)(times).to_numpy()
    first = int(names[0] == "")  # months count from one
    return Coded(numbers.astype(np.int64) - first, names[first:])


def _span_labels(starts: Any, by: str) -> tuple[str, ...]:
    """Return the labels of spans of time by where they begin."""
    if by == "quarter":
        days = starts.cast("date32", safe=False).to_pylist()
        return tuple(f"{day.year}-Q{(day.month + 2) // 3}" for day in days)
    return tuple(pyarrow("pyarrow.compute").strftime(starts, format=_PERIODS[by]).to_pylist())


def _intervals(numbers: Array, edges: Array) -> Array:
    """Return which interval each number lies in; the last edge belongs to the last interval."""
    places = np.searchsorted(edges, numbers.astype(np.float64), side="right") - 1
    return np.clip(places, 0, max(len(edges) - 2, 0))


def _interval_labels(edges: Array) -> tuple[str, ...]:
    """Return ``[a, b)`` for each interval, ``[a, b]`` for the last; a single edge is both ends of one."""
    ends = [number_text(edge) for edge in edges]
    pairs = list(pairwise(ends)) or [(ends[0], ends[0])]
    return (*(f"[{a}, {b})" for a, b in pairs[:-1]), f"[{pairs[-1][0]}, {pairs[-1][1]}]")
