"""The same labels at the same indices, for tensors that were made apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto.labels import ModeLabels, as_entries, check_order
from gpualto.tensor import Tensor, require_tensor

Unknown = Literal["error", "drop"]
"""What becomes of entries whose labels are not among those asked for."""

_NAMED = 5


def align(
    X: Tensor, labels: Sequence[ModeLabels | Sequence[str] | None], unknown: Unknown = "error"
) -> Tensor:
    """Return a tensor with its indices in the order of other labels: see `Tensor.align`."""
    require_tensor(X)
    if unknown not in ("error", "drop"):
        raise ValueError(f'unknown: expected "error" or "drop", got {unknown!r}')
    if len(labels) != X.ndim:
        raise ValueError(f"labels: {len(labels)} modes were given for a tensor of {X.ndim}")
    given = [item if isinstance(item, ModeLabels) else ModeLabels(None, as_entries(item)) for item in labels]
    check_order(X.labels, given)
    named = [_merged(own, wanted) for own, wanted in zip(X.labels, given, strict=True)]
    changed = [mode for mode, own in enumerate(X.labels) if named[mode] != own]
    if not changed:
        return X
    xp, coords, shape = array_module(X.values), list(X.coords), list(X.shape)
    kept = xp.ones(X.nnz, bool)
    for mode in changed:
        own, wanted = X.labels[mode].entries or (), named[mode].entries or ()
        _check_distinct(X, mode, wanted)
        places = xp.asarray(_places(own, wanted))[coords[mode]]
        if unknown == "error" and bool((places < 0).any()):
            used = np.unique(X.to_device("cpu").coords[mode])
            raise _unknown_labels(X.labels[mode], named[mode], used, mode)
        kept &= places >= 0
        coords[mode], shape[mode] = places, len(wanted)
    return Tensor.from_coo([c[kept] for c in coords], X.values[kept], shape, labels=named)


def _merged(own: ModeLabels, wanted: ModeLabels) -> ModeLabels:
    """Return the labels that a mode gets: its own where one of the two has none."""
    if own.entries is None or wanted.entries is None:
        return own
    return ModeLabels(own.name or wanted.name, wanted.entries)


def _places(own: tuple[str, ...], wanted: tuple[str, ...]) -> Array:
    """Return where each label stands among those that are wanted, -1 where it does not."""
    places = {label: index for index, label in enumerate(wanted)}
    return np.array([places.get(label, -1) for label in own], np.int64)


def _check_distinct(X: Tensor, mode: int, wanted: tuple[str, ...]) -> None:
    """Raise where an entry has a label that stands for more than one index, here or there."""
    own = X.labels[mode].entries or ()
    twice = {label for labels in (own, wanted) for label, count in Counter(labels).items() if count > 1}
    used = np.unique(X.to_device("cpu").coords[mode]).tolist() if twice else []
    clash = next((own[index] for index in used if own[index] in twice), None)
    if clash is not None:
        raise ValueError(
            f"labels: {X.labels[mode].title(mode)}: {clash!r} is the label of more than one index; rename one"
        )


def _unknown_labels(own: ModeLabels, wanted: ModeLabels, used: Array, mode: int) -> ValueError:
    known = set(wanted.entries or ())
    foreign = [text for text in (own.text(int(index)) for index in used) if text not in known]
    names = ", ".join(map(repr, foreign[:_NAMED])) + (", ..." if len(foreign) > _NAMED else "")
    return ValueError(
        f"X: {own.title(mode)} has labels that are not known: {names}; their entries are left out by "
        'unknown="drop"'
    )
