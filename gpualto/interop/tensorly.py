"""TensorLy's CP models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpualto._optional import require

if TYPE_CHECKING:
    from gpualto.decomposition.model import CPModel


def to_cp_tensor(model: CPModel) -> Any:
    """Return a ``tensorly.cp_tensor.CPTensor`` of the same arrays, for TensorLy's backend that has them."""
    cp_tensor = require("tensorly.cp_tensor", "bench", "CPModel.to_tensorly")
    return cp_tensor.CPTensor((model.weights, list(model.factors)))
