"""MTTKRP of tensors in any format, by code that is written for the format and compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from gpualto._arrays import Array, empty
from gpualto.backends import Fill, reference
from gpualto.backends.cpu import bits, threads
from gpualto.backends.cpu.instructions import add_product, add_product_atomically, pext
from gpualto.backends.cpu.rows import PANEL_BYTES, as_rows, fill_zero, merge, row_bytes
from gpualto.format.format import Format
from gpualto.format.source import Decoder, UnwritableError, array_name, arrays_of, write_decoder
from gpualto.format.storage import StoredTensor
from gpualto.partition import segment_bounds


class Python:
    """The language of Numba: positions are taken in order, and parents looked for from the last one on."""

    def number(self, number: int) -> str:
        """Return an unsigned constant."""
        return f"U({number})"

    def assign(self, name: str, code: str) -> str:
        """Return an assignment."""
        return f"{name} = {code}"

    def skip_if(self, condition: str) -> list[str]:
        """Return a jump to the next position."""
        return [f"if {condition}:", "    continue"]

    def quotient(self, left: str, right: str, *, signed: bool) -> str:
        """Return a quotient; Python's is rounded down."""
        return f"({left} // {right})"

    def remainder(self, left: str, right: str, *, signed: bool) -> str:
        """Return a remainder; Python's has the sign of the divisor."""
        return f"({left} % {right})"

    def gather(self, word: str, mask: int) -> str:
        """Return the call of what gathers bits on this CPU."""
        return f"gather({word}, U({mask:#x}))"

    def find_parent(
        self, pos: str, parent: str, place: str, *, one_by_one: bool
    ) -> tuple[list[str], list[str]]:
        """Return a search before the loop, and a step in it; one by one without a branch to mispredict."""
        is_beyond = f"U({pos}[{parent} + U(1)]) <= {place}"
        step = [f"{parent} += U({is_beyond})"]
        if not one_by_one:
            step = [f"while {is_beyond}:", f"    {parent} += U(1)"]
        return [f"{parent} = parent_of({pos}, {place})"], step


PYTHON = Python()

_PRIVATE_ROWS_PER_POSITION = 0.1
"""Private rows a position up to which each thread has an output of its own."""

_POSITIONS_PER_SEGMENT = 1 << 14


def plan_mttkrp(
    X: StoredTensor, mode: int, rank: int, dtype: np.dtype[Any], *, deterministic: bool = False
) -> Fill:
    """Return the MTTKRP of a mode: generated code, or the reference for the few formats that have none."""
    if X.nse == 0 or rank == 0:
        return lambda factors, out: out.fill(0)
    try:
        write_decoder(X.format, X.shape, PYTHON)
    except UnwritableError:
        return reference.plan_mttkrp(X, mode, rank, dtype)
    count = 1 if deterministic else _segment_count(X)
    shared = _is_shared(X, mode, count)
    return lambda factors, out: _run(X, mode, factors, out, count, shared)


def explain(X: StoredTensor, mode: int) -> str:
    """Return how the MTTKRP of a mode is computed, and why."""
    try:
        write_decoder(X.format, X.shape, PYTHON)
    except UnwritableError as error:
        return f"mode {mode}: by the reference, as no code is written for {X.format}: {error}"
    return f"mode {mode}: code written for {X.format}, {_sharing(X, mode)}"


def _sharing(X: StoredTensor, mode: int) -> str:
    count = _segment_count(X)
    if count == 1:
        return "one run of positions"
    target = "one output, added to atomically" if _is_shared(X, mode, count) else "an output for each"
    return f"{count} runs of positions, {target}"


def source(X: StoredTensor, mode: int, rank: int, dtype: np.dtype[Any]) -> str:
    """Return the code of the MTTKRP of a mode, or that of the reference where none is written."""
    stride = rank * dtype.itemsize
    shared = _is_shared(X, mode, _segment_count(X))
    try:
        return mttkrp_source(X.format, X.shape, mode, stride, min(stride, PANEL_BYTES), shared)
    except UnwritableError:
        return reference.source(X, mode, rank, dtype)


def _segment_count(X: StoredTensor) -> int:
    return max(min(threads.count(), X.nse // _POSITIONS_PER_SEGMENT), 1)


def _is_shared(X: StoredTensor, mode: int, count: int) -> bool:
    return count > 1 and count * X.shape[mode] > _PRIVATE_ROWS_PER_POSITION * X.nse


def _run(
    X: StoredTensor, mode: int, factors: list[Array | None], out: Array, count: int, shared: bool
) -> None:
    modes = [n for n in range(X.ndim) if n != mode]
    inputs = [as_rows(factors[n], out.dtype, X.nse) for n in modes]
    pieces = segment_bounds(X.nse, count)
    private = [] if shared else [empty(out.shape, out.dtype) for _ in pieces[2:]]
    fill_zero([out, *private])
    targets = [out] * (len(pieces) - 1) if shared else [out, *private]
    arrays = tuple(arrays_of(X, write_decoder(X.format, X.shape, PYTHON)))
    stride = row_bytes(out)
    for panel in range(0, stride, PANEL_BYTES):
        width = min(stride - panel, PANEL_BYTES)
        kernel = mttkrp_kernel(X.format, X.shape, mode, stride, width, out.dtype, shared)
        bases = tuple(np.uint64(factor.ctypes.data + panel) for factor in inputs)
        calls = [
            (
                X.values,
                arrays,
                np.uint64(start),
                np.uint64(stop),
                bases,
                np.uint64(target.ctypes.data + panel),
            )
            for start, stop, target in zip(pieces[:-1], pieces[1:], targets, strict=True)
        ]
        threads.run(kernel, calls, kept=(out, private, inputs, X))
    for own in private:
        merge(out, own)


def mttkrp_source(
    format: Format, shape: tuple[int, ...], mode: int, stride: int, width: int, shared: bool
) -> str:
    """Return the text of a loop ``kernel(values, arrays, start, stop, bases, rows)``.

    It adds, for each position from `start` to `stop`, the value times the product of the rows at `bases` to a
    row of the output at the address `rows`.
    """
    decoder = write_decoder(format, shape, PYTHON)
    coordinates = [decoder.coordinates[n] for n in (mode, *(n for n in range(len(shape)) if n != mode))]
    update = "add_product_atomically" if shared else "add_product"
    target = f"rows + {coordinates[0]} * U({stride})"
    return "\n".join(
        [
            "def kernel(values, arrays, start, stop, bases, rows):",
            *(f"    {array_name(*one)} = arrays[{number}]" for number, one in enumerate(decoder.arrays)),
            *(f"    {line}" for line in decoder.start),
            "    for position in range(start, stop):",
            *(f"        {line}" for line in _body(format, decoder)),
            f"        coords = ({', '.join(coordinates)},)",
            f"        {update}({target}, number(values[position]), bases, coords, {stride}, {width})",
        ]
    )


def _body(format: Format, decoder: Decoder) -> list[str]:
    skip_zeros = [] if format.tells_zeros else ["if values[position] == 0:", "    continue"]
    # Cursors are moved before anything is skipped: they stay right, as places only increase.
    return [*skip_zeros, *decoder.body]


@cache
def mttkrp_kernel(
    format: Format, shape: tuple[int, ...], mode: int, stride: int, width: int, dtype: Any, shared: bool
) -> Callable[..., None]:
    """Return the compiled loop of `mttkrp_source`."""
    scope = {
        "U": np.uint64,
        "I": np.int64,
        "number": np.dtype(dtype).type,
        "parent_of": _parent_of,
        "gather": pext if bits.has_fast_bmi2() else _gather,
        "add_product": add_product,
        "add_product_atomically": add_product_atomically,
    }
    exec(mttkrp_source(format, shape, mode, stride, width, shared), scope)
    return njit(nogil=True)(scope["kernel"])  # type: ignore[no-any-return]


@njit
def _parent_of(pos: Any, place: Any) -> Any:
    """Return the parent whose places include this one."""
    return np.uint64(np.searchsorted(pos, np.int64(place), side="right") - 1)


@njit
def _gather(word: Any, mask: Any) -> Any:
    """Gather bits without BMI2: one at a time."""
    result, place = np.uint64(0), np.uint64(0)
    while mask:
        lowest = mask & (~mask + np.uint64(1))
        if word & lowest:
            result |= np.uint64(1) << place
        place += np.uint64(1)
        mask ^= lowest
    return result
