"""A format as straight Python code that finds the coordinates of one position after the other, for Numba.

Positions are taken in increasing order, and so are the places of every level above: a compressed level keeps
a cursor on the parent that it is at. All numbers are uint64, negative offsets wrapped around, so that no
operation asks for a sign. Levels have numbers: ``p2`` is the place in level 2, ``c2`` its parent's cursor,
``x2`` its coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
from gpualto.format.indices import NARROW
from gpualto.format.levels import COMPUTED, Compressed, Delta, Singleton, Structured
from gpualto.format.linearizers import RowMajor, linearizer
from gpualto.format.recovery import Add, Join, Step, Subtract, Unpack

_INDENT = "    "
_WORD = 2**64
_CUT = "a linear index of more than 64 bits is cut in two"


class UnwritableError(Exception):
    """A format for which no code is written; the message says why."""


@dataclass(frozen=True)
class Decoder:
    """Code in three parts, and the names of the arrays that it reads.

    Parameters
    ----------
    arrays : tuple of (kind, level, word)
        What the code calls ``pos2``, ``crd2``, ``crd2_1`` (word 1) or ``reach2``.
    start : tuple of str
        Lines that set the cursors for the position `start`.
    body : tuple of str
        Lines of a loop over `position`; they end in coordinates or in ``continue``.
    coordinates : tuple of str
        The name of each mode's coordinate after the body.
    """

    arrays: tuple[tuple[str, int, int], ...]
    start: tuple[str, ...]
    body: tuple[str, ...]
    coordinates: tuple[str, ...]


def write_decoder(format: Format, shape: tuple[int, ...]) -> Decoder:
    """Return the code for a format and a shape.

    Raises
    ------
    UnwritableError
        If a linear index of more than 64 bits is cut in two.
    """
    return _Writer(format, shape).write()


def array_name(kind: str, level: int, word: int) -> str:
    """Return what the code calls an array."""
    return f"{kind}{level}" if word == 0 else f"{kind}{level}_{word}"


@dataclass
class _Writer:
    format: Format
    shape: tuple[int, ...]
    arrays: list[tuple[str, int, int]] = field(default_factory=list)
    start: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    known: dict[Expression, str] = field(default_factory=dict)
    words: dict[Expression, list[str]] = field(default_factory=dict)

    def write(self) -> Decoder:
        last = len(self.format.levels) - 1
        self.start.append(f"p{last} = start")
        self.body.append(f"p{last} = position")
        for number in range(last, -1, -1):
            self.level(number)
        for count, step in enumerate(self.format.steps):
            self.step(step, f"s{count}")
        coordinates = tuple(self.known[Dimension(mode)] for mode in range(len(self.shape)))
        return Decoder(tuple(self.arrays), tuple(self.start), tuple(self.body), coordinates)

    # Levels ---------------------------------------------------------------------------------------------

    def level(self, number: int) -> None:
        """Write the coordinate of a level, and the place in the level above."""
        kind, limits = self.format.levels[number].type, self.format.bounds(self.shape)[number]
        place, above, x = f"p{number}", f"p{number - 1}", f"x{number}"
        if isinstance(kind, COMPUTED):
            size = max(limits.size, 1)
            self.body.append(f"{x} = {place} % U({size})")
            self.climb(above, f"{place} // U({size})")
        elif isinstance(kind, Singleton):
            self.read_coordinate(number, limits)
            self.climb(above, place)
        elif isinstance(kind, Structured):
            self.read_coordinate(number, limits)
            self.body += [f"if {x} == U({limits.size}):", f"{_INDENT}continue"]
            self.climb(above, f"{place} // U({kind.count})")
        else:
            cursor = self.follow_parents(number)
            if isinstance(kind, Delta):
                pos, reach = array_name("pos", number, 0), self.array("reach", number)
                begin = f"U({reach}[U({pos}[{cursor}])])" if number else "U(0)"
                self.body.append(f"{x} = U({reach}[{place} + U(1)]) - {begin} - U(1)")
            else:
                assert isinstance(kind, Compressed)
                self.read_coordinate(number, limits)
            self.climb(above, cursor)
        self.known[self.format.expressions[number]] = x

    def follow_parents(self, number: int) -> str:
        """Write the step of a level's cursor to the parent of the place; the root needs none."""
        if number == 0:
            return ""
        pos, cursor, place = self.array("pos", number), f"c{number}", f"p{number}"
        self.start.append(f"{cursor} = parent_of({pos}, {place})")
        is_beyond = f"U({pos}[{cursor} + U(1)]) <= {place}"
        if self.goes_on_one_by_one(number):
            self.body.append(f"{cursor} += U({is_beyond})")  # without a branch to mispredict
        else:
            self.body += [f"while {is_beyond}:", f"{_INDENT}{cursor} += U(1)"]
        return cursor

    def goes_on_one_by_one(self, number: int) -> bool:
        """Tell whether a place's parent is that of the one before, or the next: no parent is empty."""
        above = self.format.levels[:number]
        stored = all(isinstance(level.type, (Compressed, Singleton)) for level in above)
        return stored and not self.format.is_filled

    def climb(self, above: str, code: str) -> None:
        if above != "p-1":
            self.start.append(f"{above} = {code}")
            self.body.append(f"{above} = {code}")

    def read_coordinate(self, number: int, limits: Bounds) -> None:
        place, x = f"p{number}", f"x{number}"
        if limits.high < NARROW:
            # Through a signed type first, which keeps the sign of an offset.
            self.body.append(f"{x} = U(I({self.array('crd', number)}[{place}]))")
            return
        expression = self.format.expressions[number]
        if not isinstance(expression, Linearized):
            raise UnwritableError(_CUT)
        made = linearizer(expression.order, extents(expression, self.shape))
        count = len(made.groups) if isinstance(made, RowMajor) else len(made.words)
        names = [x, *(f"{x}_{word}" for word in range(1, count))]
        for word, name in enumerate(names):
            self.body.append(f"{name} = U({self.array('crd', number, word)}[{place}])")
        self.words[expression] = names

    def array(self, kind: str, level: int, word: int = 0) -> str:
        self.arrays.append((kind, level, word))
        return array_name(kind, level, word)

    # Coordinates ----------------------------------------------------------------------------------------

    def step(self, step: Step, name: str) -> None:
        """Write what follows from what is known: see `gpualto.format.recovery`."""
        match step:
            case Join(whole, quotient, remainder):
                code = f"{self.value(quotient)} * U({remainder.divisor}) + {self.known[remainder]}"
                self.result(whole, name, code)
            case Subtract(result, total, other):
                self.result(result, name, f"{self.value(total)} - {self.value(other)}")
            case Add(result, total, other):
                self.result(result, name, f"{self.value(total)} + {self.value(other)}")
            case Unpack(call):
                for number, (part, code) in enumerate(self.parts(call, name)):
                    self.result(part, f"{name}_{number}", code)

    def result(self, expression: Expression, name: str, code: str) -> None:
        """Write a value; where padding has positions, skip those for which it is out of bounds."""
        low, high = bounds(expression, self.shape)
        if high >= _WORD:
            raise UnwritableError(_CUT)
        self.known[expression] = name
        self.body.append(f"{name} = {code}")
        if self.format.is_filled:
            self.body += [f"if {name} - U({low % _WORD}) > U({high - low}):", f"{_INDENT}continue"]

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
                    shifted = f" << U({below})" if below else ""
                    pieces.append(f"(gather({word}, U({bits:#x})){shifted})")
                below += bits.bit_count()
            yield part, " | ".join(pieces) or "U(0)"

    def digits(
        self, call: Linearized, made: RowMajor, words: list[str], name: str
    ) -> Iterator[tuple[Expression, str]]:
        codes: dict[int, str] = {}
        for word, group in zip(words, made.groups, strict=True):
            rest = word
            for part in group:
                size = max(made.extents[part], 1)
                codes[part] = f"{rest} % U({size})" if part != group[-1] else rest
                self.body.append(f"{name}_r{part} = {rest} // U({size})")
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
                return f"({self.signed(of, values[0])} // {self.number(of, divisor)})"
            case Remainder(of, divisor):
                return f"U({self.signed(of, values[0])} % {self.number(of, divisor)})"
            case Sum():
                return f"({values[0]} + {values[1]})"
            case Difference():
                return f"({values[0]} - {values[1]})"
            case _:
                raise UnwritableError(f"{expression} would have to be linearized again")

    def signed(self, of: Expression, code: str) -> str:
        return f"I({code})" if bounds(of, self.shape).low < 0 else code

    def number(self, of: Expression, divisor: int) -> str:
        return f"I({divisor})" if bounds(of, self.shape).low < 0 else f"U({divisor})"
