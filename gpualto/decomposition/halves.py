"""Random halves of data: what is split, and how far the models of both agree."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gpualto._arrays import LARGEST_EXACT_INTEGER, Array, array_module, as_mode, mover_to
from gpualto.decomposition.model import CPModel
from gpualto.tensor import Tensor

Split = int | Literal["counts", "entries"] | None
"""A mode, whose indices are shared out, or counts, or the entries that are stored; None chooses."""


def what_to_split(X: Tensor, split: Split, is_complete: bool) -> int | str:
    """Return what is split, checked: a mode, "counts" or "entries"."""
    values = X.values
    are_counts = bool(
        ((values >= 0) & (values <= LARGEST_EXACT_INTEGER) & (values == np.floor(values))).all()
    )
    if split is None:
        longest = int(np.argmax(X.shape))
        split = "entries" if is_complete else "counts" if are_counts else longest
    if split == "entries" and not is_complete:
        raise ValueError("split: entries that are left out would be zeros, but for cp_complete")
    if split == "counts" and not are_counts:
        raise ValueError("split: the values are not all counts; split a mode instead")
    if isinstance(split, str):
        if split not in ("entries", "counts"):
            raise ValueError(f'split: expected a mode, "counts" or "entries", got {split!r}')
        return split
    mode = as_mode(split, X.ndim)
    if X.shape[mode] < 2 or X.ndim < 2:
        raise ValueError(f"split: mode {mode} of {X.shape[mode]} indices cannot be halved")
    return mode


def halves_of(X: Tensor, what: int | str, generator: Any) -> tuple[Tensor, Tensor]:
    """Return two tensors that share out the counts, the entries or the indices of a mode, at random."""
    xp = array_module(X.values)
    if what == "counts":
        counts = mover_to("cpu")(X.values).astype(np.int64)
        first = xp.asarray(generator.binomial(counts, 0.5).astype(X.dtype))
        return X.with_values(first).prune(), X.with_values(X.values - first).prune()
    if isinstance(what, str):
        chosen = xp.asarray(_half(X.nnz, generator))
    else:
        chosen = xp.asarray(_half(X.shape[what], generator))[X.coords[what]]
    return X.select(chosen), X.select(~chosen)


def _half(count: int, generator: Any) -> Array:
    """Return a mask of half of some items, at random."""
    mask = np.zeros(count, bool)
    mask[generator.permutation(count)[: count // 2]] = True
    return mask


def match_of_halves(one: CPModel, other: CPModel, split_mode: int | None) -> float:
    """Return the factor match score of two models in all modes but one that was split."""
    kept = [mode for mode in range(one.ndim) if mode != split_mode]
    left, right = (CPModel(m.weights, tuple(m.factors[mode] for mode in kept)) for m in (one, other))
    return left.score(right, weight_penalty=False)[0]
