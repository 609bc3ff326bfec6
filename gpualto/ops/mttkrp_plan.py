"""An MTTKRP that is called again and again: everything that can be done before the calls is done once."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module, as_mode
from gpualto.backends import Fill, backend_for
from gpualto.ops.mttkrp import Factors, as_inputs, check_out, is_plain
from gpualto.profiling import annotate
from gpualto.tensor import AnyTensor, require_any_tensor


@dataclass(frozen=True, eq=False)
class MttkrpPlan:
    """The MTTKRP of a tensor for one rank and type, all modes; made by `plan_mttkrp`.

    Printed, it says how each mode is computed, and why.
    """

    X: AnyTensor
    rank: int
    dtype: np.dtype[np.floating]
    deterministic: bool
    fills: tuple[Fill, ...] = field(repr=False)

    def __call__(self, factors: Factors, mode: int, out: Array) -> Array:
        """Fill `out`, and return it.

        Parameters
        ----------
        factors : sequence of (I_n, R) arrays
            C-contiguous and of the plan's type; the entry of `mode` is not read and may be None.
        mode : int
            The mode whose rows are computed; negative modes count from the back.
        out : (I_mode, R) array
            C-contiguous, of the plan's type, apart from all factors.

        Raises
        ------
        TypeError
            If an array has another type than the plan.
        ValueError
            If an array has another shape, would have to be copied, or is read and written.
        """
        mode = as_mode(mode, self.X.ndim)
        inputs = as_inputs(self.X, factors, mode)
        if inputs.weights is not None:
            raise TypeError("factors: a plan takes a sequence of arrays; a CP model has weights beside them")
        if inputs.rank != self.rank:
            raise ValueError(f"factors: {inputs.rank} columns were given to a plan for rank {self.rank}")
        check_out(out, (self.X.shape[mode], self.rank), self.dtype, array_module(self.X.values))
        for number, factor in enumerate(inputs.factors):
            if factor is not None:
                self._check_input(factor, number, out)
        if not is_plain(out):
            raise ValueError(f"out: {_NOT_PLAIN}")
        with annotate("mttkrp"):
            self.fills[mode](inputs.factors, out)
        return out

    def _check_input(self, factor: Array, mode: int, out: Array) -> None:
        if factor.dtype != self.dtype:
            raise TypeError(f"factors: mode {mode} is of {factor.dtype}, the plan is for {self.dtype}")
        if not is_plain(factor):
            raise ValueError(f"factors: mode {mode} {_NOT_PLAIN}")
        if np.may_share_memory(factor, out):
            raise ValueError(f"out: shares memory with the factor of mode {mode}, which is read")

    def __str__(self) -> str:
        """Return how each mode is computed, a line each."""
        explain = partial(backend_for(self.X).explain, deterministic=self.deterministic)
        return "\n".join(explain(self.X, mode, self.rank) for mode in range(self.X.ndim))


_NOT_PLAIN = "is not C-contiguous or not aligned to 16 bytes, and a plan makes no copies; pass a copy of it"


def plan_mttkrp(X: AnyTensor, rank: int, dtype: Any = None, *, deterministic: bool = False) -> MttkrpPlan:
    """Prepare the MTTKRP of all modes for many calls.

    On a CUDA device kernels are compiled, strategies chosen and scratch memory is taken here. A call only
    queues kernels on the current stream: it allocates nothing, reads nothing back, and can be captured
    in a CUDA graph. With `deterministic`, calls share that scratch memory, so those of one plan belong on one
    stream.

    Parameters
    ----------
    X : Tensor or StoredTensor
    rank : int
        Number of columns of the factors.
    dtype : float32 or float64, optional
        Type of factors and output; by default that of the tensor.
    deterministic : bool
        Whether results have the same bits on every run: see `gpualto.mttkrp`.

    Raises
    ------
    ValueError
        If the rank is not positive.
    TypeError
        If the type is neither float32 nor float64, or would lose digits of the values.

    Examples
    --------
    >>> from gpualto import Tensor
    >>> X = Tensor.from_coo([[0, 2], [1, 0], [3, 3]], [1.0, 2.0], shape=(3, 2, 4))
    >>> plan = plan_mttkrp(X, rank=2)
    >>> factors = [np.ones((length, 2)) for length in X.shape]
    >>> plan(factors, 0, out=np.empty((3, 2)))
    array([[1., 1.], [0., 0.], [2., 2.]])
    """
    require_any_tensor(X)
    columns = operator.index(rank)
    if columns < 1:
        raise ValueError(f"rank: expected a positive integer, got {columns}")
    kind = np.dtype(X.dtype if dtype is None else dtype)
    if kind not in (np.float32, np.float64) or np.result_type(kind, X.dtype) != kind:
        raise TypeError(f"dtype: expected float32 or float64, at least the tensor's {X.dtype}; got {kind}")
    backend = backend_for(X)
    with annotate("plan"):
        fills = tuple(
            backend.plan_mttkrp(X, mode, columns, kind, deterministic=deterministic) for mode in range(X.ndim)
        )
    return MttkrpPlan(X, columns, kind, deterministic, fills)
