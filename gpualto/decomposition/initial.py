"""Where a CP algorithm starts: random factors, leading eigenvectors, or a model given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Literal

import numpy as np

from gpualto._arrays import Array, array_module, as_array, as_floats, empty, kind_of
from gpualto._optional import require
from gpualto.decomposition.model import CPModel
from gpualto.labels import check_same
from gpualto.tensor import Tensor

Init = Literal["random", "nvecs"] | CPModel | Sequence[Array]

_SHORT_MODE = 500
"""Up to this length, all eigenvectors are computed at once."""

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> Any:
    """Return the source of random numbers for a seed, a NumPy Generator or a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise TypeError(
            "random_state: expected None, a non-negative integer, a numpy.random.Generator or a RandomState, "
            f"got {random_state!r}"
        ) from None


def initial_model(X: Tensor, rank: int, init: Init, generator: Any) -> CPModel:
    """Return the starting model, of the type of the tensor's values; what is given is copied.

    Random models are as large as the tensor, so that nothing depends on the unit of its values.
    """
    if isinstance(init, str):
        if init == "random":
            factors = [random_factor(generator, length, rank) for length in X.shape]
        elif init == "nvecs":
            on_host = X.to_device("cpu")
            factors = [leading_eigenvectors(on_host, mode, rank, generator) for mode in range(X.ndim)]
        else:
            raise ValueError(f'init: expected "random", "nvecs", a CPModel or factors, got {init!r}')
        start = CPModel(np.ones(rank), tuple(map(_aligned, factors, repeat(X.dtype))))
        as_large = np.full(rank, (X.norm() or 1.0) / (start.norm() or 1.0))
        return replace(start, weights=as_large).to_device(X.device)
    if isinstance(init, CPModel) and len(init.labels) == X.ndim:
        check_same(X.labels, init.labels)
    weights, given = init if isinstance(init, CPModel) else (array_module(X.values).ones(rank), init)
    copies = _checked_copies(X, rank, given)
    if not bool(np.isfinite(weights).all()):
        raise ValueError("init: has weights that are not finite")
    model = CPModel(array_module(weights).array(weights), tuple(copies))
    with np.errstate(over="ignore"):
        if not bool(np.isfinite(model.normalize().weights).all()):
            raise ValueError(
                "init: the product of weights and norms leaves the range of float64; scale it down"
            )
    return model


def random_factor(generator: Any, length: int, rank: int) -> Array:
    """Return a (length, rank) array, uniform on [0, 1)."""
    return generator.uniform(size=(length, rank))


def leading_eigenvectors(X: Tensor, mode: int, rank: int, generator: Any) -> Array:
    """Return the leading eigenvectors of the Gram matrix of an unfolding of a tensor on the CPU, as columns.

    Of long modes by Lanczos iterations on the sparse unfolding, which is applied and never squared. Where the
    mode is shorter than the rank, random columns fill up. Signs are chosen so that the largest entry of a
    column is positive.
    """
    linalg = require("scipy.sparse.linalg", "cpu", 'init="nvecs"')
    from gpualto.interop.scipy import unfold

    length = X.shape[mode]
    matrix = unfold(X.astype(np.float64), mode)
    if X.norm() == 0:
        return random_factor(generator, length, rank)
    if length > max(_SHORT_MODE, rank):
        operator = linalg.LinearOperator(
            (length, length), lambda v: matrix @ (matrix.T @ v), dtype=np.float64
        )
        start = generator.uniform(size=length)
        _, vectors = linalg.eigsh(operator, k=rank, v0=start)
        vectors = vectors[:, ::-1]
    else:
        _, vectors = np.linalg.eigh((matrix @ matrix.T).toarray())
        padding = random_factor(generator, length, max(rank - length, 0))
        vectors = np.hstack([vectors[:, ::-1][:, :rank], padding])
    largest = vectors[abs(vectors).argmax(axis=0), np.arange(rank)]
    return np.where(largest < 0, -vectors, vectors)


def _aligned(factor: Array, dtype: Any) -> Array:
    copy = empty(factor.shape, dtype, array_module(factor))
    copy[...] = factor
    return copy


def _checked_copies(X: Tensor, rank: int, factors: Sequence[Array]) -> list[Array]:
    if len(factors) != X.ndim:
        raise ValueError(f"init: {len(factors)} factors were given for a tensor of {X.ndim} modes")
    copies = []
    for mode, factor in enumerate(factors):
        array = as_floats(as_array(factor), f"init: mode {mode}")
        if array_module(array) is not array_module(X.values):
            raise TypeError(
                f"init: mode {mode} is a {kind_of(array_module(array))} array and the tensor is on {X.device}"
            )
        if array.shape != (X.shape[mode], rank):
            raise ValueError(
                f"init: mode {mode} has shape {array.shape}, expected {(X.shape[mode], rank)} for this rank"
            )
        with np.errstate(over="ignore"):
            copy = _aligned(array, X.dtype)
        if not bool(np.isfinite(copy).all()):
            raise ValueError(f"init: mode {mode} has values that are not finite in the tensor's {X.dtype}")
        copies.append(copy)
    return copies
