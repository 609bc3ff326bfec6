"""The body of a ``.tns`` file line by line: slow, exact, and able to say what is wrong and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpualto.io.tns_header import strip_comment

_INTEGER = re.compile(rb"[+-]?[0-9]+")
_LARGEST_INDEX = 2**63 - 1


@dataclass(frozen=True)
class Rules:
    """What the lines of one file have to keep to.

    Parameters
    ----------
    index_base : int
        Smallest index.
    shape : tuple of int, optional
        Length of each mode, where it is declared.
    ndim : int, optional
        Number of modes, where it is known; else the first line decides.
    """

    index_base: int
    shape: tuple[int, ...] | None = None
    ndim: int | None = None


@dataclass(frozen=True)
class Entry:
    """One nonzero: its line, its coordinates counted from 0, its value."""

    line: int
    coordinates: tuple[int, ...]
    value: float


@dataclass(frozen=True)
class Problem:
    """What is wrong with a line; the mode counts from 0."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def scan(body: bytes, lines_before: int, rules: Rules) -> Iterator[Entry | Problem]:
    """Yield every line that is not blank as a nonzero or as what is wrong with it."""
    ndim = rules.ndim or (len(rules.shape) if rules.shape else None)
    for number, line in enumerate(body.split(b"\n"), lines_before + 1):
        fields = strip_comment(line).split()
        if not fields:
            continue
        if ndim is None and len(fields) > 1:
            ndim = len(fields) - 1
        yield _entry(fields, number, ndim or 1, rules)


def _entry(fields: list[bytes], number: int, ndim: int, rules: Rules) -> Entry | Problem:
    if len(fields) != ndim + 1:
        hint = "; they are separated by blanks, not by commas" if b"," in b"".join(fields) else ""
        return Problem(number, f"expected {ndim} indices and a value, got {len(fields)} fields{hint}")
    coordinates = []
    for mode, field in enumerate(fields[:-1]):
        coordinate, complaint = _coordinate(field, mode, rules)
        if complaint:
            return Problem(number, f"mode {mode}: {complaint}")
        coordinates.append(coordinate)
    try:
        value = float(fields[-1]) if b"_" not in fields[-1] else None
    except ValueError:
        value = None
    if value is None:
        return Problem(number, f"the value {_shown(fields[-1])} is not a number")
    return Entry(number, tuple(coordinates), value)


def _coordinate(field: bytes, mode: int, rules: Rules) -> tuple[int, str]:
    """Return a coordinate counted from 0, and what is wrong with it."""
    if not _INTEGER.fullmatch(field):
        return 0, f"the index {_shown(field)} is not an integer"
    index = int(field)
    coordinate = index - rules.index_base
    if coordinate < 0:
        hint = "; use index base 0 if the file counts from 0" if index == 0 else ""
        return 0, f"the index {index} is below the index base {rules.index_base}{hint}"
    if coordinate > _LARGEST_INDEX:
        return 0, f"the index {index} is beyond 2**63"
    if rules.shape and coordinate >= rules.shape[mode]:
        return 0, f"the index {index} is beyond the length {rules.shape[mode]}"
    return coordinate, ""


def _shown(field: bytes) -> str:
    return repr(field[:30].decode(errors="replace"))
