"""A tensor as a table with a row for each nonzero, a model with one for each entry of each factor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpualto._arrays import Array

if TYPE_CHECKING:
    from gpualto.decomposition.fitted import Fitted
    from gpualto.decomposition.model import CPModel
    from gpualto.decomposition.tucker_model import TuckerModel
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
        columns[name] = coordinate if item.entries is None else _objects(item.entries)[coordinate]
    return {**columns, value: host.values}


def columns_of_model(model: CPModel) -> dict[str, Array]:
    """Return the columns of a tidy table: see `CPModel.to_table`."""
    host = model.to_device("cpu")
    rows = [_rows(host, mode) for mode in range(host.ndim)]
    names, texts, indices = (np.tile(np.concatenate(column), host.rank) for column in zip(*rows, strict=True))
    return {
        "component": np.repeat(np.arange(1, host.rank + 1), sum(host.shape)),
        "mode": names,
        "label": texts,
        "index": indices,
        "weight": np.concatenate(host.factors).T.reshape(-1),
    }


def columns_of_tucker(model: TuckerModel) -> dict[str, Array]:
    """Return the columns of a tidy table: see `TuckerModel.to_table`."""
    host = model.to_device("cpu")
    parts = []
    for mode, factor in enumerate(host.factors):
        length, rank = factor.shape
        repeated = (np.tile(column, rank) for column in _rows(host, mode))
        parts.append((*repeated, np.repeat(np.arange(1, rank + 1), length), factor.T.reshape(-1)))
    names, texts, indices, columns, weights = map(np.concatenate, zip(*parts, strict=True))
    return {"mode": names, "column": columns, "label": texts, "index": indices, "weight": weights}


def _rows(model: Fitted, mode: int) -> tuple[Array, Array, Array]:
    """Return the name of a mode, the label and the number of each of its indices."""
    item, length = model.labels[mode], model.shape[mode]
    texts = _objects([item.text(index) for index in range(length)])
    return np.full(length, item.title(mode), object), texts, np.arange(length)


def _objects(entries: Sequence[str]) -> Array:
    """Return labels as an array of references: a long one takes room once."""
    return np.array(entries, object)
