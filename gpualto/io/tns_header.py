"""What stands in a ``.tns`` file before its first nonzero."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpualto.io.files import DataFileError

_BASES = {b"indices-start-at-zero": 0, b"indices-start-at-one": 1}
_DENSE_TYPES = (b"tensor", b"matrix", b"ktensor", b"facmat", b"ttensor", b"sumtensor")


@dataclass(frozen=True)
class Header:
    """What the leading lines of a file declare, and where its nonzeros begin.

    Parameters
    ----------
    offset : int
        Byte at which the body begins.
    lines : int
        Number of lines before it.
    shape : tuple of int, optional
        Length of each mode.
    nnz : int, optional
        Number of nonzeros.
    index_base : int, optional
        Smallest index.
    names : tuple of str or None, optional
        What the modes are called.
    """

    offset: int = 0
    lines: int = 0
    shape: tuple[int, ...] | None = None
    nnz: int | None = None
    index_base: int | None = None
    names: tuple[str | None, ...] | None = None


@dataclass(frozen=True)
class _Line:
    number: int
    end: int
    fields: list[bytes]
    comment: bytes


def read_header(text: bytes, name: str) -> Header:
    """Return the header of the text of a file, whose lines end in line feeds.

    Known are none at all (FROSTT), order and dimensions on two lines (ParTI, HiCOO), and the word
    ``sptensor`` followed by order, dimensions and number of nonzeros (Tensor Toolbox, pyttb, GenTen). A
    comment ``# dims: 4 8 2``, which this package writes, declares the shape as well, and names of modes stand
    in ``# modes: ["carrier", "km/h", null]``.

    Raises
    ------
    DataFileError
        If a header begins and does not go on as it should; file and line are named.
    """
    commented_shape = names = None
    offset = lines = 0
    for line in _lines(text):
        if not line.fields:
            commented_shape = _dims_comment(line.comment) or commented_shape
            names = _names_comment(line.comment) or names
            offset, lines = line.end, line.number
        elif line.fields[0].lower() == b"sptensor":
            return _sptensor_header(text, line, name)
        elif line.fields[0].lower() in _DENSE_TYPES:
            kind = line.fields[0].decode()
            raise DataFileError(f"{name}: line {line.number}: holds a {kind!r}, expected 'sptensor'")
        elif len(line.fields) == 1 and line.fields[0].isdigit():
            return _order_and_dims_header(text, line, name)
        else:
            break
    return Header(offset, lines, commented_shape, names=names)


def comment_lines(shape: tuple[int, ...], nnz: int, names: Sequence[str | None] | None) -> str:
    """Return the comments that say what `read_header` reads."""
    modes = f"# modes: {json.dumps(list(names))}\n" if names is not None else ""
    return f"# dims: {' '.join(map(str, shape))}\n# nnz: {nnz}\n{modes}"


def _sptensor_header(text: bytes, first: _Line, name: str) -> Header:
    words = first.fields[1:]
    if len(words) > 1 or any(word.lower() not in _BASES for word in words):
        raise DataFileError(
            f"{name}: line {first.number}: after 'sptensor' expected nothing, 'indices-start-at-zero' or "
            f"'indices-start-at-one', got {b' '.join(words).decode(errors='replace')!r}"
        )
    lines = (line for line in _lines(text) if line.fields and line.number > first.number)
    (order,), _ = _declared(lines, 1, "the number of modes", name)
    shape, _ = _declared(lines, order, "the length of each mode", name)
    (nnz,), last = _declared(lines, 1, "the number of nonzeros", name)
    return Header(last.end, last.number, shape, nnz, _BASES[words[0].lower()] if words else None)


def _order_and_dims_header(text: bytes, first: _Line, name: str) -> Header:
    lines = (line for line in _lines(text) if line.fields and line.number > first.number)
    shape, last = _declared(lines, int(first.fields[0]), "the length of each mode", name)
    return Header(last.end, last.number, shape)


def _declared(lines: Iterator[_Line], count: int, what: str, name: str) -> tuple[tuple[int, ...], _Line]:
    line = next(lines, None)
    if line is None:
        raise DataFileError(f"{name}: the header ends before {what}")
    if count < 1 or len(line.fields) != count or not all(field.isdigit() for field in line.fields):
        plural = "integer" if count == 1 else "integers"
        found = b" ".join(line.fields).decode(errors="replace")
        raise DataFileError(f"{name}: line {line.number}: expected {what}, {count} {plural}, got {found!r}")
    return tuple(map(int, line.fields)), line


def _said_in(comment: bytes, what: bytes) -> bytes | None:
    """Return what a comment such as ``# dims: 4 8 2`` says of something."""
    word, _, rest = comment.lstrip(b"#% ").partition(b":")
    return rest.strip() if word.strip().lower() == what else None


def _names_comment(comment: bytes) -> tuple[str | None, ...] | None:
    try:
        names = json.loads(_said_in(comment, b"modes") or b"null")
    except (ValueError, RecursionError):
        return None  # someone else's comment
    is_ours = isinstance(names, list) and all(name is None or isinstance(name, str) for name in names)
    return tuple(names) if is_ours else None


def _dims_comment(comment: bytes) -> tuple[int, ...] | None:
    fields = (_said_in(comment, b"dims") or b"").split()
    if fields and all(field.isdigit() for field in fields):
        return tuple(map(int, fields))
    return None


def _lines(text: bytes) -> Iterator[_Line]:
    start = number = 0
    while start < len(text):
        end = text.find(b"\n", start) + 1 or len(text)
        number += 1
        line = text[start:end]
        content = strip_comment(line)
        yield _Line(number, end, content.split(), line[len(content) :])
        start = end


def strip_comment(line: bytes) -> bytes:
    """Return a line up to its comment, which begins with ``#`` or ``%``."""
    return line.partition(b"#")[0].partition(b"%")[0]
