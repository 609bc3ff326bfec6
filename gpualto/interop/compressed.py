"""Matrices that compress their rows or columns, or blocks of them: what SciPy, cupyx and PyTorch share."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module, as_values
from gpualto.format import named
from gpualto.format.expressions import Quotient
from gpualto.format.format import Format
from gpualto.format.storage import LevelArrays, StoredTensor

MATRIX_MODES = 2

Block = tuple[int, int] | None
"""Rows and columns of the dense blocks of a format, None for one without."""


def matrix_kind(format: Format) -> str | None:
    """Return the usual abbreviation of the format of a matrix, or None where it has none.

    Examples
    --------
    >>> matrix_kind(named.BSR(2, 3)), matrix_kind(named.DCSR())
    ('bsr', None)
    """
    if format.ndim != MATRIX_MODES:
        return None
    kinds = {named.CSR(): "csr", named.CSC(): "csc", named.DIA(): "dia", named.COO(2): "coo"}
    block = block_of(format)
    if block is None:
        return kinds.get(format)
    return "bsr" if format == named.BSR(*block) else "bsc"


def block_of(format: Format) -> Block:
    """Return the blocks of a format that is a `named.BSR` or `named.BSC`.

    Examples
    --------
    >>> block_of(named.BSC(2, 3)), block_of(named.CSR())
    ((2, 3), None)
    """
    divisors = [e.divisor for e in format.expressions if isinstance(e, Quotient)]
    if format.ndim != MATRIX_MODES or len(divisors) != MATRIX_MODES:
        return None
    first, second = divisors
    if format == named.BSR(first, second):
        return first, second
    return (second, first) if format == named.BSC(second, first) else None


def compressed(
    kind: str, shape: tuple[int, ...], values: Array, indices: Array, pos: Array, block: Block = None
) -> StoredTensor:
    """Return a tensor of arrays that are shared; `kind` is csr, csc, bsr or bsc."""
    format = getattr(named, kind.upper())(*(block or ()))
    dense = computed(values)
    levels = [dense, LevelArrays(pos, indices)]
    levels += [dense, dense] if block else []
    return StoredTensor(format, shape, tuple(levels), as_values(values.reshape(-1)))


def computed(values: Array) -> LevelArrays:
    """Return the arrays of a level that stores nothing."""
    nothing = array_module(values).zeros(0, np.int64)
    return LevelArrays(nothing, nothing)


def check_indices(kind: str, shape: tuple[int, ...], indices: Array, pos: Array, block: Block = None) -> None:
    """Raise for indices that other packages were given unchecked, and kernels would follow anywhere."""
    mode = 0 if kind in ("csc", "bsc") else 1
    length = shape[mode] // (block[mode] if block else 1)
    wrong = (indices < 0) | (indices >= length)
    if wrong.any():
        position = int(wrong.argmax())
        raise ValueError(
            f"array: mode {mode} has the index {int(indices[position])} at position {position} of "
            f"indices, outside [0, {length})"
        )
    if pos[0] != 0 or pos[-1] != indices.size or (pos[1:] < pos[:-1]).any():
        raise ValueError(f"array: indptr does not lead from 0 to {indices.size} without a step back")


def is_canonical(indices: Array, pos: Array) -> bool:
    """Tell whether the indices of every row are increasing."""
    xp = array_module(indices)
    may_fall = xp.zeros(indices.size + 1, bool)
    may_fall[pos] = True
    return bool(((indices[1:] > indices[:-1]) | may_fall[1:-1]).all())
