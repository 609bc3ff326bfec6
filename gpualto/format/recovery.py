"""From what the levels store back to coordinates: the inverse of evaluating expressions.

Three rules suffice. A quotient and the remainder by the same number give the whole; a linear index gives its
parts; a sum or difference and one side give the other. `recover` applies them until nothing new follows, and
returns the steps: a program that the decoders run, whatever they are written in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpualto._arrays import Array, array_module
from gpualto.format.expressions import (
    Bounds,
    Difference,
    Expression,
    Linearized,
    Quotient,
    Remainder,
    Sum,
    binary_digits,
    bounds,
    evaluate,
    extents,
    is_computable,
    simplify,
    walk,
)
from gpualto.format.indices import NARROW, Column, column_of, fit_words, join_bits, length_of, words_of
from gpualto.format.linearizers import linearizer, word_count


@dataclass(frozen=True)
class Join:
    """``whole = quotient * divisor + remainder``."""

    whole: Expression
    quotient: Expression
    remainder: Remainder


@dataclass(frozen=True)
class Unpack:
    """The parts of a linear index."""

    call: Linearized


@dataclass(frozen=True)
class Subtract:
    """``result = total - other``: one side of a sum, or the right side of a difference from its left."""

    result: Expression
    total: Expression
    other: Expression


@dataclass(frozen=True)
class Add:
    """``result = total + other``: the left side of a difference from its right."""

    result: Expression
    total: Expression
    other: Expression


Step = Join | Unpack | Subtract | Add


def recover(known: Iterable[Expression]) -> tuple[tuple[Step, ...], frozenset[Expression]]:
    """Return the steps that follow from what is known, and all that is known after them.

    Expressions are to be in the form that `simplify` gives.

    Examples
    --------
    >>> from gpualto.format.expressions import Dimension
    >>> i, j = Dimension(0), Dimension(1)
    >>> steps, known = recover([Difference(j, i), i])
    >>> steps == (Add(result=j, total=Difference(j, i), other=i),), j in known
    (True, True)
    """
    values: dict[Expression, Any] = dict.fromkeys(known)
    steps: list[Step] = []
    while step := next(_new_steps(values), None):
        steps.append(step)
        values.update(dict.fromkeys(results(step)))
    return tuple(steps), frozenset(values)


def results(step: Step) -> tuple[Expression, ...]:
    """Return what is known after a step."""
    match step:
        case Join(whole):
            return (whole,)
        case Unpack(call):
            return call.parts
        case Subtract(result) | Add(result):
            return (result,)


def _new_steps(known: dict[Expression, Any]) -> Iterator[Step]:
    for expression in known:
        for step in _steps_from(expression, known):
            if any(result not in known for result in results(step)):
                yield step


def _steps_from(expression: Expression, known: dict[Expression, Any]) -> Iterator[Step]:
    match expression:
        case Remainder(whole, divisor):
            quotient = simplify(Quotient(whole, divisor))
            if is_computable(quotient, known):
                yield Join(whole, quotient, expression)
        case Linearized():
            yield Unpack(expression)
        case Sum(left, right):
            if is_computable(right, known):
                yield Subtract(left, expression, right)
            if is_computable(left, known):
                yield Subtract(right, expression, left)
        case Difference(left, right):
            if is_computable(right, known):
                yield Add(left, expression, right)
            if is_computable(left, known):
                yield Subtract(right, left, expression)


def redundant(expressions: Sequence[Expression]) -> int | None:
    """Return the number of the last expression that follows from the others, None where each is needed."""
    for number in reversed(range(len(expressions))):
        others = [*expressions[:number], *expressions[number + 1 :]]
        _, known = recover(others)
        if is_computable(expressions[number], dict.fromkeys(known)):
            return number
    return None


def linearized_parts(expression: Expression) -> Iterator[Linearized]:
    """Yield the linearizer calls within an expression."""
    return (part for part in walk(expression) if isinstance(part, Linearized))


# On arrays ------------------------------------------------------------------------------------------------


def run(
    steps: Iterable[Step], known: dict[Expression, Column], shape: Sequence[int]
) -> tuple[dict[Expression, Column], Array | None]:
    """Apply the steps to arrays.

    Returns
    -------
    known : dict
        What was known and what follows.
    inside : array of bool, or None where no step ran
        The entries whose every result lies within its bounds: those of the padding of blocks do not.
    """
    known = dict(known)
    inside: Array | None = None
    for step in steps:
        for result, column in _apply(step, known, shape):
            known[result] = column
            within = is_within(column, bounds(result, shape))
            inside = within if inside is None else inside & within
    return known, inside


def _apply(
    step: Step, known: dict[Expression, Column], shape: Sequence[int]
) -> Iterator[tuple[Expression, Column]]:
    match step:
        case Join(whole, quotient, remainder):
            yield (
                whole,
                _join(
                    evaluate(quotient, known, shape),
                    known[remainder],
                    whole,
                    remainder.divisor,
                    bounds(whole, shape),
                ),
            )
        case Unpack(call):
            lengths = extents(call, shape)
            words = fit_words(words_of(known[call]), word_count(call.order, lengths))
            parts = linearizer(call.order, lengths).delinearize(words)
            yield from zip(call.parts, parts, strict=True)
        case Subtract(result, total, other):
            yield result, evaluate(total, known, shape) - evaluate(other, known, shape)
        case Add(result, total, other):
            yield result, evaluate(total, known, shape) + evaluate(other, known, shape)


def _join(quotient: Column, remainder: Column, whole: Expression, divisor: int, limits: Bounds) -> Column:
    if limits.low >= 0 and limits.high < divisor:
        return remainder
    if limits.high < NARROW:
        return quotient * divisor + remainder
    words = join_bits(words_of(quotient), words_of(remainder), binary_digits(whole, divisor))
    return column_of(words, limits.high)


def is_within(column: Column, limits: Bounds) -> Array:
    """Mark the coordinates within bounds; those of several words are not checked, their parts are."""
    xp = array_module(words_of(column)[0])
    if isinstance(column, tuple):
        return xp.ones(length_of(column), bool)
    return (column >= max(limits.low, -NARROW)) & (column <= min(limits.high, NARROW - 1))
