"""The values of a CP model where a tensor has entries."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module, empty
from gpualto.backends import backend_for
from gpualto.ops.mttkrp import Factors, as_all_inputs
from gpualto.profiling import annotate
from gpualto.tensor import AnyTensor, require_any_tensor


def model_values(X: AnyTensor, factors: Factors) -> Array:
    """Return the values of a CP model at the entries of a tensor, in their order.

    It is what residuals are made of, and what a fit to the stored entries alone needs: the sampled product
    (SDDMM) of any number of modes.

    Parameters
    ----------
    X : Tensor or StoredTensor
        Its values are not read.
    factors : sequence of (I_n, R) arrays, or CP model
        The columns of a model are scaled by its weights.

    Returns
    -------
    (nnz,) array
        float32 where values and factors are float32, else float64.

    Raises
    ------
    TypeError
        If factors are not real numbers.
    ValueError
        If the shape of a factor does not fit; the mode is named.

    Examples
    --------
    >>> from gpualto import CPModel, Tensor
    >>> X = Tensor.from_coo([[0, 1], [1, 1]], [5.0, 9.0])
    >>> model = CPModel(None, [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])])
    >>> X.values - model_values(X, model)
    array([1., 1.])
    """
    require_any_tensor(X)
    inputs = as_all_inputs(X, factors)
    rows = [factor for factor in inputs.factors if factor is not None]
    dtype = np.result_type(X.dtype, *(factor.dtype for factor in rows))
    if inputs.weights is not None:
        shortest = min(range(X.ndim), key=lambda mode: X.shape[mode])
        rows[shortest] = rows[shortest] * inputs.weights.astype(dtype)
    count = X.nnz
    if inputs.rank == 0:
        return array_module(X.values).zeros(count, dtype)
    out = empty((count,), dtype, array_module(X.values))
    with annotate("model values"):
        backend_for(X).model_values(X, rows, out)
    return out
