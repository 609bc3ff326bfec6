"""A format as straight code that finds the coordinates of a position, in Python for Numba and in CUDA C++.

All numbers are uint64, negative offsets wrapped around, so that no operation asks for a sign. Levels have
numbers: ``p2`` is the place in level 2, ``c2`` its parent, ``x2`` its coordinate. What differs between
languages is in a `Dialect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from gpualto._arrays import Array
from gpualto.format.expressions import (
    Bounds,
    Difference,
    Dimension,
    Expression,
    Linearized,
    Quotient,
    Remainder,
    Sum,
    bounds,
    extents,
    operands,
)
from gpualto.format.format import Format
from gpualto.format.indices import NARROW, words_of
from gpualto.format.levels import COMPUTED, Compressed, Delta, Singleton, Structured
from gpualto.format.linearizers import RowMajor, linearizer, word_count
from gpualto.format.recovery import Add, Join, Step, Subtract, Unpack
from gpualto.format.storage import StoredTensor

_WORD = 2**64
_CUT = "a linear index of more than 64 bits is cut in two"


class UnwritableError(Exception):
    """A format for which no code is written; the message says why."""


class Dialect(Protocol):
    """How a language says what a decoder does; ``U(...)`` and ``I(...)`` cast to uint64 and int64 in all."""

    def number(self, number: int) -> str:
        """Return an unsigned constant."""

    def assign(self, name: str, code: str) -> str:
        """Return a line that gives a new name to a value."""

    def skip_if(self, condition: str) -> list[str]:
        """Return lines that leave a position out."""

    def quotient(self, left: str, right: str, *, signed: bool) -> str:
        """Return a quotient, rounded down."""

    def remainder(self, left: str, right: str, *, signed: bool) -> str:
        """Return a remainder that is not negative."""

    def gather(self, word: str, mask: int) -> str:
        """Return the bits of a word that a mask selects."""

    def find_parent(
        self, pos: str, parent: str, place: str, *, one_by_one: bool
    ) -> tuple[list[str], list[str]]:
        """Return lines before the loop, and in it, that find the parent of a place.

        `one_by_one` says that it is the parent of the place before, or the next one.
        """


@dataclass(frozen=True)
class Decoder:
    """Code in three parts, and the names of the arrays that it reads.

    Parameters
    ----------
    arrays : tuple of (kind, level, word)
        What the code calls ``pos2``, ``crd2``, ``crd2_1`` (word 1) or ``reach2``.
    start : tuple of str
        Lines before a loop that begins at the position `start`.
    body : tuple of str
        Lines for one `position`; they end in its coordinates, or leave it out.
    coordinates : tuple of str
        The name of each mode's coordinate after the body.
    """

    arrays: tuple[tuple[str, int, int], ...]
    start: tuple[str, ...]
    body: tuple[str, ...]
    coordinates: tuple[str, ...]


@lru_cache(maxsize=256)
def write_decoder(format: Format, shape: tuple[int, ...], dialect: Dialect) -> Decoder:
    """Return the code for a format and a shape.

    Raises
    ------
    UnwritableError
        If a linear index of more than 64 bits is cut in two.
    """
    return _Writer(format, shape, dialect).write()


def array_name(kind: str, level: int, word: int) -> str:
    """Return what the code calls an array."""
    return f"{kind}{level}" if word == 0 else f"{kind}{level}_{word}"


def arrays_of(X: StoredTensor, decoder: Decoder) -> Iterator[Array]:
    """Yield the arrays that a decoder reads, in its order."""
    for kind, level, word in decoder.arrays:
        arrays = X.levels[level]
        yield arrays.pos if kind == "pos" else arrays.reach if kind == "reach" else words_of(arrays.crd)[word]


@dataclass
class _Writer:
    format: Format
    shape: tuple[int, ...]
    dialect: Dialect
    arrays: list[tuple[str, int, int]] = field(default_factory=list)
    start: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    known: dict[Expression, str] = field(default_factory=dict)
    words: dict[Expression, list[str]] = field(default_factory=dict)

    def write(self) -> Decoder:
        last = len(self.format.levels) - 1
        self.start.append(self.dialect.assign(f"p{last}", "start"))
        self.let(f"p{last}", "position")
        for number in range(last, -1, -1):
            self.level(number)
        for count, step in enumerate(self.format.steps):
            self.step(step, f"s{count}")
        coordinates = tuple(self.known[Dimension(mode)] for mode in range(len(self.shape)))
        return Decoder(tuple(self.arrays), tuple(self.start), tuple(self.body), coordinates)

    def let(self, name: str, code: str) -> None:
        self.body.append(self.dialect.assign(name, code))

    # Levels ---------------------------------------------------------------------------------------------

    def level(self, number: int) -> None:
        """Write the coordinate of a level, and the place in the level above."""
        kind, limits = self.format.levels[number].type, self.format.bounds(self.shape)[number]
        place, above, x = f"p{number}", f"p{number - 1}", f"x{number}"
        if isinstance(kind, COMPUTED):
            size = self.dialect.number(max(limits.size, 1))
            self.let(x, self.dialect.remainder(place, size, signed=False))
            self.climb(above, self.dialect.quotient(place, size, signed=False))
        elif isinstance(kind, Singleton):
            self.read_coordinate(number, limits)
            self.climb(above, place)
        elif isinstance(kind, Structured):
            self.read_coordinate(number, limits)
            self.body += self.dialect.skip_if(f"{x} == {self.dialect.number(limits.size)}")
            self.climb(above, self.dialect.quotient(place, self.dialect.number(kind.count), signed=False))
        else:
            cursor = self.follow_parents(number)
            if isinstance(kind, Delta):
                pos, reach = array_name("pos", number, 0), self.array("reach", number)
                zero, one = self.dialect.number(0), self.dialect.number(1)
                begin = f"U({reach}[U({pos}[{cursor}])])" if number else zero
                self.let(x, f"U({reach}[{place} + {one}]) - {begin} - {one}")
            else:
                assert isinstance(kind, Compressed)
                self.read_coordinate(number, limits)
            self.climb(above, cursor)
        self.known[self.format.expressions[number]] = x

    def follow_parents(self, number: int) -> str:
        """Write how the parent of a level's place is found; the root needs none."""
        if number == 0:
            return ""
        pos, parent, place = self.array("pos", number), f"c{number}", f"p{number}"
        one_by_one = self.goes_on_one_by_one(number)
        before, inside = self.dialect.find_parent(pos, parent, place, one_by_one=one_by_one)
        self.start += before
        self.body += inside
        return parent

    def goes_on_one_by_one(self, number: int) -> bool:
        """Tell whether a place's parent is that of the one before, or the next: no parent is empty."""
        above = self.format.levels[:number]
        stored = all(isinstance(level.type, (Compressed, Singleton)) for level in above)
        return stored and not self.format.is_filled

    def climb(self, above: str, code: str) -> None:
        if above != "p-1":
            self.start.append(self.dialect.assign(above, code))
            self.let(above, code)

    def read_coordinate(self, number: int, limits: Bounds) -> None:
        place, x = f"p{number}", f"x{number}"
        if limits.high < NARROW:
            # Through a signed type first, which keeps the sign of an offset.
            self.let(x, f"U(I({self.array('crd', number)}[{place}]))")
            return
        expression = self.format.expressions[number]
        if not isinstance(expression, Linearized):
            raise UnwritableError(_CUT)
        count = word_count(expression.order, extents(expression, self.shape))
        names = [x, *(f"{x}_{word}" for word in range(1, count))]
        for word, name in enumerate(names):
            self.let(name, f"U({self.array('crd', number, word)}[{place}])")
        self.words[expression] = names

    def array(self, kind: str, level: int, word: int = 0) -> str:
        self.arrays.append((kind, level, word))
        return array_name(kind, level, word)

    # Coordinates ----------------------------------------------------------------------------------------

    def step(self, step: Step, name: str) -> None:
        """Write what follows from what is known: see `gpualto.format.recovery`."""
        match step:
            case Join(whole, quotient, remainder):
                self.result(whole, name, self.joined(whole, quotient, remainder))
            case Subtract(result, total, other):
                self.result(result, name, f"{self.value(total)} - {self.value(other)}")
            case Add(result, total, other):
                self.result(result, name, f"{self.value(total)} + {self.value(other)}")
            case Unpack(call):
                for number, (part, code) in enumerate(self.parts(call, name)):
                    self.result(part, f"{name}_{number}", code)

    def joined(self, whole: Expression, quotient: Expression, remainder: Remainder) -> str:
        if self.is_below(whole, remainder.divisor):
            return self.known[remainder]
        divisor = self.dialect.number(remainder.divisor)
        return f"{self.value(quotient)} * {divisor} + {self.known[remainder]}"

    def result(self, expression: Expression, name: str, code: str) -> None:
        """Write a value; where padding has positions, skip those for which it is out of bounds."""
        low, high = bounds(expression, self.shape)
        if high >= _WORD:
            raise UnwritableError(_CUT)
        self.known[expression] = name
        self.let(name, code)
        if self.format.is_filled:
            offset = f" - {self.dialect.number(low % _WORD)}" if low else ""
            self.body += self.dialect.skip_if(f"{name}{offset} > {self.dialect.number(high - low)}")

    def parts(self, call: Linearized, name: str) -> Iterator[tuple[Expression, str]]:
        """Yield each part of a linear index, and its code."""
        lengths = extents(call, self.shape)
        made = linearizer(call.order, lengths)
        words = self.words.get(call, [self.known[call]])
        if isinstance(made, RowMajor):
            yield from self.digits(call, made, words, name)
            return
        for part, mask in zip(call.parts, made.masks, strict=True):
            pieces, below = [], 0
            for number, word in enumerate(words):
                bits = mask >> (64 * number) & (2**64 - 1)
                if bits:
                    shifted = f" << {self.dialect.number(below)}" if below else ""
                    pieces.append(f"({self.dialect.gather(word, bits)}{shifted})")
                below += bits.bit_count()
            yield part, " | ".join(pieces) or self.dialect.number(0)

    def digits(
        self, call: Linearized, made: RowMajor, words: list[str], name: str
    ) -> Iterator[tuple[Expression, str]]:
        codes: dict[int, str] = {}
        for word, group in zip(words, made.groups, strict=True):
            rest = word
            for part in group:
                if part == group[-1]:
                    codes[part] = rest
                    break
                size = self.dialect.number(max(made.extents[part], 1))
                codes[part] = self.dialect.remainder(rest, size, signed=False)
                self.let(f"{name}_r{part}", self.dialect.quotient(rest, size, signed=False))
                rest = f"{name}_r{part}"
        for part, expression in enumerate(call.parts):
            yield expression, codes[part]

    def value(self, expression: Expression) -> str:
        """Return the code of an expression of what is known."""
        if expression in self.known:
            return self.known[expression]
        values = [self.value(operand) for operand in operands(expression)]
        match expression:
            case Quotient(of, divisor):
                below = self.dialect.number(0)
                return self.divided(self.dialect.quotient, of, values[0], divisor, below)
            case Remainder(of, divisor):
                return self.divided(self.dialect.remainder, of, values[0], divisor, values[0])
            case Sum():
                return f"({values[0]} + {values[1]})"
            case Difference():
                return f"({values[0]} - {values[1]})"
            case _:
                raise UnwritableError(f"{expression} would have to be linearized again")

    def is_below(self, expression: Expression, divisor: int) -> bool:
        """Tell whether a quotient is always zero; the divisor may be more than a word holds."""
        low, high = bounds(expression, self.shape)
        return low >= 0 and high < divisor

    def divided(
        self, operation: Callable[..., str], of: Expression, code: str, divisor: int, below: str
    ) -> str:
        if self.is_below(of, divisor):
            return below
        if bounds(of, self.shape).low < 0:
            return f"U({operation(f'I({code})', f'I({divisor})', signed=True)})"
        return operation(code, self.dialect.number(divisor), signed=False)
