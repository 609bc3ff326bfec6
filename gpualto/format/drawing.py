"""A small tensor's levels and arrays as text, a box an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpualto._arrays import Array, mover_to
from gpualto.format.indices import Column, words_of
from gpualto.format.levels import COMPUTED

if TYPE_CHECKING:
    from gpualto.format.storage import StoredTensor

_MOST_NUMBERS = 24
_INDENT = "  "


def draw(storage: StoredTensor) -> str:
    """Return the levels from the first to the last, what each stores, and the values.

    Examples
    --------
    >>> import numpy as np
    >>> from gpualto.format import Format, build
    >>> csr = Format("(i, j) -> (i : dense, j : compressed)")
    >>> print(draw(build(csr, [[0, 0, 2], [1, 3, 0]], np.array([1.0, 2.0, 3.0]), (3, 4))))
    (i, j) -> (i : dense, j : compressed)    3 x 4
      i : dense          0..2
      j : compressed     pos [ 0 2 2 3 ]
                         crd [ 1 3 0 ]
      values             [ 1 2 3 ]
    """
    format = storage.format
    shape = " x ".join(map(str, storage.shape)) or "a scalar"
    titles = [level.write(format.names) for level in format.levels]
    width = max(map(len, [*titles, "values"])) + 5
    lines = [f"{format}    {shape}"]
    limits = format.bounds(storage.shape)
    for title, level, arrays, (low, high) in zip(titles, format.levels, storage.levels, limits, strict=True):
        rows = (
            [f"{low}..{high}"] if isinstance(level.type, COMPUTED) else list(_arrays(arrays.pos, arrays.crd))
        )
        for first, row in zip([title, *[""] * len(rows)], rows, strict=False):
            lines.append(f"{_INDENT}{first:<{width}}{row}")
    lines.append(f"{_INDENT}{'values':<{width}}{_numbers(storage.values)}")
    return "\n".join(lines)


def _arrays(pos: Array, crd: Column) -> Iterator[str]:
    if pos.size:
        yield f"pos {_numbers(pos)}"
    words = words_of(crd)
    for number, word in enumerate(words):
        yield f"crd {_numbers(word)}" if len(words) == 1 else f"crd, word {number} {_numbers(word)}"


def _numbers(array: Array) -> str:
    """Return an array as text, its middle left out where it is long."""
    count = array.size
    half = _MOST_NUMBERS // 2
    pieces = [array] if count <= _MOST_NUMBERS else [array[:half], array[-half:]]
    texts = [" ".join(map(_number, mover_to("cpu")(piece).tolist())) for piece in pieces]
    return f"[ {' ... '.join(texts)} ]" if count else "[ ]"


def _number(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.6g}"
