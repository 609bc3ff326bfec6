"""From the rows of a table to the entries of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gpualto._arrays import Array, Coordinates
from gpualto.labels import ModeLabels
from gpualto.tables.binning import Bins
from gpualto.tables.categories import Categories
from gpualto.tables.columns import Missing, Table, as_numbers, columns_of, pyarrow

Aggregate = Literal["sum", "count", "mean", "min", "max"]
"""What becomes of rows of equal coordinates."""

Modes = Sequence[str | Bins]
"""A column, or bins of one, for each mode."""


@dataclass(frozen=True)
class Entries:
    """What `Tensor.from_coo` takes; coordinates do not repeat."""

    coords: Coordinates
    values: Array
    shape: tuple[int, ...]
    labels: tuple[ModeLabels, ...]


def entries_of(
    df: Table, modes: Modes, value: str | None, aggregate: Aggregate, missing: Missing = "error"
) -> Entries:
    """Return the entries of the tensor that a table holds; see `Tensor.from_dataframe`."""
    bins = as_bins(modes)
    _check_aggregate(aggregate, value)
    if missing not in get_args(Missing):
        raise ValueError(f"missing: expected one of {', '.join(get_args(Missing))}, got {missing!r}")
    columns = columns_of(df, names_of(bins, value), missing)
    coded = [item.encode(columns[item.column]) for item in bins]
    values = None if value is None else as_numbers(columns[value], value)
    coords, merged = _aggregate([mode.codes for mode in coded], values, aggregate)
    labels = tuple(ModeLabels(item.name, mode.entries) for item, mode in zip(bins, coded, strict=True))
    return Entries(coords, merged, tuple(len(mode.entries) for mode in coded), labels)


def names_of(bins: Sequence[Bins], value: str | None) -> list[str]:
    """Return the names of the columns that are needed."""
    return [item.column for item in bins] + ([] if value is None else [value])


def as_bins(modes: Modes) -> list[Bins]:
    """Return what makes each mode, checked: a column's name stands for its distinct values."""
    if isinstance(modes, str) or not isinstance(modes, Sequence):
        raise TypeError(f"modes: expected a list of columns, got {modes!r}; write modes=[{modes!r}]")
    for item in modes:
        if not isinstance(item, str) and not hasattr(item, "encode"):
            raise TypeError(f"modes: expected names of columns, or bins of gpualto.bins, got {item!r}")
    bins: list[Bins] = [Categories(item, item) if isinstance(item, str) else item for item in modes]
    names = [item.name for item in bins]
    if not names:
        raise ValueError("modes: a tensor has at least one mode, got none")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"modes: {repeated!r} is there twice")
    return bins


def _check_aggregate(aggregate: Aggregate, value: str | None) -> None:
    if aggregate not in get_args(Aggregate):
        raise ValueError(f"aggregate: expected one of {', '.join(get_args(Aggregate))}, got {aggregate!r}")
    if value is None and aggregate not in ("sum", "count"):
        raise ValueError(f"value: aggregate={aggregate!r} needs a column of values; without one, rows count")


def _aggregate(
    codes: Sequence[Array], values: Array | None, aggregate: Aggregate
) -> tuple[Coordinates, Array]:
    """Return distinct coordinates and what their rows give together."""
    keys = [str(mode) for mode in range(len(codes))]
    columns = dict(zip(keys, codes, strict=True)) | ({} if values is None else {"value": values})
    # Threads would add in an order that changes from run to run.
    groups = pyarrow().table(columns).group_by(keys, use_threads=False)
    if values is None or aggregate == "count":
        merged = groups.aggregate([([], "count_all")])
        found = merged["count_all"].to_numpy().astype(np.float64)
    else:
        merged = groups.aggregate([("value", aggregate)])
        found = merged[f"value_{aggregate}"].to_numpy().astype(values.dtype)
    return tuple(merged[key].to_numpy() for key in keys), found
