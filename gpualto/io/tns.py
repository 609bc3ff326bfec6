"""The FROSTT ``.tns`` format: a nonzero a line, its indices and its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np

from gpualto._arrays import Array, Coordinates, as_shape
from gpualto.io import tns_bulk
from gpualto.io.files import DataFileError, read_bytes
from gpualto.io.tns_header import Header, comment_lines, read_header, strip_comment
from gpualto.io.tns_lines import Entry, Problem, Rules, scan
from gpualto.labels import ModeLabels
from gpualto.tensor import Tensor

IndexBase = Literal[0, 1, "auto"]

_LINES_PER_WRITE = 1 << 16


@dataclass(frozen=True)
class TnsData:
    """What a file says: coordinates counted from 0, values, shape and names where they are declared."""

    coords: Coordinates
    values: Array
    shape: tuple[int, ...] | None
    names: tuple[str | None, ...] | None


@dataclass(frozen=True)
class TnsText:
    """The text of a file taken apart: its header, its body, and the rules that the body has to keep to."""

    name: str
    header: Header
    body: bytes
    rules: Rules


def read_tns(path: Path, index_base: IndexBase = 1, shape: Sequence[int] | None = None) -> TnsData:
    """Read coordinates and values, exactly; see `gpualto.read`."""
    text = open_tns(path, index_base, shape)
    data = _read_bulk(text) or _read_lines(text)
    declared = text.header.nnz
    if declared is not None and declared != data.values.size:
        raise DataFileError(
            f"{path}: the header declares {declared} nonzeros, the file has {data.values.size}"
        )
    return data


def open_tns(path: Path, index_base: IndexBase, shape: Sequence[int] | None) -> TnsText:
    """Read a file as far as needed to know its rules: header, index base, shape, number of modes."""
    if index_base not in (0, 1, "auto"):
        raise ValueError(f'index_base: expected 0, 1 or "auto", got {index_base!r}')
    content = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    header = read_header(content, str(path))
    body = content[header.offset :]
    declared = as_shape(shape) if shape is not None else header.shape
    rules = Rules(
        index_base=_resolve_base(index_base, header, body, str(path)),
        shape=declared,
        ndim=len(declared) if declared else _count_modes(body),
    )
    return TnsText(str(path), header, body, rules)


def _resolve_base(index_base: IndexBase, header: Header, body: bytes, name: str) -> int:
    """Return one index base for the whole file: the header's word, else what is asked for."""
    if header.index_base is not None:
        if index_base == 0 and header.index_base == 1:
            raise ValueError(f"index_base: 0 was given, and the header of {name} says that it is 1")
        return header.index_base
    if index_base != "auto":
        return index_base
    return 0 if _has_index_zero(body) else 1


def _has_index_zero(body: bytes) -> bool:
    try:
        columns = tns_bulk.parse(body, _count_modes(body) or 1)
    except tns_bulk.NotCleanError:
        entries = scan(body, 0, Rules(index_base=0))
        return any(0 in entry.coordinates for entry in entries if isinstance(entry, Entry))
    return any(bool((column == 0).any()) for column in columns.indices)


def _count_modes(body: bytes) -> int | None:
    """Return the number of modes by the first line that is not blank, None without such a line."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start) + 1 or len(body)
        fields = strip_comment(body[start:end]).split()
        if fields:
            return max(len(fields) - 1, 1)
        start = end
    return None


def _read_bulk(text: TnsText) -> TnsData | None:
    """Return the data of a clean file, None where the line reader has to decide."""
    rules = text.rules
    if rules.ndim is None:
        raise DataFileError(f"{text.name}: has no nonzeros and declares no shape: a header or shape= has to")
    try:
        columns = tns_bulk.parse(text.body, rules.ndim)
    except tns_bulk.NotCleanError:
        return None
    lengths = rules.shape or (2**63,) * rules.ndim
    base = rules.index_base
    for column, length in zip(columns.indices, lengths, strict=True):
        if column.min(initial=base) < base or int(column.max(initial=base)) - base >= max(length, 1):
            return None
    return TnsData(
        tuple(column - base for column in columns.indices), columns.values, rules.shape, text.header.names
    )


def _read_lines(text: TnsText) -> TnsData:
    """Return the data of a file that the bulk reader refuses, or raise for its first problem."""
    coordinates: list[tuple[int, ...]] = []
    values: list[float] = []
    for item in scan(text.body, text.header.lines, text.rules):
        if isinstance(item, Problem):
            raise DataFileError(f"{text.name}: {item}")
        coordinates.append(item.coordinates)
        values.append(item.value)
    coords = np.array(coordinates, np.int64).reshape(len(values), text.rules.ndim or 1).T
    return TnsData(tuple(coords), np.array(values), text.rules.shape, text.header.names)


def write_tns(file: BinaryIO, X: Tensor, index_base: int) -> None:
    """Write a tensor with its shape and its modes' names in comments, so that both come back."""
    is_labelled = any(item != ModeLabels() for item in X.labels)
    names = [item.name for item in X.labels] if is_labelled else None
    file.write(comment_lines(X.shape, X.nnz, names).encode())
    for start in range(0, X.nnz, _LINES_PER_WRITE):
        file.write(_lines_of(X, slice(start, start + _LINES_PER_WRITE), index_base))


def _lines_of(X: Tensor, positions: slice, index_base: int) -> bytes:
    """Return the lines of some nonzeros; values keep every digit that they need."""
    columns = [[str(c + index_base) for c in coordinate.tolist()] for coordinate in X.decode(positions)]
    rows = zip(*columns, map(str, X.values[positions]), strict=True)
    return "".join(f"{' '.join(row)}\n" for row in rows).encode()
