"""A tensor as a table with a row for each nonzero, a model with one for each entry of each factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import Array

if TYPE_CHECKING:
    from gpualto.decomposition.model import CPModel
    from gpualto.tensor import Tensor


def columns_of_tensor(X: Tensor, value: str) -> dict[str, Array]:
    """Return the columns of a table: see `Tensor.to_table`."""
    host = X.to_device("cpu")
    names = [item.title(mode) for mode, item in enumerate(host.labels)]
    if len({*names, value}) <= len(names):
        raise ValueError(
            f"value: the columns {', '.join([*names, value])} have to differ; name the modes, or the values"
        )
    columns = {}
    for name, item, coordinate in zip(names, host.labels, host.coords, strict=True):
        columns[name] = coordinate if item.entries is None else np.array(item.entries, str)[coordinate]
    return {**columns, value: host.values}


def columns_of_model(model: CPModel) -> dict[str, Array]:
    """Return the columns of a tidy table: see `CPModel.to_table`."""
    host = model.to_device("cpu")
    modes = list(zip(host.labels, host.factors, strict=True))
    names = [np.full(len(factor), item.title(mode)) for mode, (item, factor) in enumerate(modes)]
    texts = [np.array([item.text(n) for n in range(len(factor))], str) for item, factor in modes]
    indices = [np.arange(len(factor)) for factor in host.factors]
    rows = sum(host.shape)
    return {
        "component": np.repeat(np.arange(1, host.rank + 1), rows),
        "mode": np.tile(np.concatenate(names), host.rank),
        "label": np.tile(np.concatenate(texts), host.rank),
        "index": np.tile(np.concatenate(indices), host.rank),
        "weight": np.concatenate(host.factors).T.reshape(-1),
    }
