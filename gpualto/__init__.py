"""Decompose and compute with sparse tensors in the Adaptive Linearized Tensor Order (ALTO)."""

from gpualto import datasets, testing
from gpualto.decomposition.als import cp_als
from gpualto.decomposition.model import CPModel
from gpualto.encoding import AltoEncoding
from gpualto.format import Format, FormatError, StoredTensor
from gpualto.format import named as formats
from gpualto.interop.any import from_any
from gpualto.io import read, read_table, write
from gpualto.ops.explain import explain, source
from gpualto.ops.mttkrp import mttkrp
from gpualto.ops.mttkrp_plan import MttkrpPlan, plan_mttkrp
from gpualto.ops.products import innerprod, matmul, sddmm, ttm, ttv
from gpualto.ops.reductions import collapse
from gpualto.ops.values import map_values
from gpualto.tables import binning as bins
from gpualto.tensor import Tensor

__version__ = "0.1.0"

__all__ = [
    "AltoEncoding",
    "CPModel",
    "Format",
    "FormatError",
    "MttkrpPlan",
    "StoredTensor",
    "Tensor",
    "bins",
    "collapse",
    "cp_als",
    "datasets",
    "explain",
    "formats",
    "from_any",
    "innerprod",
    "map_values",
    "matmul",
    "mttkrp",
    "plan_mttkrp",
    "read",
    "read_table",
    "sddmm",
    "source",
    "testing",
    "ttm",
    "ttv",
    "write",
]
