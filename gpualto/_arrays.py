"""Array arguments: which module they belong to, and their checked, canonical form."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from gpualto._optional import require

Array = Any
"""A NumPy or CuPy array; the two share no type."""

Coordinates = tuple[Array, ...]
"""One integer array per mode, all of one length."""

LARGEST_EXACT_INTEGER = 2**53
"""Integers up to here survive the conversion to float64."""

VECTOR_BYTES = 16
"""Alignment of the arrays that kernels load and store as vectors; allocators give more."""

_BLOCK = 1 << 14
_DENSE_LIMIT = 4 * 2**30
_LINE_BYTES = 64
_DLPACK_CUDA = 2


def empty(shape: tuple[int, ...], dtype: Any, xp: ModuleType = np) -> Array:
    """Return a new array that begins on a cache line; NumPy's own may begin within one.

    A row of a vector's width that crosses two lines takes a third longer to load.
    """
    if xp is not np:
        return xp.empty(shape, dtype)
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(nbytes + _LINE_BYTES, np.uint8)
    start = -raw.ctypes.data % _LINE_BYTES
    return raw[start : start + nbytes].view(dtype).reshape(shape)


def is_aligned(array: Array, nbytes: int = _LINE_BYTES) -> bool:
    """Tell whether an array begins at a multiple of so many bytes, by default on a cache line."""
    address = array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr
    return int(address) % nbytes == 0


def largest_size(array: Array) -> float:
    """Return the largest absolute value, zero where there is none."""
    return float(abs(array).max()) if array.size else 0.0


def array_module(array: Array) -> ModuleType:
    """Return the module whose functions work on `array`: NumPy, or CuPy for its arrays."""
    if type(array).__module__.partition(".")[0] == "cupy":
        import cupy

        return cupy  # type: ignore[no-any-return]
    return np


def kind_of(xp: ModuleType) -> str:
    """Return the name of an array module as people write it."""
    return "NumPy" if xp is np else "CuPy"


def as_array(item: Any) -> Array:
    """Return an array: CuPy's for what lives on a CUDA device, whichever package made it, else NumPy's.

    Without a copy where the other package offers ``__cuda_array_interface__`` or DLPack.

    Raises
    ------
    TypeError
        If it is a masked array, or becomes no array.
    """
    if array_module(item) is not np:
        return item
    if isinstance(item, np.ma.MaskedArray):
        raise TypeError("a masked array; fill it, or pass the entries that are not masked to from_coo")
    if hasattr(item, "detach"):  # PyTorch's gradients are no numbers
        item = item.detach()
    if hasattr(item, "__cuda_array_interface__"):
        return require("cupy", "cuda13", f"an array of {type(item).__module__} on a device").asarray(item)
    if hasattr(item, "__dlpack_device__") and int(item.__dlpack_device__()[0]) == _DLPACK_CUDA:
        return require("cupy", "cuda13", f"an array of {type(item).__module__} on a device").from_dlpack(item)
    try:
        is_foreign = hasattr(item, "__dlpack__") and not hasattr(item, "__array__")
        array = np.from_dlpack(item) if is_foreign else np.asarray(item)
    except RuntimeError as error:
        raise TypeError(f"{type(item).__name__}: becomes no array: {error}") from None
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def device_of(array: Array) -> str:
    """Return where an array lives: ``"cpu"``, or ``"cuda:0"`` for the first device."""
    return "cpu" if array_module(array) is np else f"cuda:{array.device.id}"


def mover_to(device: str) -> Callable[[Array], Array]:
    """Return the function that brings arrays to a device, and leaves those alone that are there already.

    Raises
    ------
    ValueError
        If the name is not ``"cpu"``, ``"cuda"``, or ``"cuda:"`` and a number.
    MissingPackageError
        If a device is named and CuPy is not installed.
    """
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind not in ("cpu", "cuda") or (":" in device and (kind == "cpu" or not number.isdecimal())):
        raise ValueError(f'device: expected "cpu", "cuda" or "cuda:1" and the like, got {device!r}')
    if kind == "cpu":
        return lambda array: array if array_module(array) is np else array.get()
    cupy = require("cupy", "cuda13", f'the device "{device}"')
    target = int(number) if number else cupy.cuda.Device().id

    def move(array: Array) -> Array:
        if array_module(array) is cupy and array.device.id == target:
            return array
        with cupy.cuda.Device(target):
            return cupy.array(array)

    return move


def blocks(count: int, xp: ModuleType = np, size: int = _BLOCK) -> Iterator[slice]:
    """Split `range(count)` into slices: small enough for the cache on the CPU, a single one on a device."""
    step = size if xp is np else max(count, 1)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def scatter(coords: Array, values: Array, shape: tuple[int, ...]) -> Array:
    """Return the dense array with some values at some coordinates.

    Raises
    ------
    ValueError
        If it would take more than 4 GiB.
    """
    check_dense_size(shape, values.dtype)
    dense = array_module(values).zeros(shape, values.dtype)
    dense[tuple(coords)] = values if shape else values.sum()
    return dense


def check_dense_size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise for a dense array that nobody can have wanted."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > _DENSE_LIMIT:
        raise ValueError(
            f"a dense array of shape {shape} would take {nbytes / 2**30:,.1f} GiB, the limit is "
            f"{_DENSE_LIMIT >> 30} GiB; slice the tensor, or ask for single values"
        )


def as_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return `shape` as Python integers, checked."""
    try:
        lengths = tuple(operator.index(length) for length in shape)
    except TypeError:
        raise TypeError(f"shape: expected a sequence of integers, one per mode, got {shape!r}") from None
    if not lengths:
        raise ValueError("shape: a tensor has at least one mode, got ()")
    for mode, length in enumerate(lengths):
        if not 0 <= length <= 2**63:
            raise ValueError(f"shape: mode {mode} has length {length}, outside [0, 2**63]")
    return lengths


def as_mode(mode: int, ndim: int, argument: str = "mode") -> int:
    """Return `mode` counted from the front; negative modes count from the back."""
    try:
        number = operator.index(mode)
    except TypeError:
        raise TypeError(f"{argument}: expected an integer, got {mode!r}") from None
    if not -ndim <= number < ndim:
        raise ValueError(f"{argument}: {number} is outside [{-ndim}, {ndim}) for a tensor of {ndim} modes")
    return number % ndim


def as_modes(modes: Sequence[int], ndim: int, argument: str) -> list[int]:
    """Return modes counted from the front, each at most once."""
    numbers = [as_mode(mode, ndim, argument) for mode in modes]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{argument}: a mode is named twice in {tuple(modes)}")
    return numbers


def as_coordinates(coords: Array | Sequence[Array]) -> Coordinates:
    """Return `coords`, an (ndim, nnz) array or a sequence of ndim arrays, as one integer array per mode."""
    rows = coords if isinstance(coords, (tuple, list)) or getattr(coords, "ndim", 0) == 2 else None
    if rows is None or len(rows) == 0:
        raise TypeError(
            "coords: expected an (ndim, nnz) integer array or a sequence of ndim integer arrays, "
            f"got {_describe(coords)}; the order of arguments is (coords, values, shape)"
        )
    arrays = tuple(_as_integers(row, mode) for mode, row in enumerate(rows))
    lengths = [array.size for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"coords: the modes differ in length: {lengths}")
    return arrays


def _as_integers(row: Array, mode: int) -> Array:
    array = as_array(row)
    if array.ndim != 1:
        raise TypeError(
            f"coords: mode {mode} must be a one-dimensional array, got {_describe(row)}; "
            "the order of arguments is (coords, values, shape)"
        )
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"coords: mode {mode} must be of an integer type, got {array.dtype}")
    return array


def check_bounds(coords: Coordinates, shape: tuple[int, ...]) -> None:
    """Raise `ValueError` for the first coordinate outside `shape`."""
    if len(coords) != len(shape):
        raise ValueError(f"coords: {len(coords)} modes were given for a shape of {len(shape)}: {shape}")
    for mode, (coordinate, length) in enumerate(zip(coords, shape, strict=True)):
        if coordinate.size == 0:
            continue
        # Compared as Python integers: a mixed comparison would round large uint64 coordinates.
        if int(coordinate.min()) >= 0 and int(coordinate.max()) < length:
            continue
        wrong = coordinate > length - 1 if length <= np.iinfo(coordinate.dtype).max else coordinate < 0
        if coordinate.dtype.kind == "i":
            wrong = wrong | (coordinate < 0)
        raise out_of_bounds(coords, shape, mode, int(wrong.argmax()))


def out_of_bounds(coords: Coordinates, shape: tuple[int, ...], mode: int, position: int) -> ValueError:
    """Return the error that names a coordinate outside `shape`."""
    return ValueError(
        f"coords: mode {mode} has the coordinate {int(coords[mode][position])} at position {position}, "
        f"outside [0, {shape[mode]})"
    )


def as_values(values: Array) -> Array:
    """Return `values` as a one-dimensional float32 or float64 array; integers and booleans become float64."""
    array = as_array(values)
    if array.ndim != 1:
        raise TypeError(
            f"values: expected a one-dimensional array, got {_describe(values)}; "
            "the order of arguments is (coords, values, shape)"
        )
    return as_floats(array, "values")


def as_floats(array: Array, name: str) -> Array:
    """Return `array` as float32 or float64, whichever holds its values without loss."""
    dtype = array.dtype
    if dtype in (np.float32, np.float64):
        return array
    if dtype == np.float16:
        return array.astype(np.float32)
    if dtype.kind not in "biu":
        reason = "complex numbers are not supported" if dtype.kind == "c" else "expected real numbers"
        raise TypeError(f"{name}: {reason}, got {dtype}; convert to float32 or float64 first")
    if dtype.itemsize == 8 and array.size:
        extremes = (int(array.min()), int(array.max()))
        if max(map(abs, extremes)) > LARGEST_EXACT_INTEGER:
            raise ValueError(
                f"{name}: integers beyond 2**53 (here {max(extremes, key=abs)}) have no exact float64; "
                "convert to float64 first if rounding is acceptable"
            )
    return array.astype(np.float64)


def _describe(argument: object) -> str:
    shape = getattr(argument, "shape", None)
    return f"{type(argument).__name__} of shape {tuple(shape)}" if shape is not None else repr(argument)[:60]
