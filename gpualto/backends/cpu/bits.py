"""The bits of a linear index in compiled code, with BMI2 or with shifts.

One instruction moves the bits of one mode where the CPU has it (BMI2, and not in the microcode of the first
Zen generations). Elsewhere the bits move in six steps of one mask and one shift each, whose masks are
computed here from the mask of the mode. References: Warren, Hacker's Delight, second edition, sections 7-4
and 7-5.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from numba import njit
from numba.extending import overload

from gpualto.backends.cpu.instructions import pdep, pext
from gpualto.encoding import AltoEncoding

_SLOW_PEXT = ("znver1", "znver2", "bdver4")
_WORD_ONES = 2**64 - 1


class Bmi2(NamedTuple):
    """For every mode, and every word of the index: the mask, and how many bits lower words hold."""

    masks: tuple[tuple[np.uint64, ...], ...]
    shifts: tuple[tuple[np.uint64, ...], ...]


class Steps(NamedTuple):
    """For every mode, and every word of the index: the mask, and the bits that each step moves."""

    masks: tuple[tuple[np.uint64, ...], ...]
    shifts: tuple[tuple[np.uint64, ...], ...]
    moves: tuple[tuple[tuple[np.uint64, ...], ...], ...]


Layout = Bmi2 | Steps


@cache
def has_fast_bmi2() -> bool:
    """Tell whether this CPU moves bits by one fast instruction."""
    features = llvmlite.binding.get_host_cpu_features()
    return bool(features.get("bmi2")) and llvmlite.binding.get_host_cpu_name() not in _SLOW_PEXT


def layout_of(encoding: AltoEncoding, modes: Iterable[int], bmi2: bool | None = None) -> Layout:
    """Return the layout of an encoding for compiled code, its modes in the order given.

    Parameters
    ----------
    encoding : AltoEncoding
    modes : iterable of int
    bmi2 : bool, optional
        By default whether this CPU is better off with it.
    """
    return _layout_of(encoding, tuple(modes), has_fast_bmi2() if bmi2 is None else bmi2)


@lru_cache(maxsize=256)  # small tensors would feel the time
def _layout_of(encoding: AltoEncoding, modes: tuple[int, ...], bmi2: bool) -> Layout:
    masks = [_by_word(encoding.masks[mode], len(encoding.words)) for mode in modes]
    shifts = [[sum(mask.bit_count() for mask in row[:word]) for word in range(len(row))] for row in masks]
    if bmi2:
        return Bmi2(_as_words(masks), _as_words(shifts))
    moves = [[_moves(mask) for mask in row] for row in masks]
    return Steps(_as_words(masks), _as_words(shifts), tuple(map(_as_words, moves)))


def _by_word(mask: int, words: int) -> list[int]:
    return [mask >> (64 * word) & _WORD_ONES for word in range(words)]


def _as_words(rows: list[Any]) -> tuple[tuple[np.uint64, ...], ...]:
    return tuple(tuple(map(np.uint64, row)) for row in rows)


def _moves(mask: int) -> list[int]:
    """Return the bits that move right by 1, 2, 4, ... when the selected bits are gathered."""
    moves = []
    empty_below = ~mask << 1 & _WORD_ONES
    for step in range(6):
        parity = empty_below
        for shift in (1, 2, 4, 8, 16, 32):
            parity ^= parity << shift & _WORD_ONES
        moved = parity & mask
        moves.append(moved)
        mask = mask ^ moved | moved >> (1 << step)
        empty_below &= ~parity
    return moves


def coordinates(words: Any, layout: Any, position: Any) -> Any:
    """Return the coordinates of a stored position, one uint64 a mode: compiled code only."""
    raise NotImplementedError("for compiled code")


def pack(layout: Any, coords: Any, position: Any, word: Any) -> Any:
    """Return one word of the linear index of coordinates: compiled code only."""
    raise NotImplementedError("for compiled code")


@overload(coordinates)
def _coordinates(words, layout, position):
    lines = [f"w{word} = np.uint64(words[{word}][position])" for word in range(len(words))]
    terms = []
    for mode in range(_modes(layout)):
        pieces = [
            f"(gather(w{word}, {_arguments(layout, mode, word)}) << layout.shifts[{mode}][{word}])"
            for word in range(len(words))
        ]
        pieces[0] = f"gather(w0, {_arguments(layout, mode, 0)})"  # what the first word holds needs no shift
        terms.append(" | ".join(pieces))
    body = [*lines, f"return ({', '.join(terms)},)"]
    return _compile("words, layout, position", body, gather=pext if _has_bmi2(layout) else _compress)


@overload(pack, prefer_literal=True)
def _pack(layout, coords, position, word):
    number = word.literal_value
    pieces = [
        f"scatter(np.uint64(coords[{mode}][position]) >> layout.shifts[{mode}][{number}], "
        f"{_arguments(layout, mode, number)})"
        for mode in range(_modes(layout))
    ]
    return _compile(
        "layout, coords, position, word",
        [f"return {' | '.join(pieces)}"],
        scatter=pdep if _has_bmi2(layout) else _expand,
    )


def _has_bmi2(layout: Any) -> bool:
    return layout.instance_class is Bmi2


def _modes(layout: Any) -> int:
    return len(layout.types[0])


def _arguments(layout: Any, mode: int, word: int) -> str:
    mask = f"layout.masks[{mode}][{word}]"
    return mask if _has_bmi2(layout) else f"{mask}, layout.moves[{mode}][{word}]"


def _compile(arguments: str, body: list[str], **names: Any) -> Any:
    """Return a function of straight code, written out for the number of modes and words at hand."""
    scope = {"np": np, **names}
    exec("\n    ".join([f"def implementation({arguments}):", *body]), scope)
    return scope["implementation"]


@njit
def _compress(word, mask, moves):
    bits = word & mask
    for step in range(6):
        moved = bits & moves[step]
        bits = (bits ^ moved) | (moved >> np.uint64(1 << step))
    return bits


@njit
def _expand(bits, mask, moves):
    for backwards in range(6):
        step = 5 - backwards
        moved = moves[step]
        bits = (bits & ~moved) | ((bits << np.uint64(1 << step)) & moved)
    return bits & mask
