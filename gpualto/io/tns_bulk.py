"""The body of a ``.tns`` file at once, by a CSV reader: fast, and of no use for saying what is wrong."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass

import numpy as np

from gpualto._arrays import Array, Coordinates

_COMMENT = re.compile(rb"[#%][^\n]*")
_BLANKS_TO_SPACES = bytes.maketrans(b"\t\v\f", b"   ")

_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Columns:
    """The indices as the file counts them, one int64 array per mode, and the float64 values."""

    indices: Coordinates
    values: Array


class NotCleanError(Exception):
    """The body needs the line reader."""


def parse(body: bytes, ndim: int) -> Columns:
    """Return the columns of a body without errors.

    Raises
    ------
    NotCleanError
        If the reader at hand refuses the body for whatever reason.
    """
    if not body or body.isspace():
        return Columns((np.zeros(0, np.int64),) * ndim, np.zeros(0))
    try:
        return _parse_with_arrow(body, ndim)
    except ModuleNotFoundError:
        return _parse_with_numpy(_COMMENT.sub(b"", body), ndim)


def _parse_with_arrow(body: bytes, ndim: int) -> Columns:
    """Try the body as it is first: looking for what to normalize takes longer than parsing."""
    try:
        return _parse_single_spaced(body, ndim)
    except NotCleanError:
        normalized = _normalize(body)
        if normalized == body:
            raise
        return parse(b"", ndim) if not normalized else _parse_single_spaced(normalized, ndim)


def _normalize(body: bytes) -> bytes:
    """Return the body without comments, its fields separated by single spaces."""
    if b"#" in body or b"%" in body:
        body = _COMMENT.sub(b"", body)
    body = body.translate(_BLANKS_TO_SPACES)
    while b"  " in body:
        body = body.replace(b"  ", b" ")
    return body.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip()


def _parse_single_spaced(body: bytes, ndim: int) -> Columns:
    import pyarrow as pa
    from pyarrow import csv

    names = [f"i{mode}" for mode in range(ndim)] + ["value"]
    types = dict.fromkeys(names[:-1], pa.int64()) | {"value": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(body),
            read_options=csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid as error:
        raise NotCleanError from error
    *indices, values = (column.to_numpy() for column in table.columns)
    return Columns(tuple(indices), values)


def _parse_with_numpy(body: bytes, ndim: int) -> Columns:
    dtype = np.dtype([(f"i{mode}", np.int64) for mode in range(ndim)] + [("value", np.float64)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # such as: parsing an integer by way of a float
            rows = np.loadtxt(io.BytesIO(body), dtype=dtype, comments=None, ndmin=1)
    except (ValueError, Warning) as error:
        raise NotCleanError from error
    return Columns(tuple(rows[f"i{mode}"].copy() for mode in range(ndim)), rows["value"].copy())
