"""Label files beside a tensor: ``flights.mode-1-carrier.map`` holds the label of each index of mode 0."""

from __future__ import annotations

import re
from pathlib import Path

from gpualto.io.files import DataFileError, read_bytes, replacing, split_suffix, stem
from gpualto.labels import ModeLabels


def read_maps(path: Path, ndim: int) -> tuple[ModeLabels, ...]:
    """Return the labels that lie beside a tensor file; modes without a file have none."""
    labels = [ModeLabels()] * ndim
    pattern = re.compile(rf"{re.escape(stem(path))}\.mode-(\d+)-(.+)\.map")
    for candidate in sorted(path.parent.iterdir()):
        plain = candidate.with_suffix("") if split_suffix(candidate)[1] else candidate
        match = pattern.fullmatch(plain.name)
        if match is None:
            continue
        mode = int(match[1]) - 1
        if not 0 <= mode < ndim:
            raise DataFileError(f"{candidate}: is for mode {mode}, and {path.name} has {ndim} modes")
        labels[mode] = ModeLabels(match[2], _read_map(candidate))
    return tuple(labels)


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


def write_maps(path: Path, labels: tuple[ModeLabels, ...]) -> None:
    """Write the labels of a tensor file beside it."""
    for mode, item in enumerate(labels):
        if item.entries is None:
            continue
        bad = next((entry for entry in item.entries if "\n" in entry or "\r" in entry), None)
        if bad is not None:
            raise ValueError(f"labels: {item.title(mode)} has the label {bad!r}, a .map file has one a line")
        name = (item.name or "labels").replace("/", "-")
        with replacing(path.with_name(f"{stem(path)}.mode-{mode + 1}-{name}.map")) as file:
            file.write("".join(f"{entry}\n" for entry in item.entries).encode())


def _read_map(path: Path) -> tuple[str, ...]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None
    return tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")) if text else ()
