"""The kernels of gpualto on the host: compiled for a tensor, launched on NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from gpualto.kernels import layout_source, translation_unit

import gpualto
from gpualto import AltoEncoding
from tests.gpuhost.build import Library, compile_kernels

C_NAMES = {"f4": "float", "f8": "double", "u4": "unsigned", "i8": "long long"}


def c_name(dtype: object) -> str:
    """Return the C++ name of a type."""
    return C_NAMES[np.dtype(dtype).str[1:]]


def addresses(*arrays: np.ndarray) -> np.ndarray:
    """Return the addresses of arrays as one parameter that is passed by value."""
    return np.array([array.ctypes.data for array in arrays], np.uint64)


def poisoned(shape: tuple[int, ...] | int, dtype: object) -> np.ndarray:
    """Return an array of numbers that nobody would take for a result."""
    array = np.empty(shape, dtype)
    array.view(np.uint8)[...] = 0xFF
    return array


@dataclass
class Kernels:
    """Kernels for one bit layout; launches name the arrays that they may touch."""

    sources: Sequence[str]
    encoding: AltoEncoding
    checked: bool = False
    compiled: dict[str, Library] = field(default_factory=dict)

    def launch(
        self,
        expression: str,
        grid: tuple[int, ...],
        threads: int,
        arguments: Sequence[np.generic | np.ndarray],
        memory: Mapping[str, np.ndarray],
        *,
        shared_bytes: int = 0,
        seed: int = 0,
    ) -> None:
        """Run a kernel of the namespace gpualto."""
        if expression not in self.compiled:
            text = layout_source(self.encoding) + "\n" + translation_unit(*self.sources)
            self.compiled[expression] = compile_kernels(
                text, [f"gpualto::{expression}"], checked=self.checked
            )
        self.compiled[expression].launch(
            f"gpualto::{expression}",
            grid,
            (threads,),
            arguments,
            memory=memory,
            shared_bytes=shared_bytes,
            seed=seed,
        )


def words_of(X: gpualto.Tensor) -> dict[str, np.ndarray]:
    """Return the words of the linear indices, by names for messages."""
    return {f"word {number}": word for number, word in enumerate(X.index)}
