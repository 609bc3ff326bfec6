"""Bytes in and out of files: compression by suffix, and writes that happen whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

COMPRESSIBLE = (".tns", ".csv", ".tsv", ".map")
"""What may be compressed as a whole; other files are within."""

StrPath = str | os.PathLike[str]


class DataFileError(ValueError):
    """A file is damaged, foreign, or says something that cannot be read; the message names the place."""


def split_suffix(path: Path) -> tuple[str, str]:
    """Return the suffix that says what a file holds and the one that says how it is compressed, if any.

    Examples
    --------
    >>> split_suffix(Path("x.tns.gz")), split_suffix(Path("x.npz"))
    (('.tns', '.gz'), ('.npz', ''))
    """
    if path.suffix.lower() in _OPENERS:
        return path.with_suffix("").suffix.lower(), path.suffix.lower()
    return path.suffix.lower(), ""


def stem(path: Path) -> str:
    """Return the name of a file without both suffixes."""
    return path.with_suffix("").stem if split_suffix(path)[1] else path.stem


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed.

    Raises
    ------
    DataFileError
        If the compressed stream is damaged.
    """
    compression = split_suffix(path)[1]
    if not compression:
        return path.read_bytes()
    try:
        with _OPENERS[compression](path, "rb") as file:
            return file.read()  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataFileError(f"{path}: damaged {compression} file ({error})") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing, compressed by suffix, that takes its name only when it is complete."""
    compression = split_suffix(path)[1]
    path = Path(os.path.realpath(path))  # what a link points at is written, and the link stays
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as raw:
            if compression:
                with _OPENERS[compression](raw, "wb") as file:
                    yield file
            else:
                yield raw
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
