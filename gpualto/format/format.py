"""`Format`: a sound sentence of the format language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gpualto.format.expressions import (
    Bounds,
    Difference,
    Expression,
    Linearized,
    Quotient,
    Remainder,
    Sum,
    bounds,
    is_computable,
    may_be_negative,
    modes,
    simplify,
    walk,
    write,
)
from gpualto.format.grammar import Declaration, FormatError, parse
from gpualto.format.levels import (
    COMPUTED,
    FILLED,
    Batch,
    Compressed,
    Level,
    LevelType,
    Range,
    Singleton,
    Structured,
)
from gpualto.format.recovery import Step, linearized_parts, recover, redundant

_LARGEST_DIVISOR = 2**62


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Format:
    """How a tensor is stored: its dimensions, and a level for each piece of an entry's coordinates.

    Two formats are equal when they store every tensor in the same way; what their dimensions are called and
    how an expression is written does not matter.

    Parameters
    ----------
    text : str
        A sentence of the language; `gpualto.format.grammar` has the grammar.

    Attributes
    ----------
    names : tuple of str
        Names of the modes.
    levels : tuple of Level
        Expression and type of each level.

    Raises
    ------
    FormatError
        If the text is not in the grammar, or if a tensor could not be stored so and read back.

    Examples
    --------
    >>> csr = Format("(i,j)->(i:dense,j:compressed)")
    >>> csr
    Format('(i, j) -> (i : dense, j : compressed)')
    >>> csr == Format("(row, column) -> (row : dense, column : compressed)")
    True
    >>> Format("(i) -> (i / 4 : compressed)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    gpualto.format.grammar.FormatError: format: i / 4 is stored and i % 4 is not: division without modulo; ...
      (i) -> (i / 4 : compressed)
              ^^^^^^^^^^^^^^^^^^
    """

    names: tuple[str, ...]
    levels: tuple[Level, ...] = field(default=())

    def __init__(self, text: str) -> None:
        declaration = parse(text)
        _Soundness(declaration).check()
        object.__setattr__(self, "names", declaration.names)
        object.__setattr__(self, "levels", declaration.levels)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.names)

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """The expression of each level, in the one form that `simplify` gives."""
        return tuple(simplify(level.expression) for level in self.levels)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """How coordinates follow from the levels' expressions: see `gpualto.format.recovery`."""
        return recover(self.expressions)[0]

    @property
    def last_type(self) -> LevelType | None:
        """Type of the last level, which decides what a position is; None for a scalar."""
        return self.levels[-1].type if self.levels else None

    @property
    def is_filled(self) -> bool:
        """Whether there are positions for cells that nobody gave, such as the zeros of a dense level."""
        return not self.levels or isinstance(self.last_type, FILLED)

    @property
    def tells_zeros(self) -> bool:
        """Whether an explicit zero can be told from what fills up a level."""
        return not self.is_filled or isinstance(self.last_type, Structured)

    @property
    def is_alto(self) -> bool:
        """Whether this is how `gpualto.Tensor` stores its nonzeros."""
        return self == Format(_alto_text(self.names)) if self.names else False

    def bounds(self, shape: Sequence[int]) -> tuple[Bounds, ...]:
        """Return the smallest and the largest coordinate of each level.

        Examples
        --------
        >>> diagonals = Format("(i, j) -> (j-i : compressed, i : range)")
        >>> [limits.size for limits in diagonals.bounds((5, 7))]
        [11, 5]
        """
        return tuple(bounds(level.expression, shape) for level in self.levels)

    def __eq__(self, other: object) -> bool:
        return self._meaning == other._meaning if isinstance(other, Format) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._meaning)

    @property
    def _meaning(self) -> tuple[object, ...]:
        types = (level.type for level in self.levels)
        return self.ndim, tuple(zip(self.expressions, types, strict=True))

    def __str__(self) -> str:
        levels = ", ".join(level.write(self.names) for level in self.levels)
        return f"({', '.join(self.names)}) -> ({levels})"

    def __repr__(self) -> str:
        return f"Format({str(self)!r})"

    def __reduce__(self) -> tuple[type[Format], tuple[str]]:
        return type(self), (str(self),)


def as_format(format: Format | str) -> Format:
    """Return a format, given as one or as text."""
    if isinstance(format, Format):
        return format
    if callable(format):
        name = getattr(format, "__name__", "that")
        raise TypeError(f"format: {name} makes a format; call it, as in formats.{name}()")
    return Format(format)


def _alto_text(names: Sequence[str]) -> str:
    dimensions = ", ".join(names)
    return f"({dimensions}) -> (alto({dimensions}) : compressed)"


class _Soundness:
    """The rules that a parsed format keeps to, one method each.

    Together they say that entries can be put in place and coordinates read back: every dimension follows from
    the levels, no level repeats what others say, and each level's type can hold what it is given.
    """

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.levels = declaration.levels
        self.names = declaration.names
        self.expressions = [simplify(level.expression) for level in self.levels]

    def check(self) -> None:
        """Raise `FormatError` for the first rule that is broken."""
        self.every_dimension_is_used()
        self.sides_are_apart()
        for number, level in enumerate(self.levels):
            self.divisors_are_small(number)
            self.range_follows_its_diagonal(number)
            self.batches_lead(number, level)
            self.singleton_has_a_nonunique_parent(number, level)
            self.places_are_not_multiplied(number, level)
            self.offsets_are_stored(number, level)
        self.division_precedes_modulo()
        self.every_dimension_is_recovered()
        self.nothing_is_stored_twice()

    # What is stored -------------------------------------------------------------------------------------

    def every_dimension_is_used(self) -> None:
        used = set().union(*(modes(expression) for expression in self.expressions))
        for mode, name in enumerate(self.names):
            if mode not in used:
                problem = (
                    f"dimension {name} is unused: no level stores it; add a level such as {name} : compressed"
                )
                raise FormatError(self.declaration.text, self.declaration.name_places[mode], problem)

    def sides_are_apart(self) -> None:
        for number, level in enumerate(self.levels):
            for part in walk(level.expression):
                if isinstance(part, (Sum, Difference)) and modes(part.left) & modes(part.right):
                    self.fail(number, f"both sides of {self.write(part)} are about one dimension; use two")

    def divisors_are_small(self, number: int) -> None:
        for part in walk(self.levels[number].expression):
            if not isinstance(part, (Quotient, Remainder)) or any(linearized_parts(part.of)):
                continue
            if part.divisor > _LARGEST_DIVISOR:
                self.fail(number, f"the block size {part.divisor} exceeds 2^62, the largest")

    def division_precedes_modulo(self) -> None:
        for number in range(len(self.levels)):
            _, known = recover(self.expressions[: number + 1])
            for part in walk(self.expressions[number]):
                if isinstance(part, Remainder):
                    quotient = simplify(Quotient(part.of, part.divisor))
                    if not is_computable(quotient, dict.fromkeys(known)):
                        self.fail(number, self.why_no_quotient(part, quotient))

    def why_no_quotient(self, remainder: Remainder, quotient: Expression) -> str:
        """Say what is wrong with a remainder whose quotient no earlier level stores."""
        stored = list(_all_parts(self.expressions))
        what, needed = self.write(remainder), self.write(quotient)
        if quotient in stored:
            return f"{what} stands before {needed}: modulo before division; swap them"
        for other in stored:
            if isinstance(other, Quotient) and other.of == remainder.of:
                return (
                    f"{what} does not belong to {self.write(other)}: the modulo differs from the divisor; "
                    "use one number for both"
                )
        return f"{what} is stored and {needed} is not: modulo without division; add {needed} before it"

    def every_dimension_is_recovered(self) -> None:
        _, known = recover(self.expressions)
        for mode, name in enumerate(self.names):
            if not any(_is_dimension(expression, mode) for expression in known):
                self.fail(*self.why_not_recovered(mode, name))

    def why_not_recovered(self, mode: int, name: str) -> tuple[int, str]:
        """Say which level leaves a dimension unknown."""
        stored = list(_all_parts(self.expressions))
        number = next(n for n, expression in enumerate(self.expressions) if mode in modes(expression))
        for candidate, expression in enumerate(self.expressions):
            for part in walk(expression):
                if isinstance(part, Quotient) and mode in modes(part):
                    remainder = Remainder(part.of, part.divisor)
                    if remainder not in stored:
                        what, needed = self.write(part), self.write(remainder)
                        return candidate, (
                            f"{what} is stored and {needed} is not: division without modulo; add {needed}"
                        )
        what = self.write(self.expressions[number])
        return (
            number,
            f"dimension {name} does not follow from {what} and the other levels; add {name}",
        )

    def nothing_is_stored_twice(self) -> None:
        calls = [(n, call) for n, e in enumerate(self.expressions) for call in linearized_parts(e)]
        for number, call in calls:
            repeated = redundant(call.parts)
            if repeated is not None:
                what = self.write(call.parts[repeated])
                self.fail(number, f"{what} repeats what other parts of {call.order}(...) say; leave it out")
        pieces = [(n, piece) for n, e in enumerate(self.expressions) for piece in _pieces(e)]
        repeated = redundant([piece for _, piece in pieces])
        if repeated is not None:
            number, piece = pieces[repeated]
            self.fail(
                number, f"{self.write(piece)} is stored twice: it follows from other levels; leave it out"
            )

    # How it is stored -----------------------------------------------------------------------------------

    def range_follows_its_diagonal(self, number: int) -> None:
        if not isinstance(self.levels[number].type, Range):
            return
        expression = self.expressions[number]
        diagonals = [
            other
            for other, stored in enumerate(self.expressions)
            if any(
                isinstance(part, (Sum, Difference)) and expression in (part.left, part.right)
                for part in walk(stored)
            )
        ]
        what = self.write(expression)
        if isinstance(expression, (Sum, Difference)):
            self.fail(number, f"a range runs over a dimension, after a level of {what}; use compressed here")
        if not diagonals:
            self.fail(number, f"range without a sum or difference of {what}, such as j-i; use dense")
        if diagonals[0] > number:
            diagonal = self.write(self.expressions[diagonals[0]])
            self.fail(number, f"the range stands before its sum or difference {diagonal}; swap them")

    def batches_lead(self, number: int, level: Level) -> None:
        before = [other.type for other in self.levels[:number]]
        if isinstance(level.type, Batch) and not all(isinstance(other, Batch) for other in before):
            self.fail(number, "batch levels come before all others; move it to the front or use dense")

    def singleton_has_a_nonunique_parent(self, number: int, level: Level) -> None:
        if not isinstance(level.type, Singleton) or _places_are_entries(self.levels[:number]):
            return
        parent = f"{self.levels[number - 1].type} level" if number else "root"
        self.fail(
            number,
            f"singleton stores one coordinate for each parent, but the parent, a {parent}, can have none or "
            "several; use compressed, or make the parent compressed(nonunique)",
        )

    def places_are_not_multiplied(self, number: int, level: Level) -> None:
        if not isinstance(level.type, (Compressed, Singleton)) and _places_are_entries(self.levels[:number]):
            self.fail(
                number,
                f"{level.type} below a nonunique level would store cells several times; "
                "use singleton, or make the parent unique",
            )

    def offsets_are_stored(self, number: int, level: Level) -> None:
        if not isinstance(level.type, (Compressed, Singleton)) and may_be_negative(level.expression):
            what = self.write(level.expression)
            how = (
                "counts places from zero" if isinstance(level.type, COMPUTED) else "holds no negative numbers"
            )
            self.fail(number, f"{what} can be negative and {level.type} {how}; use compressed")

    # Saying so ------------------------------------------------------------------------------------------

    def write(self, expression: Expression) -> str:
        return write(expression, self.names)

    def fail(self, number: int, problem: str) -> None:
        raise FormatError(self.declaration.text, self.declaration.level_places[number], problem)


def _places_are_entries(levels: Sequence[Level]) -> bool:
    """Tell whether each entry has its own place, since some level above is compressed(nonunique)."""
    return any(isinstance(level.type, Compressed) and not level.type.unique for level in levels)


def _pieces(expression: Expression) -> tuple[Expression, ...]:
    """Return the parts of a linear index, which all follow from it, or the expression itself."""
    return expression.parts if isinstance(expression, Linearized) else (expression,)


def _all_parts(expressions: Sequence[Expression]) -> list[Expression]:
    return [part for expression in expressions for part in walk(expression)]


def _is_dimension(expression: Expression, mode: int) -> bool:
    return modes(expression) == {mode} and not list(walk(expression))[1:]
