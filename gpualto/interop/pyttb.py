"""pyttb's sparse tensors and CP models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpualto._optional import require
from gpualto.tensor import AnyTensor, Tensor

if TYPE_CHECKING:
    from gpualto.decomposition.model import CPModel
    from gpualto.decomposition.tucker_model import TuckerModel


def to_pyttb(X: AnyTensor) -> Any:
    """Return a ``pyttb.sptensor`` with a copy of the entries, in their order."""
    pyttb = require("pyttb", "bench", "Tensor.to_pyttb")
    if X.ndim == 0:
        raise ValueError("X: has no modes, and pyttb's tensors have at least one")
    coords, values = X.to_device("cpu").entries()
    return pyttb.sptensor(np.ascontiguousarray(coords.T), values.astype(np.float64)[:, np.newaxis], X.shape)


def from_pyttb(tensor: Any) -> Tensor:
    """Return a tensor from a ``pyttb.sptensor``, or from a dense ``pyttb.tensor``."""
    if not hasattr(tensor, "subs"):
        return Tensor.from_dense(tensor.data)
    count = tensor.vals.size
    coords = tensor.subs.T if count else np.zeros((len(tensor.shape), 0), np.int64)
    return Tensor.from_coo(coords, tensor.vals.reshape(-1), tensor.shape)


def to_ktensor(model: CPModel) -> Any:
    """Return a ``pyttb.ktensor`` with copies of weights and factors."""
    pyttb = require("pyttb", "bench", "CPModel.to_pyttb")
    weights, factors = model.to_device("cpu")
    return pyttb.ktensor([factor.astype(np.float64) for factor in factors], weights.astype(np.float64))


def to_ttensor(model: TuckerModel) -> Any:
    """Return a ``pyttb.ttensor`` with copies of core and factors."""
    pyttb = require("pyttb", "bench", "TuckerModel.to_pyttb")
    core, factors = model.to_device("cpu")
    arrays = [factor.astype(np.float64) for factor in factors]
    return pyttb.ttensor(pyttb.tensor(core.astype(np.float64)), arrays)
