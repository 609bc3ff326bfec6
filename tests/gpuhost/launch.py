"""Launch kernels that were compiled for the host."""

import ctypes
import functools
import itertools
import math
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

SHARED_LIMIT = 232448  # bytes of shared memory that a block can have on recent devices
STATIC_SHARED_LIMIT = 48 << 10  # bytes of it that may be declared as variables
THREADS_LIMIT = 1024
ARGUMENT_ALIGNMENT = 64
MESSAGE_BYTES = 4096

# One kernel runs at a time: the runtime's state is global.
_runtime_lock = threading.RLock()


class KernelFault(RuntimeError):  # noqa: N818  (a fault is what devices call it)
    """A kernel did something that is undefined on a device."""


class _Entry(ctypes.Structure):
    _fields_ = [
        ("call", ctypes.c_void_p),
        ("argument_count", ctypes.c_uint),
        ("argument_sizes", ctypes.POINTER(ctypes.c_uint)),
    ]


class _Array(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("begin", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("writable", ctypes.c_int),
    ]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("entry", ctypes.POINTER(_Entry)),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("argument_buffer", ctypes.c_void_p),
        ("argument_bytes", ctypes.c_size_t),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_size_t),
        ("seed", ctypes.c_uint64),
        ("arrays", ctypes.POINTER(_Array)),
        ("array_count", ctypes.c_size_t),
        ("checked", ctypes.c_int),
        ("check_global_memory", ctypes.c_int),
        ("message", ctypes.c_char_p),
        ("message_bytes", ctypes.c_size_t),
    ]


class Library:
    """Compiled kernels, by the expressions that they were asked for with."""

    def __init__(self, runtime: Path, kernels: Mapping[str, Path], checked: bool):
        self._runtime = runtime
        self._files = dict(kernels)
        self._checked = checked
        self._loaded: dict[str, ctypes.CDLL] = {}

    def launch(
        self,
        expression: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        arguments: Sequence[np.generic | np.ndarray],
        *,
        shared_bytes: int = 0,
        seed: int = 0,
        memory: Mapping[str, np.ndarray] | None = None,
        shared_limit: int = SHARED_LIMIT,
    ) -> None:
        """Run a kernel to its end, or raise KernelFault.

        Parameters
        ----------
        arguments
            The kernel's, each as a NumPy scalar or array whose bytes are passed by value: addresses of device
            memory as ``np.uint64``, structures as arrays of a structured type.
        shared_bytes
            Size of dynamic shared memory.
        seed
            0 runs threads in order, any other one in a random order of its own.
        memory
            The arrays that the kernel may touch, by names for messages. A checked kernel may touch no others,
            and write only to those that are writable. None leaves global memory unchecked.
        """
        entry = self._entry(expression)
        _check_arguments(expression, entry, arguments)
        self._check_shared_memory(expression, shared_bytes, shared_limit)
        pointers, buffer = _passed_by_value(arguments)
        arrays = _described_arrays(memory or {})
        message = ctypes.create_string_buffer(MESSAGE_BYTES)
        request = _Launch(
            entry=ctypes.pointer(entry),
            arguments=pointers,
            argument_buffer=ctypes.addressof(buffer),
            argument_bytes=ctypes.sizeof(buffer),
            grid=_three("grid", grid, 2**31 - 1),
            block=_three("block", block, THREADS_LIMIT),
            shared_bytes=shared_bytes,
            seed=seed,
            arrays=arrays,
            array_count=len(arrays),
            checked=self._checked,
            check_global_memory=memory is not None,
            message=ctypes.cast(message, ctypes.c_char_p),
            message_bytes=MESSAGE_BYTES,
        )
        with _runtime_lock:
            _runtime(self._runtime).gpuhost_launch(ctypes.byref(request))
        if message.value:
            raise KernelFault(self._with_lines(expression, message.value.decode()))

    def static_shared_bytes(self, expression: str) -> int:
        """Return the size of the kernel's shared variables."""
        with _runtime_lock:  # the runtime looks at one kernel at a time
            return _runtime(self._runtime).gpuhost_static_shared_bytes(ctypes.byref(self._entry(expression)))

    def _entry(self, expression: str) -> _Entry:
        if expression not in self._files:
            raise KeyError(f"{expression} was not compiled; there are {', '.join(self._files)}")
        if expression not in self._loaded:
            self._loaded[expression] = ctypes.CDLL(str(self._files[expression]))
        return _Entry.in_dll(self._loaded[expression], "gpuhost_entry")

    def _check_shared_memory(self, expression: str, dynamic: int, limit: int) -> None:
        static = self.static_shared_bytes(expression)
        if static > STATIC_SHARED_LIMIT:
            raise ValueError(
                f"{expression} declares {static} bytes of shared variables, above {STATIC_SHARED_LIMIT}"
            )
        if static + dynamic > limit:
            raise ValueError(f"{expression} needs {static} + {dynamic} bytes of shared memory, above {limit}")

    def _with_lines(self, expression: str, message: str) -> str:
        """Replace places in the library by lines of the source."""
        file = self._files[expression]
        found = re.sub(r"<site ([0-9a-f]+)>", lambda site: _line(file, int(site[1], 16)), message)
        return f"{expression}: {found}"


@functools.cache
def _runtime(file: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(file))
    library.gpuhost_launch.argtypes = [ctypes.POINTER(_Launch)]
    library.gpuhost_launch.restype = None
    library.gpuhost_static_shared_bytes.argtypes = [ctypes.POINTER(_Entry)]
    library.gpuhost_static_shared_bytes.restype = ctypes.c_size_t
    return library


def _check_arguments(expression: str, entry: _Entry, arguments: Sequence[np.generic | np.ndarray]) -> None:
    expected = entry.argument_sizes[: entry.argument_count]
    if len(arguments) != len(expected):
        raise TypeError(f"{expression} takes {len(expected)} arguments, not {len(arguments)}")
    for position, (argument, size) in enumerate(zip(arguments, expected, strict=True)):
        if not isinstance(argument, np.generic | np.ndarray):
            raise TypeError(
                f"{expression}: argument {position} has to be a NumPy scalar or array, "
                f"not {type(argument).__name__}"
            )
        if argument.nbytes != size:
            raise TypeError(
                f"{expression}: argument {position} has {argument.nbytes} bytes ({argument.dtype}), "
                f"the kernel's parameter {size}"
            )


def _passed_by_value(arguments: Sequence[np.generic | np.ndarray]) -> tuple[ctypes.Array, ctypes.Array]:
    """Return pointers to aligned copies of the arguments, and the buffer that they point into."""
    texts = [argument.tobytes() for argument in arguments]
    starts, end = [], 0
    for text in texts:
        starts.append(end)
        end += math.ceil(len(text) / ARGUMENT_ALIGNMENT) * ARGUMENT_ALIGNMENT
    buffer = ctypes.create_string_buffer(end + ARGUMENT_ALIGNMENT)
    first = ctypes.addressof(buffer)
    first += -first % ARGUMENT_ALIGNMENT
    for start, text in zip(starts, texts, strict=True):
        ctypes.memmove(first + start, text, len(text))
    return (ctypes.c_void_p * len(texts))(*(first + start for start in starts)), buffer


def _described_arrays(memory: Mapping[str, np.ndarray]) -> ctypes.Array:
    arrays = []
    for name, array in memory.items():
        if not array.flags.c_contiguous:
            raise ValueError(f"memory: {name} has to be contiguous")
        if array.nbytes:
            arrays.append(_Array(name.encode(), array.ctypes.data, array.nbytes, array.flags.writeable))
    arrays.sort(key=lambda array: array.begin)
    for one, other in itertools.pairwise(arrays):
        if one.begin + one.bytes > other.begin:
            raise ValueError(f"memory: {one.name.decode()} and {other.name.decode()} overlap")
    return (_Array * len(arrays))(*arrays)


def _three(name: str, sizes: tuple[int, ...], limit: int) -> tuple[int, int, int]:
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1 or math.prod(sizes) > limit:
        raise ValueError(
            f"{name} is {sizes}; it has to be three positive sizes at most, of product {limit} at most"
        )
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _line(file: Path, offset: int) -> str:
    """Return " (kernels.cu:12)" for a return address: the innermost place outside the runtime."""
    command = ["addr2line", "--exe", str(file), "--inlines", hex(offset - 1)]
    try:
        places = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return ""
    runtime = str(Path(__file__).parent / "runtime")
    names = [Path(place.split(" ")[0]).name for place in places if not place.startswith((runtime, "??"))]
    return f" ({names[0]})" if names else ""
