"""The components of a CP model: a cell for each column of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualto._arrays import Array
from gpualto._optional import require
from gpualto.decomposition.model import CPModel, require_cp_model
from gpualto.decomposition.running import check_positive
from gpualto.decomposition.words import share
from gpualto.plot.figures import color_of, hide_frame, letters_inches, new_figure, shorten

_SHORT_MODE = 24
"""Modes up to this length are drawn whole, whatever their labels."""

_CELL_INCHES = (2.9, 0.72)
_MARGIN_INCHES = (0.8, 0.5)
_BAR_WIDTH = 0.75
_POINTS = 8
_COMFORTABLE = 20
"""More labels than this are set a little smaller."""

_LABEL_GAP = 0.05
_LONGEST_LABEL = 14
_LONGEST_TITLE = 30

_MOST_POINTS = 1000
_MARKS = 7
"""Labels below a long mode that is drawn whole."""


@dataclass(frozen=True)
class _Cell:
    """What is drawn of one column: its entries, as bars or an area, and labels at some positions."""

    entries: Array
    texts: tuple[str, ...]
    positions: Array
    is_area: bool
    is_whole: bool

    @property
    def is_upright(self) -> bool:
        """Whether the labels are too wide to stand side by side."""
        return letters_inches(self.texts, _POINTS) > 0.85 * _CELL_INCHES[0] / max(len(self.texts), 1)

    @property
    def label_inches(self) -> float:
        """Height that the labels take."""
        return letters_inches(self.texts, _POINTS) if self.is_upright else _POINTS / 72


def plot_components(model: CPModel, top: int = 10) -> Any:
    """Draw a CP model: a row for each component, a column for each mode.

    Modes of up to 24 indices are drawn whole, and so are longer ones whose labels are increasing numbers,
    such as years; of other modes the `top` largest entries of each component. Every cell has its own scale.
    Percentages are shares of the sum of the weights, by absolute value.

    Parameters
    ----------
    model : CPModel
        On any device.
    top : int
        Entries drawn of a long mode.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved with ``figure.savefig(path)``; no window is opened.

    Raises
    ------
    TypeError
        If it is no CP model.
    ValueError
        If an entry is not finite; mode, row and component are named.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> model = CPModel([1.0], [[[0.6], [0.8]], [[1.0]]])
    >>> len(plot_components(model).axes)
    2
    """
    model = _drawable(model, top)
    cells = [[_cell(model, mode, row, top) for mode in range(model.ndim)] for row in range(model.rank)]
    figure = _figure("plot_components", cells)
    axes = figure.subplots(model.rank, model.ndim, squeeze=False)
    for mode, labels in enumerate(model.labels):
        title = shorten(labels.title(mode), _LONGEST_TITLE)
        axes[0, mode].set_title(title, fontsize=11, fontweight="bold", parse_math=False)
    for row in range(model.rank):
        axes[row, 0].set_ylabel(
            f"{row + 1}\n{share(model.weights, row)}", rotation=0, ha="right", va="center", fontsize=10
        )
        for mode, cell in enumerate(cells[row]):
            _draw(axes[row, mode], cell, color_of(mode))
            if _is_labelled(cell, row, model.rank):
                _label(axes[row, mode], cell)
    return figure


def plot_column(model: CPModel, component: int, mode: int, top: int = 10) -> Any:
    """Draw one mode of one component, as `plot_components` does in one of its cells.

    Parameters
    ----------
    model : CPModel
        On any device.
    component, mode : int
        Counted from 0.
    top : int
        Entries drawn of a long mode.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no such component or mode, or an entry is not finite.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> model = CPModel([1.0], [[[0.6], [0.8]], [[1.0]]])
    >>> [text.get_text() for text in plot_column(model, 0, 0).axes[0].get_xticklabels()]
    ['0', '1']
    """
    for name, number, count in (("component", component, model.rank), ("mode", mode, model.ndim)):
        if not 0 <= number < count:
            raise ValueError(f"{name}: expected a number from 0 to {count - 1}, got {number!r}")
    model = _drawable(model, top)
    cell = _cell(model, mode, component, top)
    # The room for labels is known: finding it would take half of the time, which a page of columns feels.
    height = 1.6 * _CELL_INCHES[1] + cell.label_inches
    figure = new_figure("plot_column", _CELL_INCHES[0], height, layout="none")
    bottom = (cell.label_inches + _LABEL_GAP) / height
    axis = figure.add_axes((0.05, bottom, 0.9, 0.99 - bottom))
    _draw(axis, cell, color_of(mode))
    _label(axis, cell)
    return figure


def _drawable(model: CPModel, top: int) -> CPModel:
    """Return the model on the CPU, checked."""
    require_cp_model(model)
    check_positive("top", top)
    if model.rank == 0:
        raise ValueError("model: has no components to draw")
    model = model.to_device("cpu")
    for mode, factor in enumerate(model.factors):
        bad = np.argwhere(~np.isfinite(factor))
        if len(bad):
            row, component = bad[0].tolist()
            raise ValueError(
                f"model: mode {mode} has {factor[row, component]} in row {row} of component {component}"
            )
    if not np.isfinite(model.weights).all():
        raise ValueError(f"model: weight {int(np.argmin(np.isfinite(model.weights)))} is not finite")
    return model


def _cell(model: CPModel, mode: int, component: int, top: int) -> _Cell:
    column, labels = model.factors[mode][:, component], model.labels[mode]
    is_long = len(column) > _SHORT_MODE
    if is_long and labels.is_ordered:
        entries = _thinned(column)
        positions = np.linspace(0, len(entries) - 1, _MARKS).astype(int)
        named = np.linspace(0, len(column) - 1, _MARKS).astype(int)
    else:
        named = np.argsort(-abs(column), kind="stable")[:top] if is_long else np.arange(len(column))
        entries, positions = column[named], np.arange(len(named))
    texts = tuple(shorten(labels.text(int(index)), _LONGEST_LABEL) for index in named)
    is_area = is_long and labels.is_ordered
    return _Cell(entries, texts, positions, is_area, is_area or not is_long)


def _thinned(column: Array) -> Array:
    """Return as many entries as can be told apart in a cell: of neighbours the largest, by absolute value."""
    if len(column) <= _MOST_POINTS:
        return column
    starts = np.linspace(0, len(column), _MOST_POINTS, endpoint=False).astype(int)
    high, low = np.maximum.reduceat(column, starts), np.minimum.reduceat(column, starts)
    return np.where(high >= -low, high, low)


def _is_labelled(cell: _Cell, row: int, rows: int) -> bool:
    """Columns drawn whole share the labels below the last of them."""
    return not cell.is_whole or row == rows - 1


def _figure(purpose: str, cells: list[list[_Cell]]) -> Any:
    """Return a figure with room for the labels below each row, so that long ones take nothing from bars."""
    height = _MARGIN_INCHES[1]
    for number, row in enumerate(cells):
        labels = [cell.label_inches for cell in row if _is_labelled(cell, number, len(cells))]
        height += _CELL_INCHES[1] + max(labels, default=0.0)
    return new_figure(purpose, _MARGIN_INCHES[0] + _CELL_INCHES[0] * len(cells[0]), height)


def _draw(axis: Any, cell: _Cell, color: str) -> None:
    numbers = range(len(cell.entries))
    if cell.is_area:
        axis.fill_between(numbers, cell.entries, color=color, linewidth=0)
    else:
        axis.add_collection(_bars(cell.entries, color))
    low, high = float(cell.entries.min(initial=0)), float(cell.entries.max(initial=0))
    margin = 0.05 * (high - low) or 1.0
    axis.set_ylim(low - margin if low < 0 else 0, high + margin)
    axis.set_xlim(-0.7, len(cell.entries) - 0.3)
    axis.axhline(0, color="black", linewidth=0.6, clip_on=False)
    axis.set_xticks([])
    hide_frame(axis)


def _bars(heights: Array, color: str) -> Any:
    """Return bars as one object: as many objects as ``axis.bar`` makes take most of the time of a page."""
    collections = require("matplotlib.collections", "plot", "plot_components")
    half = _BAR_WIDTH / 2
    corners = [
        [(n - half, 0), (n - half, height), (n + half, height), (n + half, 0)]
        for n, height in enumerate(heights.tolist())
    ]
    return collections.PolyCollection(corners, facecolor=color, linewidth=0)


def _label(axis: Any, cell: _Cell) -> None:
    points = _POINTS if len(cell.texts) <= _COMFORTABLE else _POINTS - 1
    axis.set_xticks(cell.positions, cell.texts, fontsize=points, parse_math=False)
    axis.tick_params(axis="x", length=0, pad=2, labelrotation=90 if cell.is_upright else 0)
