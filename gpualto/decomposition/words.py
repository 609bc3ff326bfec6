"""Models in words: a line for each component or column, of the labels that say most."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array
from gpualto.decomposition.model import CPModel
from gpualto.labels import ModeLabels

_USUAL_LABELS, _MOST_LABELS = 3, 5
_MAJORITY = 0.5
_TIE = 0.8
"""Entries of at least this share of the last that is named are named too."""
_ALIKE = 0.9
"""Share of the indices of a mode that count, from which on they are all about alike."""


EVERY = "every"


def sentences(model: CPModel) -> list[str]:
    """Return a line for each component: for each mode, the largest entries that make up half of its column.

    With them those about as large. "Above all" says that there are more of these than are named. "Every" says
    that the indices of the mode are about alike: that their effective number, one over the sum of the squared
    shares, is nine tenths of them.
    """
    host = model.to_device("cpu")
    modes = list(zip(host.labels, host.factors, strict=True))
    return [
        "; ".join(_phrase(factor[:, component], labels, mode) for mode, (labels, factor) in enumerate(modes))
        for component in range(host.rank)
    ]


def amount(number: float) -> str:
    """Return a weight or a measure as people write it.

    Examples
    --------
    >>> amount(97497.6), amount(12.3456), amount(0.00012)
    ('97,498', '12.35', '0.00012')
    """
    return f"{number:,.0f}" if 1e3 <= abs(number) < 1e15 else f"{number:.4g}"


def components_text(rank: int) -> str:
    """Return how many components there are, in words."""
    return f"{rank} component{'s' * (rank != 1)}"


def share(weights: Array, component: int) -> str:
    """Return the share of a component of the sum of all weights, by absolute value, in percent."""
    total = float(abs(weights).sum(dtype=np.float64)) or 1.0
    part = abs(float(weights[component])) / total
    return f"{part:.0%}" if part >= 0.01 or part == 0 else f"{part:.1%}"


def _phrase(column: Array, labels: ModeLabels, mode: int) -> str:
    title, named = labels.title(mode), named_entries(column, labels)
    return f"every {title}" if named == EVERY else f"{title} {named}"


def named_entries(column: Array, labels: ModeLabels) -> str:
    """Return the entries of a column that say most, by their labels; or "every", or "none"."""
    sizes = abs(column.astype(np.float64))
    total = float(sizes.sum())
    if total == 0:
        return "none"
    shares = sizes / total
    of_one_sign = not (column.min() < 0 < column.max())
    if len(shares) > 1 and of_one_sign and 1 / float(np.square(shares).sum()) >= _ALIKE * len(shares):
        return EVERY
    order = np.argsort(-shares, kind="stable")
    count, is_most = _how_many(shares[order])
    names = [
        f"{_one_line(labels.text(index))}{' (negative)' if column[index] < 0 else ''}"
        for index in order[:count].tolist()
    ]
    return f"{'' if is_most else 'above all '}{', '.join(names)}"


def _one_line(label: str) -> str:
    """Return a label on one line, in quotes where commas would make several of it.

    Examples
    --------
    >>> _one_line("Troy, NY"), _one_line(" New  York")
    ('"Troy, NY"', 'New York')
    """
    text = " ".join(label.split())
    return f'"{text}"' if "," in text or ";" in text else text


def _how_many(shares: Array) -> tuple[int, bool]:
    """Return how many of some decreasing shares to name, and whether that says what there is.

    So many that they make up half, and those about as large as the last of them.
    """
    half = int(np.searchsorted(np.cumsum(shares), _MAJORITY)) + 1
    with_ties = int(np.count_nonzero(shares >= _TIE * shares[min(half, len(shares)) - 1]))
    if half <= _USUAL_LABELS and with_ties <= _MOST_LABELS:
        return with_ties, True
    return min(_USUAL_LABELS, len(shares)), False
