"""PyTorch's tensors, sparse and dense, on the CPU and on CUDA devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module, as_array
from gpualto._optional import require
from gpualto.format.storage import StoredTensor
from gpualto.interop.compressed import block_of, check_indices, compressed, is_canonical, matrix_kind
from gpualto.tensor import AnyTensor, Tensor

_COMPRESSES_COLUMNS = {"csr": False, "bsr": False, "csc": True, "bsc": True}
"""By layout; the others compress rows."""


def from_torch(tensor: Any) -> AnyTensor:
    """Return a tensor from one of PyTorch, without gradients.

    CSR, CSC, BSR and BSC stay what they are and share their arrays; COO and dense tensors become ALTO.

    Raises
    ------
    ValueError
        If it is a batch of compressed matrices, or has dense dimensions.
    """
    tensor = tensor.detach()
    layout = str(tensor.layout).removeprefix("torch.").removeprefix("sparse_")
    if layout in _COMPRESSES_COLUMNS:
        return _from_compressed(tensor, layout)
    if layout == "coo":
        if tensor.dense_dim():
            raise ValueError(f"tensor: has {tensor.dense_dim()} dense dimensions; use tensor.to_dense()")
        return Tensor.from_coo(as_array(tensor._indices()), as_array(tensor._values()), tuple(tensor.shape))
    return Tensor.from_dense(as_array(tensor))


def _from_compressed(tensor: Any, kind: str) -> AnyTensor:
    if tensor.ndim != 2:
        raise ValueError(
            f"tensor: a batch of {kind} matrices of shape {tuple(tensor.shape)}; pass them one by one"
        )
    if _COMPRESSES_COLUMNS[kind]:
        pos, indices = tensor.ccol_indices(), tensor.row_indices()
    else:
        pos, indices = tensor.crow_indices(), tensor.col_indices()
    values = tensor.values()
    block = tuple(values.shape[1:]) if kind.startswith("b") else None
    shape, arrays = tuple(tensor.shape), (as_array(indices), as_array(pos))
    check_indices(kind, shape, *arrays, block)
    if not is_canonical(*arrays):
        raise ValueError("tensor: indices repeat or are out of order; pass tensor.to_sparse_coo()")
    return compressed(kind, shape, as_array(values.contiguous()), *arrays, block)


def to_torch(X: AnyTensor) -> Any:
    """Return a tensor of PyTorch, on the same device: of the same layout where PyTorch has it, else COO.

    On the CPU its arrays are copies, as PyTorch has no read-only ones.
    """
    torch = require("torch", "torch", "Tensor.to_torch")
    kind = matrix_kind(X.format) if isinstance(X, StoredTensor) else None
    if isinstance(X, StoredTensor) and kind in _COMPRESSES_COLUMNS:
        block = block_of(X.format)
        if block is None or not any(n % edge for n, edge in zip(X.shape, block, strict=True)):
            values = X.values.reshape(-1, *block) if block else X.values
            pos, crd = (_shared(torch, array).long() for array in (X.pos(1), X.crd(1)))
            return getattr(torch, f"sparse_{kind}_tensor")(pos, crd, _shared(torch, values), X.shape)
    coords, values = X.entries()
    return torch.sparse_coo_tensor(_shared(torch, coords), _shared(torch, values), X.shape)


def _shared(torch: Any, array: Array) -> Any:
    """Return an array as a tensor: a copy on the host, the same memory on a device."""
    return torch.from_numpy(np.array(array)) if array_module(array) is np else torch.from_dlpack(array)
