"""Files: tensors and models, in and out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from gpualto.io.files import DataFileError, StrPath, replacing, split_suffix, stem
from gpualto.io.maps import lengths_with_labels, map_texts, maps_of, read_maps
from gpualto.io.npz import read_tensor, write_tensor
from gpualto.io.tables import is_table, read_table, write_table
from gpualto.io.tns import IndexBase, read_tns, write_tns
from gpualto.tensor import Duplicates, Tensor, require_tensor

__all__ = ["DataFileError", "read", "read_table", "write"]

_TABLE_HINT = "other tables can be saved as .csv or .parquet"


def read(
    path: StrPath,
    *,
    index_base: IndexBase = 1,
    shape: Sequence[int] | None = None,
    duplicates: Duplicates = "sum",
) -> Tensor:
    """Read a sparse tensor from a file, by suffix.

    ``.tns`` (FROSTT text, also ``.tns.gz``, ``.tns.bz2``, ``.tns.xz``), with the label files
    ``NAME.mode-1-LABEL.map`` beside it, and ``.npz`` as `write` makes it.

    Parameters
    ----------
    path : path-like
    index_base : {1, 0, "auto"}
        Smallest index of a ``.tns`` file, in all modes. A header that names the base decides; "auto" takes 0
        if there is any index 0 in the file, else 1.
    shape : sequence of int, optional
        Length of each mode: what the file says is checked against it. By default the header's, else the
        number of labels of a mode, else its largest index.
    duplicates : {"sum", "error"}
        What to do with equal coordinates.

    Raises
    ------
    DataFileError
        A ``ValueError`` that names file, line and mode.

    Notes
    -----
    Indices are parsed as integers, values as float64. A ``.tns`` file is parsed by Apache Arrow where
    it is installed (extra ``cpu``), else by NumPy; files that those refuse are read line by line.
    """
    path = Path(path)
    if not _has_tensor(path):
        hint = "a table is read by gpualto.read_table" if is_table(path) else _TABLE_HINT
        raise ValueError(f"path: {str(path)!r} does not end in .tns (also .gz, .bz2, .xz) or .npz; {hint}")
    if split_suffix(path)[0] == ".npz":
        return _with_shape(read_tensor(path), shape, path)
    data = read_tns(path, index_base, shape)
    labels = read_maps(path, len(data.coords), data.names)
    needed = tuple(int(coordinate.max(initial=-1)) + 1 for coordinate in data.coords)
    lengths = lengths_with_labels(path, data.shape, needed, labels)
    try:
        return Tensor.from_coo(data.coords, data.values, lengths, duplicates=duplicates, labels=labels)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from None


def write(path: StrPath, X: Tensor, *, index_base: int = 1) -> None:
    """Write a sparse tensor to a file, by suffix: ``.tns``, ``.npz``, or a table, ``.csv`` or ``.parquet``.

    A ``.tns`` file (also compressed) carries the shape in a comment that other tools skip, and its labels go
    to ``.map`` files beside it, in the place of those that were there. A table is that of `Tensor.to_table`.
    Every file appears under its name only when it is complete.

    Parameters
    ----------
    path : path-like
    X : Tensor
    index_base : {1, 0}
        Where the indices of a ``.tns`` file begin.

    Raises
    ------
    ValueError
        If the suffix is of no known kind, or two columns of a table would have the same name.
    MissingPackageError
        If it is a table and pyarrow is not installed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> X = Tensor.from_coo([[0, 2]], [1.5, 2.0], shape=(5,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "x.tns.gz")
    ...     write(path, X)
    ...     read(path) == X
    True
    """
    path = Path(path)
    if not _has_tensor(path) and not is_table(path):
        raise ValueError(
            f"path: {str(path)!r} does not end in .tns, .csv, .tsv (also .gz, .bz2, .xz), .npz or .parquet"
        )
    require_tensor(X)
    if index_base not in (0, 1):
        raise ValueError(f"index_base: expected 0 or 1, got {index_base!r}")
    if split_suffix(path)[0] == ".npz":
        write_tensor(path, X)
    elif is_table(path):
        write_table(path, X.to_table())
    else:
        _write_text(path, X, index_base)


def _write_text(path: Path, X: Tensor, index_base: int) -> None:
    """Write a ``.tns`` file and its labels in the place of those that were there."""
    maps = map_texts(path, X.labels)
    with ExitStack() as files:
        write_tns(files.enter_context(replacing(path)), X, index_base)
        for file, text in maps.items():
            files.enter_context(replacing(file)).write(text)
    others = (file for file in path.parent.iterdir() if split_suffix(file)[0] == ".tns" and file != path)
    if any(stem(other) == stem(path) for other in others):
        return  # the labels are those of another file too
    for file, _, _ in list(maps_of(path)):
        if file not in maps:
            file.unlink()


def _has_tensor(path: Path) -> bool:
    """Tell by its suffix whether a file holds a tensor that is no table."""
    return split_suffix(path)[0] in (".tns", ".npz")


def _with_shape(X: Tensor, shape: Sequence[int] | None, path: Path) -> Tensor:
    if shape is None or tuple(shape) == X.shape:
        return X
    raise DataFileError(f"{path}: holds a tensor of shape {X.shape}, not {tuple(shape)}")
