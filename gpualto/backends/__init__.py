"""Where operations run. A backend is a module with the functions that `Backend` names."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gpualto._arrays import Array, Coordinates, array_module
from gpualto.encoding import AltoEncoding, LinearIndex

if TYPE_CHECKING:
    from gpualto.tensor import AnyTensor

Fill = Callable[[list[Array | None], Array], None]
"""Fills an output from factors of one type, all contiguous and aligned, apart from each other."""

CHOICE = "GPUALTO_BACKEND"
"""Environment variable: "reference" or "cpu" in place of the choice made here."""

_FEW, _VERY_FEW = 1 << 18, 1 << 12
"""Nonzeros that NumPy sorts sooner than Numba is loaded, or has compiled for another number of modes."""


class Backend(Protocol):
    """What every backend offers; `gpualto.backends.reference` is the definition of each function."""

    def mttkrp(
        self, X: Any, factors: list[Array | None], mode: int, out: Array, *, deterministic: bool = False
    ) -> None:
        """Fill `out`, C-contiguous and apart from all that is read, with the MTTKRP of a mode."""

    def plan_mttkrp(
        self, X: Any, mode: int, rank: int, dtype: np.dtype[np.floating], *, deterministic: bool = False
    ) -> Fill:
        """Return what does the MTTKRP of a mode for a rank and type, with all that can be decided decided."""

    def model_values(self, X: Any, factors: list[Array], out: Array) -> None:
        """Fill `out` with the sum of the product of the factor rows that each entry selects."""

    def mttkrp_of_ratios(
        self,
        X: Any,
        factors: list[Array],
        mode: int,
        smallest: float,
        out: Array,
        *,
        deterministic: bool = False,
    ) -> None:
        """Fill `out` with the MTTKRP of each value over that of the model which the factors make."""

    def sort_entries(
        self, encoding: AltoEncoding, coords: Coordinates, values: Array
    ) -> tuple[LinearIndex, Array]:
        """Check coordinates, and return linear indices and values in stable order of the index."""

    def argsort(self, index: LinearIndex) -> Array:
        """Return the stable permutation that sorts linear indices."""

    def sum_runs(self, numbers: Array, starts: Array) -> Array:
        """Return the sums of runs of rows, each from a start to the next, accumulated in float64."""

    def delinearize(self, encoding: AltoEncoding, index: LinearIndex) -> Array:
        """Return the (ndim, nnz) int64 coordinates of linear indices."""

    def solve_normal_equations(self, gram_product: Array, right: Array) -> Array:
        """Return the least-squares solution U of ``U @ gram_product = right``, of the type of `right`."""

    def describe(self) -> str:
        """Return what this backend is, for reading."""

    def source(self, X: Any, mode: int, rank: int, dtype: np.dtype[np.floating]) -> str:
        """Return the code of the loop, for reading."""

    def explain(self, X: Any, mode: int, rank: int, *, deterministic: bool = False) -> str:
        """Return how the MTTKRP of a mode is computed, and why."""


def backend_for(X: AnyTensor) -> Backend:
    """Return the backend for a tensor: CUDA for CuPy arrays, compiled code with Numba, else NumPy.

    Raises
    ------
    ValueError
        If the environment variable GPUALTO_BACKEND names no backend, or the tensor is not on the current
        device.
    """
    if array_module(X.values) is np:
        return _host_backend(os.environ.get(CHOICE, ""))
    return _device_backend(X.values)


def backend_for_construction(values: Array) -> Backend:
    """Return the backend that sorts nonzeros; NumPy sorts a few on the host before Numba would be ready."""
    if array_module(values) is not np:
        return _device_backend(values)
    few = _VERY_FEW if "numba" in sys.modules else _FEW
    if values.size < few and CHOICE not in os.environ:
        return _host_backend("reference")
    return _host_backend(os.environ.get(CHOICE, ""))


def _device_backend(values: Array) -> Backend:
    current, there = array_module(values).cuda.Device().id, values.device.id
    if there != current:  # kernels run on the current device, and would be given the addresses of another
        raise ValueError(
            f"X: is on cuda:{there} and the current device is cuda:{current}; work in a block of "
            f"`with cupy.cuda.Device({there}):`"
        )
    from gpualto.backends import cuda

    return cuda


@cache
def _host_backend(choice: str) -> Backend:
    if choice not in ("", "cpu", "reference"):
        raise ValueError(f'{CHOICE}: expected "cpu" or "reference", got {choice!r}')
    if choice == "cpu" or (choice == "" and find_spec("numba") is not None):
        try:
            from gpualto.backends import cpu
        except ImportError as error:
            if choice == "cpu":
                raise
            warnings.warn(f"NumPy takes the place of compiled code: {error}", RuntimeWarning, stacklevel=3)
        else:
            return cpu
    from gpualto.backends import reference

    return reference
