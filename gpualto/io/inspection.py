"""What is wrong with a ``.tns`` file, line by line, and what of it can be kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpualto.io.tns import IndexBase, TnsText, open_tns
from gpualto.io.tns_lines import Entry, Problem, scan
from gpualto.tensor import Tensor


@dataclass(frozen=True)
class Inspection:
    """The problems of a file, and the nonzeros that are readable.

    Parameters
    ----------
    index_base : int
        What the indices were taken to count from.
    shape : tuple of int
        Length of each mode.
    problems : list of Problem
        In the order of the lines.
    entries : list of Entry
        Nonzeros with a finite value, repeated coordinates included.
    """

    index_base: int
    shape: tuple[int, ...]
    problems: list[Problem]
    entries: list[Entry]

    def tensor(self) -> Tensor:
        """Return the readable nonzeros as a tensor, repeated coordinates summed."""
        coords = [[entry.coordinates[mode] for entry in self.entries] for mode in range(len(self.shape))]
        return Tensor.from_coo(coords, [entry.value for entry in self.entries], self.shape)


def inspect(path: Path, index_base: IndexBase) -> Inspection:
    """Read every line of a file and return what is wrong with it.

    Raises
    ------
    DataFileError
        If the file is damaged, or its header cannot be read.
    """
    text = open_tns(path, index_base, None)
    problems: list[Problem] = []
    entries: list[Entry] = []
    for item in _with_duplicates(scan(text.body, text.header.lines, text.rules)):
        (problems if isinstance(item, Problem) else entries).append(item)  # type: ignore[arg-type]
    problems += _header_problems(text, len(entries))
    return Inspection(text.rules.index_base, _shape(text, entries), problems, entries)


def _with_duplicates(items: Iterable[Entry | Problem]) -> Iterator[Entry | Problem]:
    """Add a problem after each entry that repeats coordinates, and one in place of a value not finite."""
    first_line: dict[tuple[int, ...], int] = {}
    for item in items:
        if isinstance(item, Problem):
            yield item
        elif not math.isfinite(item.value):
            yield Problem(item.line, f"the value {item.value} is not finite")
        else:
            yield item
            first = first_line.setdefault(item.coordinates, item.line)
            if first != item.line:
                yield Problem(item.line, f"repeats the coordinates of line {first}")


def _header_problems(text: TnsText, readable: int) -> list[Problem]:
    declared = text.header.nnz
    if declared is None or declared == readable:
        return []
    return [Problem(text.header.lines, f"the header declares {declared} nonzeros, {readable} are readable")]


def _shape(text: TnsText, entries: list[Entry]) -> tuple[int, ...]:
    if text.rules.shape:
        return text.rules.shape
    columns = zip(*(entry.coordinates for entry in entries), strict=True)
    return tuple(max(column) + 1 for column in columns) or (0,) * (text.rules.ndim or 1)
