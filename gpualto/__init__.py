"""Decompose and compute with sparse tensors in the Adaptive Linearized Tensor Order (ALTO)."""

from gpualto.encoding import AltoEncoding
from gpualto.ops.mttkrp import mttkrp
from gpualto.tensor import Tensor

__all__ = ["AltoEncoding", "Tensor", "mttkrp"]
