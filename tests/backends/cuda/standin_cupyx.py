"""What takes the place of ``cupyx``: cosine transforms, and sparse matrices by SciPy."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import scipy.fft
import scipy.sparse

from tests.backends.cuda.standin import function_of, ndarray, unwrap, wrap


def make_fft() -> ModuleType:
    """Return the module that takes the place of ``cupyx.scipy.fft``."""
    module = ModuleType("cupyx.scipy.fft")
    for name in ("dct", "idct"):
        setattr(module, name, function_of(getattr(scipy.fft, name)))
    return module


class SparseMatrix:
    """A matrix of ``cupyx.scipy.sparse``: two modes, indices of 32 bits where they fit."""

    __module__ = "cupyx.scipy.sparse"
    format = ""

    def __init__(self, arrays: Any, shape: tuple[int, ...]) -> None:
        if len(shape) != 2:
            raise ValueError("Only two-dimensional sparse arrays are supported.")
        self.shape, self.data = tuple(shape), arrays[0]
        assert isinstance(self.data, ndarray)
        self._take(arrays[1:])

    def tocoo(self) -> Any:
        host = self._host().tocoo()
        return CooMatrix((wrap(host.data), (wrap(host.row), wrap(host.col))), self.shape)

    def __matmul__(self, other: ndarray) -> ndarray:
        return wrap(np.asfortranarray(self._host() @ unwrap(other)))


def _narrow(array: ndarray) -> ndarray:
    return array.astype(np.int32)


class CompressedMatrix(SparseMatrix):
    """CSR or CSC."""

    def _take(self, arrays: Any) -> None:
        self.indices, self.indptr = map(_narrow, arrays)

    def _host(self) -> Any:
        make = getattr(scipy.sparse, f"{self.format}_matrix")
        return make(tuple(map(unwrap, (self.data, self.indices, self.indptr))), self.shape)


class CooMatrix(SparseMatrix):
    """COO."""

    format = "coo"

    def _take(self, arrays: Any) -> None:
        self.row, self.col = map(_narrow, arrays[0])

    @property
    def coords(self) -> Any:
        return (self.row, self.col)

    def _host(self) -> Any:
        return scipy.sparse.coo_matrix((unwrap(self.data), (unwrap(self.row), unwrap(self.col))), self.shape)

    def tocoo(self) -> Any:
        return self


class DiaMatrix(SparseMatrix):
    """DIA, whose offsets have to be of 32 bits for some versions."""

    format = "dia"

    def _take(self, arrays: Any) -> None:
        (self.offsets,) = arrays
        if self.offsets.dtype != np.int32:
            raise ValueError("Unable to avoid copy while creating an array as requested")

    def _host(self) -> Any:
        return scipy.sparse.dia_matrix((unwrap(self.data), unwrap(self.offsets)), self.shape)


def csr_matrix(arrays: Any, shape: tuple[int, ...]) -> SparseMatrix:
    """Return a CSR matrix, also of values and coordinates."""
    if isinstance(arrays[1], tuple):
        host = CooMatrix(arrays, shape)._host().tocsr()
        arrays = tuple(map(wrap, (host.data, host.indices, host.indptr)))
    return type("csr_matrix", (CompressedMatrix,), {"format": "csr", "__module__": "cupyx.scipy.sparse"})(
        arrays, shape
    )


def csc_matrix(arrays: Any, shape: tuple[int, ...]) -> SparseMatrix:
    """Return a CSC matrix."""
    return type("csc_matrix", (CompressedMatrix,), {"format": "csc", "__module__": "cupyx.scipy.sparse"})(
        arrays, shape
    )


def make_cupyx() -> dict[str, ModuleType]:
    """Return the modules that take the place of ``cupyx``, by name."""
    modules = {name: ModuleType(name) for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse")}
    modules["cupyx.scipy.fft"] = make_fft()
    kinds = {"csr": csr_matrix, "csc": csc_matrix, "coo": CooMatrix, "dia": DiaMatrix}
    for kind, make in kinds.items():
        setattr(modules["cupyx.scipy.sparse"], f"{kind}_matrix", make)
    return modules
