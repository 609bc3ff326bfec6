"""Formats by their usual names: functions that return a `Format`; `gpualto.formats` is this module."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from gpualto.format.format import Format

_LETTERS = "ijklmnopqrstuvwxyz"


def COO(ndim: int = 2) -> Format:
    """Coordinates, row-major: one array a mode.

    Examples
    --------
    >>> COO(3)
    Format('(i, j, k) -> (i : compressed(nonunique), j : singleton, k : singleton)')
    """
    first, *others = _dimensions(ndim)
    return _format(
        ndim,
        [f"{first} : compressed(nonunique)" if others else f"{first} : compressed"]
        + [f"{name} : singleton" for name in others],
    )


def CSR() -> Format:
    """Compressed sparse rows.

    Examples
    --------
    >>> CSR()
    Format('(i, j) -> (i : dense, j : compressed)')
    """
    return _format(2, ["i : dense", "j : compressed"])


def CSC() -> Format:
    """Compressed sparse columns."""
    return _format(2, ["j : dense", "i : compressed"])


def DCSR() -> Format:
    """Doubly compressed sparse rows: empty rows are not stored."""
    return _format(2, ["i : compressed", "j : compressed"])


def DCSC() -> Format:
    """Doubly compressed sparse columns."""
    return _format(2, ["j : compressed", "i : compressed"])


def CROW() -> Format:
    """Whole rows, of those that are not empty."""
    return _format(2, ["i : compressed", "j : dense"])


def CCOL() -> Format:
    """Whole columns, of those that are not empty."""
    return _format(2, ["j : compressed", "i : dense"])


def BSR(rows: int, columns: int) -> Format:
    """Block rows: dense blocks, row-major, below compressed sparse rows of blocks.

    Examples
    --------
    >>> BSR(2, 3)
    Format('(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)')
    """
    rows, columns = operator.index(rows), operator.index(columns)
    return _format(
        2, [f"i/{rows} : dense", f"j/{columns} : compressed", f"i%{rows} : dense", f"j%{columns} : dense"]
    )


def BSC(rows: int, columns: int) -> Format:
    """Block columns: dense blocks, row-major, below compressed sparse columns of blocks."""
    rows, columns = operator.index(rows), operator.index(columns)
    return _format(
        2, [f"j/{columns} : dense", f"i/{rows} : compressed", f"i%{rows} : dense", f"j%{columns} : dense"]
    )


def DIA() -> Format:
    """Diagonals, each as long as there are columns: the layout of SciPy's ``dia_array``."""
    return _format(2, ["j-i : compressed", "j : range"])


def Dense(ndim: int) -> Format:
    """All cells, row-major."""
    return _format(ndim, [f"{name} : dense" for name in _dimensions(ndim)])


def CSF(ndim: int = 3, order: Iterable[int] | None = None) -> Format:
    """Compressed sparse fibers: a tree, a level a mode.

    Parameters
    ----------
    ndim : int
        Number of modes.
    order : sequence of int, optional
        Mode of each level; by default 0, 1, 2, ...

    Examples
    --------
    >>> CSF(3, order=(2, 0, 1))
    Format('(i, j, k) -> (k : compressed, i : compressed, j : compressed)')
    """
    names = _dimensions(ndim)
    modes = list(range(ndim) if order is None else order)
    if sorted(modes) != list(range(ndim)):
        raise ValueError(f"order: {tuple(modes)} is not a permutation of the {ndim} modes")
    return _format(ndim, [f"{names[mode]} : compressed" for mode in modes])


def ALTO(ndim: int = 3) -> Format:
    """Adaptive linearized tensor order: one index an entry.

    Examples
    --------
    >>> ALTO(3)
    Format('(i, j, k) -> (alto(i, j, k) : compressed)')
    """
    return _linear("alto", ndim)


def Morton(ndim: int = 3) -> Format:
    """One index an entry in Z-Morton order: as many bits for each mode as the longest has."""
    return _linear("morton", ndim)


def LCO(ndim: int = 3) -> Format:
    """Linearized coordinates: one row-major index an entry."""
    return _linear("lin", ndim)


def HiCOO(ndim: int = 3, block: int = 128) -> Format:
    """Hierarchical coordinates: blocks in Morton order, short coordinates within them.

    Examples
    --------
    >>> HiCOO(2, block=4)
    Format('(i, j) -> (morton(i / 4, j / 4) : compressed, i % 4 : compressed(nonunique), j % 4 : singleton)')
    """
    first, *others = _dimensions(ndim)
    blocks = ", ".join(f"{name}/{block}" for name in [first, *others])
    kind = "compressed(nonunique)" if others else "compressed"
    inside = [f"{first}%{block} : {kind}", *(f"{name}%{block} : singleton" for name in others)]
    return _format(ndim, [f"morton({blocks}) : compressed", *inside])


def BLCO(ndim: int = 3, bits: int = 64) -> Format:
    """Blocked linearized coordinates: an ALTO index cut in two, its high part stored once a block."""
    call = f"alto({', '.join(_dimensions(ndim))})"
    return _format(ndim, [f"{call}/2^{bits} : compressed", f"{call}%2^{bits} : compressed"])


def _linear(order: str, ndim: int) -> Format:
    return _format(ndim, [f"{order}({', '.join(_dimensions(ndim))}) : compressed"])


def _dimensions(ndim: int) -> list[str]:
    ndim = operator.index(ndim)
    if ndim < 1:
        raise ValueError(f"ndim: expected a positive number of modes, got {ndim}")
    return list(_LETTERS[:ndim]) if ndim <= len(_LETTERS) else [f"d{mode}" for mode in range(ndim)]


def _format(ndim: int, levels: list[str]) -> Format:
    return Format(f"({', '.join(_dimensions(ndim))}) -> ({', '.join(levels)})")
