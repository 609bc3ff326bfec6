"""The matricized tensor times Khatri-Rao product (MTTKRP): what CP decompositions spend their time in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from gpualto._arrays import (
    VECTOR_BYTES,
    Array,
    array_module,
    as_array,
    as_floats,
    as_mode,
    empty,
    is_aligned,
    kind_of,
)
from gpualto.backends import backend_for
from gpualto.profiling import annotate
from gpualto.tensor import AnyTensor, require_any_tensor


class Model(Protocol):
    """Anything with weights and factors: a CP model of this package or TensorLy's."""

    @property
    def weights(self) -> Any:
        """(R,) array, or None for ones."""

    @property
    def factors(self) -> Any:
        """One (I_n, R) array per mode."""


Factors = Sequence[Array | None] | Model
"""One (I_n, R) array per mode, or a CP model; the entry of the mode that is computed may be None."""


def mttkrp(
    X: AnyTensor, factors: Factors, mode: int, out: Array | None = None, *, deterministic: bool = False
) -> Array:
    """Multiply the unfolding of one mode with the Khatri-Rao product of the other modes' factors.

    Row i of the result is the sum, over the nonzeros with coordinate i in `mode`, of the value times the
    elementwise product of the rows that the other coordinates select. Neither the unfolding nor the
    Khatri-Rao product is ever formed.

    Parameters
    ----------
    X : Tensor or StoredTensor
    factors : sequence of (I_n, R) arrays, or CP model
        Any strides; the entry of `mode` is not read and may be None. The columns of a model are scaled by
        its weights.
    mode : int
        The mode whose rows are computed; negative modes count from the back.
    out : (I_mode, R) array, optional
        Where to put the result; any strides, and it may share memory with a factor.
    deterministic : bool
        Whether the result has the same bits whatever the number of threads, and on a device on each run,
        there of tensors in ALTO only. Without it, it is the same to rounding, and on the CPU, of a tensor in
        ALTO, to the bit for the same number of threads.

    Returns
    -------
    (I_mode, R) array
        C-ordered, or `out`. float32 where values and factors are float32, else float64. Sums are
        accumulated in the type of the result by the compiled backend, in float64 by the reference.

    Raises
    ------
    TypeError
        If factors are not real numbers or `out` has another type than the result.
    ValueError
        If the shape of a factor or of `out` does not fit; the mode is named.

    References
    ----------
    Kolda, Bader: Tensor Decompositions and Applications. SIAM Review 51(3), 2009, section 3.4.

    Examples
    --------
    >>> from gpualto import Tensor
    >>> X = Tensor.from_coo([[0, 2], [1, 0], [3, 3]], [1.0, 2.0], shape=(3, 2, 4))
    >>> ones = [np.ones((length, 2)) for length in X.shape]
    >>> mttkrp(X, ones, 0)
    array([[1., 1.], [0., 0.], [2., 2.]])
    """
    require_any_tensor(X)
    mode = as_mode(mode, X.ndim)
    xp = array_module(X.values)
    inputs = as_inputs(X, factors, mode)
    types = [array.dtype for array in [*inputs.factors, inputs.weights] if array is not None]
    dtype = np.result_type(X.dtype, *types)
    shape = (X.shape[mode], inputs.rank)
    if out is not None:
        check_out(out, shape, dtype, xp)
    result = out if out is not None and _can_be_filled(out, X, inputs) else empty(shape, dtype, xp)
    with annotate("mttkrp"):
        backend_for(X).mttkrp(X, inputs.factors, mode, result, deterministic=deterministic)
        if inputs.weights is not None:
            result *= inputs.weights
    if out is None or result is out:
        return result
    out[...] = result
    return out


def _can_be_filled(out: Array, X: AnyTensor, inputs: Inputs) -> bool:
    """Tell whether `out` is laid out as backends fill it, and shares no memory with what they read."""
    read = [array for array in (*inputs.factors, inputs.weights, X.values) if array is not None]
    return is_plain(out) and not any(np.may_share_memory(out, array) for array in read)


def is_plain(array: Array) -> bool:
    """Tell whether the rows of an array follow each other, from an address that vectors can have."""
    return array.flags.c_contiguous and is_aligned(array, VECTOR_BYTES)


@dataclass(frozen=True)
class Inputs:
    """Checked factors, None in place of the computed mode, their rank, and weights if there are any."""

    factors: list[Array | None]
    rank: int
    weights: Array | None


def as_inputs(X: AnyTensor, factors: Factors, mode: int) -> Inputs:
    """Return the factors, checked against the tensor, without that of a mode."""
    items, weights = _unpack(factors)
    _require_one_per_mode(X, items)
    inputs = [None if n == mode else _as_factor(X, item, n) for n, item in enumerate(items)]
    ranks = {n: factor.shape[1] for n, factor in enumerate(inputs) if factor is not None}
    if not ranks:  # a tensor of one mode: the product over no factors is one, in as many columns
        ranks = {mode: _as_factor(X, items[mode], mode).shape[1]}
    return _inputs(inputs, ranks, weights)


def as_all_inputs(X: AnyTensor, factors: Factors) -> Inputs:
    """Return the factors of all modes, checked against the tensor."""
    items, weights = _unpack(factors)
    _require_one_per_mode(X, items)
    inputs: list[Array | None] = [_as_factor(X, item, n) for n, item in enumerate(items)]
    return _inputs(inputs, {n: factor.shape[1] for n, factor in enumerate(inputs)}, weights)  # type: ignore[union-attr]


def _require_one_per_mode(X: AnyTensor, items: list[Array | None]) -> None:
    if X.ndim == 0:
        raise ValueError("X: has no modes, and so there are no factors")
    if len(items) != X.ndim:
        raise ValueError(f"factors: {len(items)} factors were given for a tensor of {X.ndim} modes")


def _inputs(inputs: list[Array | None], ranks: dict[int, int], weights: Array | None) -> Inputs:
    if len(set(ranks.values())) > 1:
        raise ValueError(f"factors: the numbers of columns differ by mode: {ranks}")
    rank = next(iter(ranks.values()))
    if weights is not None:
        weights = as_floats(as_array(weights), "weights")
        if weights.shape != (rank,):
            raise ValueError(f"factors: weights of shape {weights.shape} for {rank} columns")
    return Inputs(inputs, rank, weights)


def _unpack(factors: Factors) -> tuple[list[Array | None], Array | None]:
    if isinstance(factors, Sequence):
        return list(factors), None
    if hasattr(factors, "factors") and hasattr(factors, "weights"):
        return list(factors.factors), factors.weights
    raise TypeError(f"factors: expected a sequence of arrays or a CP model, got {type(factors).__name__}")


def _as_factor(X: AnyTensor, factor: Array | None, mode: int) -> Array:
    if factor is None:
        raise ValueError(f"factors: mode {mode} is None, and only the factor of the computed mode may be")
    array = as_array(factor)
    if array_module(array) is not array_module(X.values):
        kind = kind_of(array_module(array))
        remedy = "cupy.asarray(factor)" if kind == "NumPy" else "factor.get()"
        raise TypeError(
            f"factors: mode {mode} is a {kind} array and the tensor is on {X.device}; pass {remedy}"
        )
    if array.ndim != 2 or array.shape[0] != X.shape[mode]:
        raise ValueError(
            f"factors: mode {mode} has shape {array.shape}, expected ({X.shape[mode]}, rank) for this tensor"
        )
    return as_floats(array, f"factors: mode {mode}")


def check_out(out: Array, shape: tuple[int, int], dtype: np.dtype[Any], xp: ModuleType) -> None:
    """Raise where `out` cannot take the result."""
    if not isinstance(out, xp.ndarray) or out.dtype != dtype:
        raise TypeError(
            f"out: expected a {kind_of(xp)} array of {dtype}, got {getattr(out, 'dtype', type(out).__name__)}"
        )
    if out.shape != shape:
        raise ValueError(f"out: expected shape {shape}, got {out.shape}")
    if not getattr(out.flags, "writeable", True):
        raise ValueError("out: is read-only")
    if any(step == 0 and length > 1 for step, length in zip(out.strides, out.shape, strict=True)):
        raise ValueError("out: its entries share memory, as those of numpy.broadcast_to")
