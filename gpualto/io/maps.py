"""Label files beside a tensor: ``flights.mode-1-carrier.map`` holds the label of each index of mode 0."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpualto.io.files import DataFileError, read_bytes, split_suffix, stem
from gpualto.labels import ModeLabels

_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|\x00-\x1f]')
_MARK = "\ufeff"
"""The byte order mark: one that begins a file is no part of it."""


def read_maps(path: Path, ndim: int, names: Sequence[str | None] | None) -> tuple[ModeLabels, ...]:
    """Return the labels that lie beside a tensor file; modes without a file have none.

    Names that the tensor file declares go before those in the names of label files.
    """
    labels, sources = [ModeLabels()] * ndim, dict[int, Path]()
    for candidate, mode, name in maps_of(path):
        if not 0 <= mode < ndim:
            raise DataFileError(f"{candidate}: is for mode {mode}, and {path.name} has {ndim} modes")
        if mode in sources:
            raise DataFileError(f"{candidate}: is for mode {mode}, and so is {sources[mode].name}; keep one")
        labels[mode], sources[mode] = ModeLabels(name, _read_map(candidate)), candidate
    if names is None or len(names) != ndim:
        return tuple(labels)
    return tuple(ModeLabels(name, item.entries) for name, item in zip(names, labels, strict=True))


def maps_of(path: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield the label files that lie beside a tensor file, each with the mode that it is for and its name."""
    pattern = re.compile(rf"{re.escape(stem(path))}\.mode-(\d+)-(.+)\.map")
    for candidate in sorted(path.parent.iterdir()):
        plain = candidate.with_suffix("") if split_suffix(candidate)[1] else candidate
        if match := pattern.fullmatch(plain.name):
            yield candidate, int(match[1]) - 1, match[2]


def lengths_with_labels(
    path: Path, declared: tuple[int, ...] | None, needed: tuple[int, ...], labels: tuple[ModeLabels, ...]
) -> tuple[int, ...]:
    """Return the length of each mode: the declared one, else as many as labels or indices need.

    Raises
    ------
    DataFileError
        If a mode has another number of labels than its length.
    """
    counts = [0 if item.entries is None else len(item.entries) for item in labels]
    lengths = declared or tuple(map(max, needed, counts))
    for mode, (item, count, length) in enumerate(zip(labels, counts, lengths, strict=True)):
        if item.entries is not None and count != length:
            raise DataFileError(
                f"{path}: {item.title(mode)} has {count} labels for a length of {length}; "
                "its .map file needs one line for each index"
            )
    return lengths


def map_texts(path: Path, labels: tuple[ModeLabels, ...]) -> dict[Path, bytes]:
    """Return the label files of a tensor file, and what is in them.

    Raises
    ------
    ValueError
        If there is a label of more than one line.
    """
    texts = {}
    for mode, item in enumerate(labels):
        if item.entries is None:
            continue
        bad = next((entry for entry in item.entries if "\n" in entry or "\r" in entry), None)
        if bad is not None:
            raise ValueError(f"labels: {item.title(mode)} has the label {bad!r}, a .map file has one a line")
        name = _NOT_IN_FILE_NAMES.sub("-", item.name or "labels")
        file = path.with_name(f"{stem(path)}.mode-{mode + 1}-{name}.map")
        text = "".join(f"{entry}\n" for entry in item.entries)
        texts[file] = (_MARK * text.startswith(_MARK) + text).encode()
    return texts


def _read_map(path: Path) -> tuple[str, ...]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None
    return tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")) if text else ()
