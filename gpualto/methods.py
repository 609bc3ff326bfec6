"""What every tensor can do, whatever its format: one-line calls into `gpualto.ops`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gpualto._arrays import Array, device_of, scatter

if TYPE_CHECKING:
    from gpualto.ops.mttkrp import Factors
    from gpualto.tensor import AnyTensor, Tensor


class TensorMethods:
    """Methods of `Tensor` and `StoredTensor`; each is described where the function is."""

    values: Array
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Type of the values."""
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """Where the arrays live: ``"cpu"``, or ``"cuda:0"`` for the first device."""
        return device_of(self.values)

    @abstractmethod
    def entries(self) -> tuple[Array, Array]:
        """Return coordinates, (ndim, nnz) int64, and values of the stored entries, in their order."""

    @abstractmethod
    def parts(self, size: int) -> Iterator[tuple[Array, Array]]:
        """Yield coordinates and values of the entries at `size` positions at a time."""

    def todense(self) -> Array:
        """Return the dense array.

        Raises
        ------
        ValueError
            If it would take more than 4 GiB.
        """
        return scatter(*self.entries(), self.shape)

    def to_scipy(self) -> Any:
        """Return a SciPy sparse array: see `gpualto.interop.scipy.to_scipy`."""
        from gpualto.interop.scipy import to_scipy

        return to_scipy(self)  # type: ignore[arg-type]

    def to_pyttb(self) -> Any:
        """Return a ``pyttb.sptensor``: see `gpualto.interop.pyttb.to_pyttb`."""
        from gpualto.interop.pyttb import to_pyttb

        return to_pyttb(self)  # type: ignore[arg-type]

    def to_torch(self) -> Any:
        """Return a tensor of PyTorch: see `gpualto.interop.torch.to_torch`."""
        from gpualto.interop.torch import to_torch

        return to_torch(self)  # type: ignore[arg-type]

    def to_sparse(self) -> Any:
        """Return a ``sparse.COO`` of PyData Sparse: see `gpualto.interop.sparse.to_sparse`."""
        from gpualto.interop.sparse import to_sparse

        return to_sparse(self)  # type: ignore[arg-type]

    def norm(self) -> float:
        """Return the Frobenius norm: see `gpualto.ops.reductions.norm`."""
        from gpualto.ops.reductions import norm

        return norm(self.values)

    def sum(self, axis: int | Sequence[int] | None = None) -> Tensor | float:
        """Return the sum over some modes, or over all: see `gpualto.collapse`."""
        from gpualto.ops.reductions import collapse

        return collapse(self, axis)  # type: ignore[arg-type]

    def astype(self, dtype: Any) -> Self:
        """Return the tensor with values of another type, float32 or float64."""
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"dtype: expected float32 or float64, got {np.dtype(dtype)}")
        return replace(self, values=self.values.astype(dtype))  # type: ignore[type-var]

    def map_values(self, function: Callable[[Array], Array]) -> Self:
        """Return the tensor with its stored values changed: see `gpualto.map_values`."""
        from gpualto.ops.values import map_values

        return map_values(self, function)  # type: ignore[type-var]

    def mttkrp(
        self, factors: Factors, mode: int, out: Array | None = None, *, deterministic: bool = False
    ) -> Array:
        """Multiply an unfolding with the Khatri-Rao product of the factors: see `gpualto.mttkrp`."""
        from gpualto.ops.mttkrp import mttkrp

        return mttkrp(self, factors, mode, out, deterministic=deterministic)  # type: ignore[arg-type]

    def ttv(self, vectors: Array | Sequence[Array], modes: int | Sequence[int]) -> Tensor | float:
        """Multiply with vectors along modes: see `gpualto.ttv`."""
        from gpualto.ops.products import ttv

        return ttv(self, vectors, modes)  # type: ignore[arg-type]

    def ttm(self, matrix: Array, mode: int) -> Tensor:
        """Multiply with a matrix along a mode: see `gpualto.ttm`."""
        from gpualto.ops.products import ttm

        return ttm(self, matrix, mode)  # type: ignore[arg-type]

    def innerprod(self, other: AnyTensor | Array | Any) -> float:
        """Return the inner product with a tensor, array or model: see `gpualto.innerprod`."""
        from gpualto.ops.products import innerprod

        return innerprod(self, other)  # type: ignore[arg-type]

    def __matmul__(self, other: Array) -> Array:
        """Multiply with a dense matrix or vector: see `gpualto.matmul`."""
        from gpualto.ops.products import matmul

        return matmul(self, other)  # type: ignore[arg-type]

    def __mul__(self, number: float) -> Self:
        if not _is_number(number):
            return NotImplemented
        factor = _as_float(number)
        return self.map_values(lambda values: values * values.dtype.type(factor))

    __rmul__ = __mul__

    def __truediv__(self, number: float) -> Self:
        if not _is_number(number):
            return NotImplemented
        divisor = _as_float(number)
        return self.map_values(lambda values: values / values.dtype.type(divisor))

    def __neg__(self) -> Self:
        return self.map_values(lambda values: -values)

    def __array__(self, *_: Any, **__: Any) -> Array:
        """Refuse to become dense unasked."""
        raise TypeError("a sparse tensor does not become an array by itself; use X.todense()")

    __array_ufunc__ = None  # so that array @ tensor and array * tensor fail, and number * tensor works


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError("number: is beyond the range of float64") from None


def _is_number(item: object) -> bool:
    is_real = isinstance(item, (int, float, np.integer, np.floating))
    return is_real and not isinstance(item, (bool, np.timedelta64))
