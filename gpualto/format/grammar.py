"""From the text of a format to dimensions and levels, with a caret under what is wrong.

The grammar::

    format     = "(" [name {"," name}] ")" "->" "(" [level {"," level}] ")"
    level      = sum ":" type
    sum        = quotient {("+" | "-") quotient}
    quotient   = operand {("/" | "%") number}
    operand    = name | order "(" sum {"," sum} ")" | "(" sum ")"
    order      = "alto" | "morton" | "lin"
    number     = digits ["^" digits]
    type       = word ["(" (number | property {"," property}) ")"]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from gpualto.format.expressions import (
    Difference,
    Dimension,
    Expression,
    Linearized,
    Quotient,
    Remainder,
    Sum,
    walk,
)
from gpualto.format.levels import (
    Batch,
    Compressed,
    Delta,
    Dense,
    Level,
    LevelType,
    Range,
    Singleton,
    Structured,
)
from gpualto.format.linearizers import ORDERS

_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<number>\d+)|(?P<sign>->|[-(),:/%+^])|(?P<wrong>\S))")
_EXAMPLE = "(i, j) -> (i : dense, j : compressed)"

_PLAIN: dict[str, LevelType] = {"dense": Dense(), "batch": Batch(), "range": Range()}
_WITH_PROPERTIES: dict[str, Callable[..., LevelType]] = {"compressed": Compressed, "singleton": Singleton}
_WITH_NUMBER: dict[str, Callable[[int], LevelType]] = {"delta": Delta, "structured": Structured}
_TYPES = (*_PLAIN, *_WITH_PROPERTIES, "delta(bits)", "structured(n)")
_PROPERTIES = {
    "unique": ("unique", True),
    "nonunique": ("unique", False),
    "ordered": ("ordered", True),
    "unordered": ("ordered", False),
}

_MOST_BITS_OF_A_DELTA = 62
_MOST_BITS_OF_A_NUMBER = 1024
_MOST_DIGITS = 300
_MOST_OPERATIONS = 100
"""In one expression, whose tree is walked by recursion."""


class FormatError(ValueError):
    """A format that is not one: says what is wrong, shows the text and points at the place.

    Examples
    --------
    >>> print(FormatError("(i) -> (i : dens)", slice(12, 16), "unknown level type 'dens'"))
    format: unknown level type 'dens'
      (i) -> (i : dens)
                  ^^^^
    """

    def __init__(self, text: str, place: slice, problem: str) -> None:
        marks = " " * place.start + "^" * max(place.stop - place.start, 1)
        super().__init__(f"format: {problem}\n  {text}\n  {marks}")
        self.text, self.place, self.problem = text, place, problem

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, slice, str]]:
        return type(self), (self.text, self.place, self.problem)


@dataclass(frozen=True)
class Declaration:
    """A parsed format: what it says, and where in the text it says so."""

    text: str
    names: tuple[str, ...]
    name_places: tuple[slice, ...]
    levels: tuple[Level, ...]
    level_places: tuple[slice, ...]


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: slice


def parse(text: str) -> Declaration:
    """Parse the text of a format.

    Raises
    ------
    FormatError
        If the text is not in the grammar.

    Examples
    --------
    >>> parse("(i) -> (i / 2^2 : compressed, i % 4 : dense)").levels[0].write("i")
    'i / 4 : compressed'
    """
    if not isinstance(text, str):
        raise TypeError(f"format: expected text such as {_EXAMPLE!r}, got {text!r}")
    return _Parser(re.sub(r"\s", " ", text)).declaration()


class _Parser:
    """Recursive descent: one method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.position = 0
        self.names: dict[str, slice] = {}
        self.operations = 0
        self.within_call = False

    # Rules ----------------------------------------------------------------------------------------------

    def declaration(self) -> Declaration:
        self.expect("(", f"a format begins with its dimensions, as in {_EXAMPLE}; gpualto.formats has names")
        if not self.accept(")"):
            self.dimension()
            while self.accept(","):
                self.dimension()
            self.expect(")", "expected ',' or ')' after a dimension")
        self.expect("->", "expected '->' between the dimensions and the levels")
        self.expect("(", "the levels are in parentheses, as in (i : dense, j : compressed)")
        levels: list[tuple[Level, slice]] = []
        if not self.accept(")"):
            levels.append(self.level())
            while self.accept(","):
                levels.append(self.level())
            self.expect(")", "expected ',' or ')' after a level")
        if self.next.kind != "end":
            self.fail("nothing may follow the levels; remove it")
        return Declaration(
            self.text,
            tuple(self.names),
            tuple(self.names.values()),
            tuple(level for level, _ in levels),
            tuple(place for _, place in levels),
        )

    def dimension(self) -> None:
        token = self.take("name", "expected the name of a dimension, such as i")
        if token.text in self.names:
            self.fail(f"dimension {token.text} is repeated; give each mode its own name", token.place)
        self.names[token.text] = token.place

    def level(self) -> tuple[Level, slice]:
        start = self.next.place.start
        self.operations = 0
        expression = self.sum()
        self.expect(":", "expected ':' and the level's type, as in i : dense")
        level = Level(expression, self.level_type())
        return level, slice(start, self.previous.place.stop)

    def sum(self) -> Expression:
        start = self.next.place.start
        left = self.quotient()
        while self.next.text in ("+", "-"):
            self.count_operation()
            sign = self.advance().text
            right = self.quotient()
            if any(isinstance(part, Linearized) for side in (left, right) for part in walk(side)):
                self.fail("a linear index cannot be added; add dimensions or their parts", self.since(start))
            left = Sum(left, right) if sign == "+" else Difference(left, right)
        return left

    def quotient(self) -> Expression:
        of = self.operand()
        while self.next.text in ("/", "%"):
            self.count_operation()
            sign = self.advance().text
            divisor = self.positive_number("a block size")
            of = Quotient(of, divisor) if sign == "/" else Remainder(of, divisor)
        return of

    def operand(self) -> Expression:
        if self.accept("("):
            self.count_operation()
            inside = self.sum()
            self.expect(")", "expected ')'")
            return inside
        token = self.take("name", "expected a dimension, such as i, or a linearizer, such as alto(i, j)")
        if self.next.text == "(":
            return self.linearized(token)
        if token.text not in self.names:
            known = ", ".join(self.names) or "none"
            self.fail(f"unknown dimension {token.text}; the dimensions are: {known}", token.place)
        return Dimension(tuple(self.names).index(token.text))

    def linearized(self, order: _Token) -> Linearized:
        if self.within_call:
            self.fail("a linearizer takes dimensions or their / and % parts only", order.place)
        if order.text not in ORDERS:
            self.fail(f"unknown linearizer {order.text}{_suggestion(order.text, ORDERS)}", order.place)
        self.advance()
        self.within_call = True
        parts = [self.part()]
        while self.accept(","):
            parts.append(self.part())
        self.within_call = False
        self.expect(")", f"expected ',' or ')' in {order.text}(...)")
        return Linearized(order.text, tuple(parts))

    def part(self) -> Expression:
        start = self.next.place.start
        self.operations = 0
        part = self.sum()
        if any(isinstance(inner, (Sum, Difference, Linearized)) for inner in walk(part)):
            self.fail("a linearizer takes dimensions or their / and % parts only", self.since(start))
        return part

    def level_type(self) -> LevelType:
        token = self.take("name", f"expected a level type: {', '.join(_TYPES)}")
        name = token.text
        if name in _WITH_NUMBER:
            return self.numbered_type(token)
        if name in _WITH_PROPERTIES:
            return _WITH_PROPERTIES[name](**self.properties())
        if name not in _PLAIN:
            names = (*_PLAIN, *_WITH_PROPERTIES, *_WITH_NUMBER)
            self.fail(f"unknown level type {name!r}{_suggestion(name, names)}", token.place)
        if self.next.text == "(":
            self.fail(f"{name} takes no properties; only compressed and singleton do")
        return _PLAIN[name]

    def numbered_type(self, token: _Token) -> LevelType:
        what = "the bits of a gap" if token.text == "delta" else "the places of a parent"
        self.expect("(", f"{token.text} needs {what}, as in {token.text}(2)")
        start = self.next.place.start
        number = self.positive_number(what)
        if token.text == "delta" and number > _MOST_BITS_OF_A_DELTA:
            self.fail(f"a gap has at most {_MOST_BITS_OF_A_DELTA} bits", self.since(start))
        self.expect(")", "expected ')'")
        return _WITH_NUMBER[token.text](number)

    def properties(self) -> dict[str, bool]:
        given: dict[str, bool] = {}
        if not self.accept("("):
            return given
        while True:
            token = self.take("name", f"expected a property: {', '.join(_PROPERTIES)}")
            if token.text not in _PROPERTIES:
                self.fail(
                    f"unknown property {token.text!r}{_suggestion(token.text, _PROPERTIES)}", token.place
                )
            name, value = _PROPERTIES[token.text]
            if name in given:
                self.fail(f"the level says twice whether it is {name}; say it once", token.place)
            given[name] = value
            if not self.accept(","):
                break
        self.expect(")", "expected ',' or ')' after a property")
        return given

    def positive_number(self, what: str) -> int:
        start = self.next.place.start
        number = self.number(f"expected {what}, a number such as 4 or 2^7")
        if self.accept("^"):
            exponent = self.number("expected an exponent, as in 2^7")
            if number.bit_length() * exponent > _MOST_BITS_OF_A_NUMBER:
                self.fail(f"{what} of more than {_MOST_BITS_OF_A_NUMBER} bits", self.since(start))
            number **= exponent
        if number < 1:
            self.fail(f"{what} must be positive, got {number}", self.since(start))
        return number

    def number(self, problem: str) -> int:
        token = self.take("number", problem)
        if len(token.text) > _MOST_DIGITS:
            self.fail(f"a number of more than {_MOST_DIGITS} digits", token.place)
        return int(token.text)

    def count_operation(self) -> None:
        self.operations += 1
        if self.operations > _MOST_OPERATIONS:
            self.fail(f"an expression of more than {_MOST_OPERATIONS} operations", self.next.place)

    # Tokens ---------------------------------------------------------------------------------------------

    @property
    def next(self) -> _Token:
        return self.tokens[self.position]

    @property
    def previous(self) -> _Token:
        return self.tokens[self.position - 1]

    def advance(self) -> _Token:
        self.position += 1
        return self.previous

    def accept(self, text: str) -> bool:
        """Pass over the next token if it is this one."""
        if self.next.text != text:
            return False
        self.position += 1
        return True

    def expect(self, text: str, problem: str) -> None:
        if not self.accept(text):
            self.fail(problem)

    def take(self, kind: str, problem: str) -> _Token:
        if self.next.kind != kind:
            self.fail(problem)
        return self.advance()

    def since(self, start: int) -> slice:
        """Return the place from `start` to the last token passed."""
        return slice(start, self.previous.place.stop)

    def fail(self, problem: str, place: slice | None = None) -> NoReturn:
        if place is None:
            found = "the text ends here" if self.next.kind == "end" else f"found {self.next.text!r}"
            raise FormatError(self.text, self.next.place, f"{problem}; {found}")
        raise FormatError(self.text, place, problem)


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        yield _Token(kind, match[kind], slice(*match.span(kind)))
    end = len(text.rstrip())
    yield _Token("end", "", slice(end, end + 1))


def _suggestion(word: str, known: Collection[str]) -> str:
    near = get_close_matches(word.lower(), known, 1)
    return f"; did you mean {near[0]}?" if near else f"; there are: {', '.join(known)}"
