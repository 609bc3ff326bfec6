"""Expressions: what a level stores of a tensor's coordinates, as a tree and its value on arrays.

Trees are made of frozen dataclasses, so that equal ones compare equal and each can be a key. A dimension is
its mode number: names live in the format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpualto._arrays import array_module
from gpualto.format.indices import (
    NARROW,
    Column,
    column_of,
    length_of,
    lowest_bits,
    shift_right,
    words_of,
)
from gpualto.format.linearizers import index_size, linearizer


@dataclass(frozen=True)
class Dimension:
    """The coordinate of one mode: ``i``."""

    mode: int


@dataclass(frozen=True)
class Quotient:
    """The number of the block: ``i / 4``, rounded down."""

    of: Expression
    divisor: int


@dataclass(frozen=True)
class Remainder:
    """The place in the block: ``i % 4``."""

    of: Expression
    divisor: int


@dataclass(frozen=True)
class Sum:
    """The number of the antidiagonal: ``i+j``."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Difference:
    """The number of the diagonal: ``j-i``, negative ones first."""

    left: Expression
    right: Expression


@dataclass(frozen=True)
class Linearized:
    """One index made of several parts: ``alto(i, j, k)``."""

    order: str
    parts: tuple[Expression, ...]


Expression = Dimension | Quotient | Remainder | Sum | Difference | Linearized


class Bounds(NamedTuple):
    """The smallest and the largest value of an expression, as exact integers."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """Number of integers from the smallest to the largest."""
        return max(self.high - self.low + 1, 0)


# What an expression is ------------------------------------------------------------------------------------


def operands(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that an expression is made of."""
    match expression:
        case Dimension():
            return ()
        case Quotient(of, _) | Remainder(of, _):
            return (of,)
        case Sum(left, right) | Difference(left, right):
            return (left, right)
        case Linearized(_, parts):
            return parts


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all that it is made of."""
    yield expression
    for operand in operands(expression):
        yield from walk(operand)


def modes(expression: Expression) -> frozenset[int]:
    """Return the modes that an expression is about."""
    return frozenset(part.mode for part in walk(expression) if isinstance(part, Dimension))


def may_be_negative(expression: Expression) -> bool:
    """Tell whether an expression has negative values in some shape."""
    if isinstance(expression, (Difference, Remainder)):
        return isinstance(expression, Difference)
    return any(map(may_be_negative, operands(expression)))


def write(expression: Expression, names: Sequence[str]) -> str:
    """Return the text of an expression, given the names of the modes.

    Examples
    --------
    >>> write(Quotient(Difference(Dimension(1), Dimension(0)), 4), "ij")
    '(j-i) / 4'
    >>> write(Linearized("alto", (Quotient(Dimension(0), 128), Dimension(1))), "ij")
    'alto(i / 128, j)'
    """
    match expression:
        case Dimension(mode):
            return names[mode]
        case Quotient(of, divisor):
            return f"{_write_factor(of, names)} / {_write_number(divisor)}"
        case Remainder(of, divisor):
            return f"{_write_factor(of, names)} % {_write_number(divisor)}"
        case Sum(left, right):
            return _write_sum("+", left, right, names)
        case Difference(left, right):
            return _write_sum("-", left, right, names)
        case Linearized(order, parts):
            return f"{order}({', '.join(write(part, names) for part in parts)})"


def _write_factor(expression: Expression, names: Sequence[str]) -> str:
    text = write(expression, names)
    return f"({text})" if isinstance(expression, (Sum, Difference)) else text


def _write_sum(sign: str, left: Expression, right: Expression, names: Sequence[str]) -> str:
    short = isinstance(left, Dimension) and isinstance(right, Dimension)
    return f"{write(left, names)}{sign if short else f' {sign} '}{_write_factor(right, names)}"


def _write_number(number: int) -> str:
    """Write large powers of two as such."""
    bits = number.bit_length() - 1
    return f"2^{bits}" if number == 1 << bits and bits > 10 else str(number)


def simplify(expression: Expression) -> Expression:
    """Return the one form of expressions that differ in how a quotient, remainder or sum is written.

    Examples
    --------
    >>> i = Dimension(0)
    >>> simplify(Quotient(Quotient(i, 4), 2))
    Quotient(of=Dimension(mode=0), divisor=8)
    >>> simplify(Quotient(Remainder(i, 8), 2)) == simplify(Remainder(Quotient(i, 2), 4))
    True
    """
    match expression:
        case Quotient(of, divisor):
            return _simplify_quotient(simplify(of), divisor)
        case Remainder(of, divisor):
            inner = simplify(of)
            if isinstance(inner, Remainder) and inner.divisor % divisor == 0:
                inner = inner.of
            return Remainder(inner, divisor)
        case Sum(left, right):
            first, second = sorted((simplify(left), simplify(right)), key=repr)
            return Sum(first, second)
        case Difference(left, right):
            return Difference(simplify(left), simplify(right))
        case Linearized(order, parts):
            return Linearized(order, tuple(map(simplify, parts)))
        case _:
            return expression


def _simplify_quotient(of: Expression, divisor: int) -> Expression:
    if isinstance(of, Quotient):
        return Quotient(of.of, of.divisor * divisor)
    if isinstance(of, Remainder) and of.divisor % divisor == 0:
        return Remainder(_simplify_quotient(of.of, divisor), of.divisor // divisor)
    return Quotient(of, divisor)


# What it is in one shape ----------------------------------------------------------------------------------


def bounds(expression: Expression, shape: Sequence[int]) -> Bounds:
    """Return the smallest and the largest value of an expression in a tensor of this shape.

    A remainder reaches to its divisor even in a shorter mode, since its block is stored whole.

    Examples
    --------
    >>> i, j = Dimension(0), Dimension(1)
    >>> bounds(Difference(j, i), (5, 7))
    Bounds(low=-4, high=6)
    >>> bounds(Quotient(j, 3), (5, 7)).size, bounds(Remainder(j, 3), (5, 7)).size
    (3, 3)
    """
    match expression:
        case Dimension(mode):
            return Bounds(0, shape[mode] - 1)
        case Quotient(of, divisor):
            low, high = bounds(of, shape)
            return Bounds(low // divisor, high // divisor)
        case Remainder(of, divisor):
            longest = bounds(of, shape).high if isinstance(of, Linearized) else divisor
            return Bounds(0, min(longest, divisor - 1))
        case Sum(left, right):
            a, b = bounds(left, shape), bounds(right, shape)
            return Bounds(a.low + b.low, a.high + b.high)
        case Difference(left, right):
            a, b = bounds(left, shape), bounds(right, shape)
            return Bounds(a.low - b.high, a.high - b.low)
        case Linearized(order, _):
            return Bounds(0, index_size(order, extents(expression, shape)) - 1)


def extents(call: Linearized, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the length of each part of a linearizer's call."""
    return tuple(bounds(part, shape).size for part in call.parts)


def evaluate(expression: Expression, known: Mapping[Expression, Column], shape: Sequence[int]) -> Column:
    """Return the values of an expression, given those of expressions that it is made of.

    Examples
    --------
    >>> i, j = Dimension(0), Dimension(1)
    >>> evaluate(Difference(j, i), {i: np.array([0, 4]), j: np.array([3, 2])}, (5, 7))
    array([ 3, -2])
    """
    if expression in known:
        return known[expression]
    values = [evaluate(operand, known, shape) for operand in operands(expression)]
    match expression:
        case Quotient(of, divisor):
            return _divide(values[0], divisor, of, bounds(of, shape))
        case Remainder(of, divisor):
            return _remainder(values[0], divisor, of, bounds(of, shape))
        case Sum():
            return values[0] + values[1]
        case Difference():
            return values[0] - values[1]
        case Linearized(order, _):
            words = linearizer(order, extents(expression, shape)).linearize(values)
            return column_of(words, bounds(expression, shape).high)
        case _:
            raise KeyError(expression)


def is_computable(expression: Expression, known: Mapping[Expression, object]) -> bool:
    """Tell whether `evaluate` finds all it needs."""
    if expression in known:
        return True
    needed = operands(expression)
    return bool(needed) and all(is_computable(operand, known) for operand in needed)


def _divide(column: Column, divisor: int, of: Expression, limits: Bounds) -> Column:
    if limits.low >= 0 and limits.high < divisor:
        return _zeros(column)
    if limits.high < NARROW:
        return column // divisor
    words = shift_right(words_of(column), binary_digits(of, divisor))
    return column_of(words, limits.high // divisor)


def _remainder(column: Column, divisor: int, of: Expression, limits: Bounds) -> Column:
    if limits.low >= 0 and limits.high < divisor:
        return column
    if limits.high < NARROW:
        return column % divisor
    return column_of(lowest_bits(words_of(column), binary_digits(of, divisor)), divisor - 1)


def _zeros(column: Column) -> Column:
    return array_module(words_of(column)[0]).zeros(length_of(column), np.int64)


def binary_digits(of: Expression, divisor: int) -> int:
    """Return the number of bits that a divisor takes off a linear index of more than 63 bits."""
    bits = divisor.bit_length() - 1
    in_row_major = any(isinstance(part, Linearized) and part.order == "lin" for part in walk(of))
    if in_row_major or divisor != 1 << bits:
        wrong = "lin(...) cannot be divided then" if in_row_major else f"{divisor} is no power of two"
        raise ValueError(
            f"format: the linear index takes more than 63 bits in this shape, and {wrong}; "
            "divide alto(...) or morton(...) by a power of two such as 2^16"
        )
    return bits
