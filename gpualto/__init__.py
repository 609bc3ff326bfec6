"""Decompose and compute with sparse tensors in the Adaptive Linearized Tensor Order (ALTO)."""

from gpualto import datasets, plot, report, testing
from gpualto.decomposition.als import cp_als
from gpualto.decomposition.completion import cp_complete
from gpualto.decomposition.gradient import cp_opt
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.nonnegative import cp_nn
from gpualto.decomposition.poisson import cp_apr
from gpualto.decomposition.projection import project, project_known
from gpualto.decomposition.rank_scan import RankScan, core_consistency, rank_scan
from gpualto.decomposition.tucker import hosvd, tucker_als
from gpualto.decomposition.tucker_model import TuckerModel
from gpualto.encoding import AltoEncoding
from gpualto.format import Format, FormatError, StoredTensor
from gpualto.format import named as formats
from gpualto.interop.any import from_any
from gpualto.io import read, read_table, write
from gpualto.ops.explain import explain, source
from gpualto.ops.model_values import model_values
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
    "RankScan",
    "StoredTensor",
    "Tensor",
    "TuckerModel",
    "bins",
    "collapse",
    "core_consistency",
    "cp_als",
    "cp_apr",
    "cp_complete",
    "cp_nn",
    "cp_opt",
    "datasets",
    "explain",
    "formats",
    "from_any",
    "hosvd",
    "innerprod",
    "map_values",
    "matmul",
    "model_values",
    "mttkrp",
    "plan_mttkrp",
    "plot",
    "project",
    "project_known",
    "rank_scan",
    "read",
    "read_table",
    "report",
    "sddmm",
    "source",
    "testing",
    "ttm",
    "ttv",
    "tucker_als",
    "write",
]
