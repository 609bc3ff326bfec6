"""Level types: how a level stores the coordinates of its expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpualto.format.expressions import Expression, write


@dataclass(frozen=True)
class Dense:
    """Every coordinate has a place, which is computed: nothing is stored."""

    def __str__(self) -> str:
        return "dense"


@dataclass(frozen=True)
class Batch:
    """Stored as `Dense`; says that the mode counts tensors and is no part of their geometry."""

    def __str__(self) -> str:
        return "batch"


@dataclass(frozen=True)
class Range:
    """Stored as `Dense`; the mode runs along the diagonal that an earlier level selects."""

    def __str__(self) -> str:
        return "range"


@dataclass(frozen=True)
class Compressed:
    """The coordinates that occur, in `crd`, and where those of each parent begin and end, in `pos`.

    Parameters
    ----------
    unique : bool
        Whether a parent has a coordinate once. If not, every entry has its own place from here on.
    ordered : bool
        Whether a reader may rely on increasing coordinates. What we build is always sorted.
    """

    unique: bool = True
    ordered: bool = True

    def __str__(self) -> str:
        return "compressed" + _write_properties(self.unique, self.ordered)


@dataclass(frozen=True)
class Singleton:
    """One coordinate for each parent, in `crd`; properties as in `Compressed`."""

    unique: bool = True
    ordered: bool = True

    def __str__(self) -> str:
        return "singleton" + _write_properties(self.unique, self.ordered)


@dataclass(frozen=True)
class Delta:
    """As `Compressed`, with the gap to the coordinate before in `crd`, which takes a fixed number of bits.

    A gap that does not fit is bridged by places for cells that nobody gave; their values are zero.
    """

    bits: int

    def __str__(self) -> str:
        return f"delta({self.bits})"


@dataclass(frozen=True)
class Structured:
    """A fixed number of places for each parent; `crd` says which coordinates have them.

    Places left over have the coordinate one past the last.
    """

    count: int

    def __str__(self) -> str:
        return f"structured({self.count})"


LevelType = Dense | Batch | Range | Compressed | Singleton | Delta | Structured

COMPUTED = (Dense, Batch, Range)
"""Types that store nothing: the place is parent * size + coordinate."""

FILLED = (Dense, Batch, Range, Delta, Structured)
"""Types that make places for coordinates that nobody gave."""


@dataclass(frozen=True)
class Level:
    """An expression and the type that stores it."""

    expression: Expression
    type: LevelType

    def write(self, names: Sequence[str]) -> str:
        """Return the text of the level, given the names of the modes."""
        return f"{write(self.expression, names)} : {self.type}"


def _write_properties(unique: bool, ordered: bool) -> str:
    given = ["nonunique"] * (not unique) + ["unordered"] * (not ordered)
    return f"({', '.join(given)})" if given else ""
