"""TensorLy's CP and Tucker models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpualto._optional import require

if TYPE_CHECKING:
    from gpualto.decomposition.model import CPModel
    from gpualto.decomposition.tucker_model import TuckerModel


def to_cp_tensor(model: CPModel) -> Any:
    """Return a ``tensorly.cp_tensor.CPTensor`` of the same arrays, for TensorLy's backend that has them."""
    cp_tensor = require("tensorly.cp_tensor", "bench", "CPModel.to_tensorly")
    return cp_tensor.CPTensor((model.weights, list(model.factors)))


def to_tucker_tensor(model: TuckerModel) -> Any:
    """Return a ``tensorly.tucker_tensor.TuckerTensor`` of the same arrays."""
    tucker_tensor = require("tensorly.tucker_tensor", "bench", "TuckerModel.to_tensorly")
    return tucker_tensor.TuckerTensor((model.core, list(model.factors)))
