"""Kernels by name: compiled once for each specialisation and device, launched on the current stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from gpualto._arrays import Array
from gpualto.encoding import AltoEncoding, LinearIndex
from gpualto.kernels import layout_source, translation_unit

OPTIONS = ("-std=c++17",)

_C_NAMES = {
    "f4": "float", "f8": "double",
    "i1": "signed char", "i2": "short", "i4": "int", "i8": "long long",
    "u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned", "u8": "unsigned long long",
}  # fmt: skip

NO_LAYOUT = AltoEncoding((1,))
"""For kernels that have nothing to do with an index."""

_modules: dict[Any, Any] = {}


@dataclass(frozen=True)
class Device:
    """What launch shapes depend on."""

    multiprocessors: int
    threads: int
    registers: int
    shared_bytes: int

    def blocks(self, kernel: Any, threads: int) -> int:
        """Return how many blocks of a kernel the device runs at a time."""
        by_registers = self.registers // max(kernel.num_regs * threads, 1)
        return self.multiprocessors * max(min(self.threads // threads, int(by_registers)), 1)


def current_device(cupy: ModuleType) -> Device:
    """Return the current device's properties."""
    return _device(cupy, cupy.cuda.Device().id)


@cache
def _device(cupy: ModuleType, number: int) -> Device:
    attributes = cupy.cuda.Device(number).attributes
    return Device(
        attributes["MultiProcessorCount"],
        attributes["MaxThreadsPerMultiProcessor"],
        attributes["MaxRegistersPerMultiprocessor"],
        attributes["MaxSharedMemoryPerBlockOptin"],
    )


def blocks_for(cupy: ModuleType, kernel: Any, threads: int, items: int) -> int:
    """Return how many blocks of a kernel to launch for so many items: no more than run at a time."""
    return min(-(-items // threads), current_device(cupy).blocks(kernel, threads))


def kernel(cupy: ModuleType, encoding: AltoEncoding, file: str, expression: str, more: str = "") -> Any:
    """Return a kernel of the namespace gpualto, compiled for a bit layout and what `more` declares.

    CuPy keeps the compiled code on disk, under a key of the whole source.
    """
    key = (cupy, encoding, expression, more)
    if key not in _modules:
        code = f"{layout_source(encoding)}\n{more}\n{translation_unit(file)}"
        name = f"gpualto::{expression}"
        module = cupy.RawModule(code=code, options=OPTIONS, name_expressions=(name,))
        _modules[key] = module.get_function(name)
    return _modules[key]


def c_name(dtype: Any) -> str:
    """Return the C++ name of a type."""
    return _C_NAMES[np.dtype(dtype).str[1:]]


def address(array: Array) -> np.uint64:
    """Return where a device array begins."""
    return np.uint64(array.data.ptr)


def pointers(addresses: list[np.uint64]) -> Array:
    """Return addresses as one parameter that is passed by value."""
    return np.array((addresses,), np.dtype([("at", np.uint64, (len(addresses),))]))


def words_parameter(index: LinearIndex) -> Array:
    """Return the words of linear indices as a parameter."""
    return pointers([address(word) for word in index])
