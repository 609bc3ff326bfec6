"""Pictures of models, by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._arrays import Array
from gpualto._optional import require
from gpualto.decomposition.model import CPModel
from gpualto.labels import ModeLabels

_SHORT_MODE = 24
"""Modes up to this length are drawn whole, whatever their labels."""

_CELL_INCHES = (3.4, 0.95)
_LONGEST_LABEL = 12
_LABEL_LETTERS = 40
"""Letters of labels that stand side by side below a cell; more are turned upright."""

_COLORS = ("#4477AA", "#228833", "#AA3377", "#CCBB44", "#66CCEE", "#EE6677")
"""Paul Tol's bright scheme, safe for colour blindness."""


def plot_components(model: CPModel, top: int = 10) -> Any:
    """Draw a CP model: a row for each component, a column for each mode.

    Modes of up to 24 indices are drawn whole, and so are longer ones whose labels are increasing numbers,
    such as years; of other modes the `top` largest entries of each component.

    Parameters
    ----------
    model : CPModel
    top : int
        Entries drawn of a long mode.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved with ``figure.savefig(path)``; no window is opened.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> model = CPModel([1.0], [[[0.6], [0.8]], [[1.0]]])
    >>> len(plot_components(model).axes)
    2
    """
    figure_class = require("matplotlib.figure", "plot", "plot_components").Figure
    width, height = _CELL_INCHES
    figure = figure_class(
        figsize=(0.8 + width * model.ndim, 0.8 + height * model.rank), layout="constrained", dpi=110
    )
    axes = figure.subplots(model.rank, model.ndim, squeeze=False)
    for mode, (factor, labels) in enumerate(zip(model.factors, model.labels, strict=True)):
        axes[0, mode].set_title(labels.title(mode), fontsize=11, fontweight="bold")
        color = _COLORS[mode % len(_COLORS)]
        for component in range(model.rank):
            is_last = component == model.rank - 1
            _draw(axes[component, mode], factor[:, component], labels, top, color, is_last)
    total = float(model.weights.sum()) or 1.0
    for component, weight in enumerate(model.weights):
        axes[component, 0].set_ylabel(
            f"{component + 1}\n{weight / total:.0%}", rotation=0, ha="right", va="center", fontsize=10
        )
    return figure


def _draw(axis: Any, column: Array, labels: ModeLabels, top: int, color: str, is_last: bool) -> None:
    """Draw one column of a factor; columns drawn whole share the labels below the last of them."""
    if len(column) > _SHORT_MODE and not labels.is_ordered:
        shown = np.argsort(-abs(column), kind="stable")[:top]
        _draw_bars(axis, column[shown], color)
        _label(axis, [labels.text(int(index)) for index in shown])
        return
    if len(column) > _SHORT_MODE:
        axis.fill_between(range(len(column)), column, color=color, linewidth=0)
        _set_limits(axis, column)
        marks = np.linspace(0, len(column) - 1, 8).astype(int)
        _label(axis, [labels.text(int(index)) for index in marks], marks)
    else:
        _draw_bars(axis, column, color)
        _label(axis, [labels.text(index) for index in range(len(column))])
    if not is_last:
        axis.set_xticks([])


def _draw_bars(axis: Any, entries: Array, color: str) -> None:
    axis.bar(range(len(entries)), entries, color=color, width=0.75)
    _set_limits(axis, entries)


def _set_limits(axis: Any, entries: Array) -> None:
    low, high = float(entries.min(initial=0)), float(entries.max(initial=0))
    margin = 0.05 * (high - low) or 1.0
    axis.set_ylim(low - margin if low < 0 else 0, high + margin)
    axis.set_xlim(-0.7, len(entries) - 0.3)
    axis.axhline(0, color="black", linewidth=0.6, clip_on=False)
    axis.set_yticks([])
    axis.spines[:].set_visible(False)


def _label(axis: Any, texts: list[str], positions: Array | None = None) -> None:
    short = [text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…" for text in texts]
    crowded = sum(map(len, short)) > _LABEL_LETTERS
    axis.set_xticks(range(len(short)) if positions is None else positions, short, fontsize=7)
    axis.tick_params(axis="x", length=0, pad=1, labelrotation=90 if crowded else 0)
