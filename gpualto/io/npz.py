"""NumPy archives: tensors and models as plain arrays, loaded without pickle and checked."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpualto._arrays import Array, check_bounds
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.tucker_model import TuckerModel
from gpualto.encoding import AltoEncoding
from gpualto.io.files import DataFileError, StrPath, replacing
from gpualto.labels import ModeLabels
from gpualto.ordering import is_increasing
from gpualto.tensor import Tensor

_TENSOR = "gpualto tensor 1"
_MODEL = "gpualto CP model 1"
_TUCKER = "gpualto Tucker model 1"
_UNIT = "known_rms"


def write_tensor(path: StrPath, X: Tensor) -> None:
    """Write a tensor as it is stored."""
    words = {f"index_{number}": word for number, word in enumerate(X.index)}
    _write(path, _TENSOR, {"shape": np.array(X.shape, np.uint64), **words, "values": X.values}, X.labels)


def read_tensor(path: StrPath) -> Tensor:
    """Read a tensor that `write_tensor` wrote.

    Raises
    ------
    DataFileError
        If the file is damaged or does not hold a tensor.
    """
    with _opened(path, _TENSOR) as arrays:
        encoding = AltoEncoding(arrays["shape"].tolist())
        index = tuple(arrays[f"index_{number}"] for number in range(len(encoding.words)))
        values = arrays["values"]
        _check_stored(encoding, index, values)
        return Tensor(encoding, index, values, _labels(arrays))


def write_model(path: StrPath, model: CPModel) -> None:
    """Write a CP model with its labels and its history."""
    unit = {} if model.known_rms is None else {_UNIT: np.array(model.known_rms)}
    _write(path, _MODEL, {"weights": model.weights, **unit, **_fitted(model)}, model.labels)


def read_model(path: StrPath) -> CPModel:
    """Read a model that `write_model` wrote.

    Raises
    ------
    DataFileError
        If the file is damaged or does not hold a CP model.
    """
    with _opened(path, _MODEL) as arrays:
        model = CPModel(arrays["weights"], *_factors_and_labels(arrays), **_history(arrays))
        return replace(model, known_rms=float(arrays[_UNIT])) if _UNIT in arrays.files else model


def write_tucker(path: StrPath, model: TuckerModel) -> None:
    """Write a Tucker model with its labels and its history."""
    _write(path, _TUCKER, {"core": model.core, **_fitted(model)}, model.labels)


def read_tucker(path: StrPath) -> TuckerModel:
    """Read a model that `write_tucker` wrote.

    Raises
    ------
    DataFileError
        If the file is damaged or does not hold a Tucker model.
    """
    with _opened(path, _TUCKER) as arrays:
        return TuckerModel(arrays["core"], *_factors_and_labels(arrays), **_history(arrays))


def _fitted(model: CPModel | TuckerModel) -> dict[str, Array]:
    """Return factors and history as arrays."""
    return {
        **{f"factor_{mode}": factor for mode, factor in enumerate(model.factors)},
        "fit": np.array([] if model.fit is None else [model.fit]),
        "fits": np.array(model.fits),
        "times": np.array(model.times),
        "converged": np.array(model.converged),
        **{f"measure_{name}": np.array(series) for name, series in model.measures.items()},
    }


def _factors_and_labels(arrays: Any) -> tuple[tuple[Array, ...], tuple[ModeLabels, ...]]:
    labels = _labels(arrays)
    return tuple(arrays[f"factor_{mode}"] for mode in range(len(labels))), labels


def _history(arrays: Any) -> dict[str, Any]:
    return {
        "fit": next(iter(arrays["fit"].tolist()), None),
        "fits": tuple(arrays["fits"].tolist()),
        "times": tuple(arrays["times"].tolist()),
        "converged": bool(arrays["converged"]),
        "measures": {
            name.removeprefix("measure_"): tuple(arrays[name].tolist())
            for name in arrays.files
            if name.startswith("measure_")
        },
    }


def check_archive_name(path: StrPath) -> Path:
    """Return the path of an archive to write; its name has to end in ``.npz``."""
    if Path(path).suffix.lower() != ".npz":
        raise ValueError(f"path: the name of an archive ends in .npz, got {str(path)!r}")
    return Path(path)


def _write(path: StrPath, kind: str, arrays: Mapping[str, Array], labels: tuple[ModeLabels, ...]) -> None:
    text = json.dumps([[item.name, item.entries] for item in labels])
    with replacing(check_archive_name(path)) as file:
        np.savez(file, kind=np.array(kind), labels=np.frombuffer(text.encode(), np.uint8), **arrays)


@contextmanager
def _opened(path: StrPath, kind: str) -> Iterator[Any]:
    """Open an archive of one kind; whatever fails while it is read means that it is damaged."""
    try:
        with zipfile.ZipFile(path):  # np.load would take a file of a single array as well
            pass
        with np.load(path, allow_pickle=False) as arrays:
            found = str(arrays["kind"]) if "kind" in arrays.files else "file of another kind"
            if found != kind:
                hint = "; gpualto show prints it" if found == _MODEL else ""
                raise DataFileError(f"{path}: holds a {found}, expected a {kind}{hint}")
            yield arrays
    except (FileNotFoundError, IsADirectoryError, PermissionError, DataFileError):
        raise
    except (
        OSError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise DataFileError(f"{path}: damaged, or not an archive of gpualto ({error})") from error


def _labels(arrays: Mapping[str, Array]) -> tuple[ModeLabels, ...]:
    items = json.loads(arrays["labels"].tobytes())
    return tuple(ModeLabels(name, None if entries is None else tuple(entries)) for name, entries in items)


def _check_stored(encoding: AltoEncoding, index: tuple[Array, ...], values: Array) -> None:
    if values.dtype not in (np.float32, np.float64):
        raise ValueError(f"values are of type {values.dtype}")
    if tuple(word.dtype for word in index) != encoding.words:
        raise ValueError("the index is not of the types that the shape asks for")
    if any(array.shape != (values.size,) for array in (*index, values)):
        raise ValueError("index and values differ in length")
    if not is_increasing(index):
        raise ValueError("the index is not increasing")
    coords = tuple(encoding.delinearize(index))
    check_bounds(coords, encoding.shape)
    if any((a != b).any() for a, b in zip(encoding.linearize(coords), index, strict=True)):
        raise ValueError("the index has bits beyond its encoding")
