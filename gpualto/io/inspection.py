"""What is wrong with a ``.tns`` file, line by line, and what of it can be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from gpualto.io.maps import lengths_with_labels, read_maps
from gpualto.io.tns import IndexBase, TnsText, open_tns
from gpualto.io.tns_lines import Entry, Problem, scan
from gpualto.labels import ModeLabels
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
    entries : list of Entry
        Nonzeros with a finite value, those that repeat coordinates included.
    unreadable, repeats, mismatches : list of Problem
        Lines that are no such nonzero, lines that repeat the coordinates of another, and declarations of the
        header that the lines do not bear out.
    labels : tuple of ModeLabels
        What lies in label files beside the file.
    """

    index_base: int
    shape: tuple[int, ...]
    entries: list[Entry]
    unreadable: list[Problem]
    repeats: list[Problem]
    mismatches: list[Problem]
    labels: tuple[ModeLabels, ...]

    @property
    def problems(self) -> list[Problem]:
        """All problems in the order of the lines."""
        return sorted(self.unreadable + self.repeats + self.mismatches, key=lambda problem: problem.line)

    def tensor(self) -> Tensor:
        """Return the readable nonzeros as a tensor, repeated coordinates summed."""
        coords = [[entry.coordinates[mode] for entry in self.entries] for mode in range(len(self.shape))]
        values = [entry.value for entry in self.entries]
        return Tensor.from_coo(coords, values, self.shape, labels=self.labels)


def inspect(path: Path, index_base: IndexBase) -> Inspection:
    """Read every line of a file and return what is wrong with it.

    Raises
    ------
    DataFileError
        If the file is damaged, its header cannot be read, or its label files do not fit.
    """
    text = open_tns(path, index_base, None)
    items = list(scan(text.body, text.header.lines, text.rules))
    nonzeros = [item for item in items if isinstance(item, Entry)]
    entries = [entry for entry in nonzeros if math.isfinite(entry.value)]
    unreadable = [item for item in items if isinstance(item, Problem)]
    unreadable += [
        Problem(entry.line, f"the value {entry.value} is not finite")
        for entry in nonzeros
        if not math.isfinite(entry.value)
    ]
    labels = read_maps(path, text.rules.ndim or 1, text.header.names)
    return Inspection(
        index_base=text.rules.index_base,
        shape=lengths_with_labels(path, text.rules.shape, _needed(text, entries), labels),
        entries=entries,
        unreadable=unreadable,
        repeats=_repeats(entries),
        mismatches=_mismatches(text, entries),
        labels=labels,
    )


def _repeats(entries: list[Entry]) -> list[Problem]:
    first_line: dict[tuple[int, ...], int] = {}
    return [
        Problem(entry.line, f"repeats the coordinates of line {first_line[entry.coordinates]}")
        for entry in entries
        if first_line.setdefault(entry.coordinates, entry.line) != entry.line
    ]


def _mismatches(text: TnsText, entries: list[Entry]) -> list[Problem]:
    declared = text.header.nnz
    if declared is None or declared == len(entries):
        return []
    what = f"the header declares {declared} nonzeros, {len(entries)} are readable"
    return [Problem(text.header.lines, what)]


def _needed(text: TnsText, entries: list[Entry]) -> tuple[int, ...]:
    columns = zip(*(entry.coordinates for entry in entries), strict=True)
    return tuple(max(column) + 1 for column in columns) or (0,) * (text.rules.ndim or 1)
