"""How often the rows of each mode are used: on average, and how unevenly."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._arrays import Array
from gpualto.partition import STAGING_REUSE, fiber_reuse
from gpualto.plot.figures import GREY, color_of, dashes_of, new_figure, open_frame, shorten
from gpualto.tensor import Tensor, require_tensor

_LONGEST_TITLE = 20
_POINTS_OF_A_CURVE = 500


def plot_reuse(X: Tensor) -> Any:
    """Draw the fiber reuse of each mode, and how the nonzeros are spread over its indices.

    On the left the average number of nonzeros of an index, which decides how MTTKRP resolves write
    conflicts. On the right the nonzeros of each index, the largest first: a flat line says that all indices
    have as many, a steep one that a few have most.

    Parameters
    ----------
    X : Tensor
        On any device.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If X is not in ALTO.
    ValueError
        If there are no nonzeros.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> X = Tensor.from_coo([[0, 0, 1], [2, 0, 1]], [1.0, 1.0, 1.0], shape=(2, 6))
    >>> [float(bar.get_width()) for bar in plot_reuse(X).axes[0].patches]
    [1.5, 0.5]
    """
    require_tensor(X)
    if X.nnz == 0:
        raise ValueError("X: has no nonzeros to draw")
    X = X.to_device("cpu")
    titles = [shorten(item.title(mode), _LONGEST_TITLE) for mode, item in enumerate(X.labels)]
    sizes = [_slice_sizes(coordinate) for coordinate in X.coords]
    figure = new_figure("plot_reuse", 9.0, max(3.0, 0.9 + 0.45 * X.ndim))
    averages, spread = figure.subplots(1, 2)
    _draw_averages(averages, titles, X, [len(counts) for counts in sizes])
    _draw_spread(spread, titles, sizes)
    return figure


def _slice_sizes(coordinate: Array) -> Array:
    """Return the nonzeros of each index that has any, the most first."""
    counts: Array = np.unique(coordinate, return_counts=True)[1]
    return np.sort(counts)[::-1]


def _draw_averages(axis: Any, titles: list[str], X: Tensor, used: list[int]) -> None:
    reuse = fiber_reuse(X)
    for mode, (average, length) in enumerate(zip(reuse, X.shape, strict=True)):
        axis.barh(mode, average, color=color_of(mode), height=0.7)
        empty = f", {length - used[mode]:,} empty" if used[mode] < length else ""
        axis.annotate(
            f"{average:,.0f}" if average >= 100 else f"{average:.3g}",
            (average, mode),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
        titles[mode] = f"{titles[mode]}\nlength {length:,}{empty}"
    axis.set_yticks(range(X.ndim), titles, fontsize=9, parse_math=False)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlim(min(*reuse, STAGING_REUSE) / 3, max(*reuse, STAGING_REUSE) * 6)
    axis.axvline(STAGING_REUSE, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    axis.set_xlabel(f"nonzeros per index (dotted: {STAGING_REUSE:g}, staged above)")
    axis.set_title("fiber reuse", fontsize=11)
    open_frame(axis)


def _draw_spread(axis: Any, titles: list[str], sizes: list[Array]) -> None:
    for mode, counts in enumerate(sizes):
        ranks = np.unique(np.geomspace(1, len(counts), _POINTS_OF_A_CURVE).astype(np.int64))
        axis.plot(
            ranks, counts[ranks - 1], color=color_of(mode), linestyle=dashes_of(mode), marker="o",
            markevery=[len(ranks) - 1], markersize=4,
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("indices, the largest first")
    axis.set_ylabel("nonzeros")
    axis.set_title("nonzeros of each index", fontsize=11)
    legend = axis.legend(
        axis.lines, [title.partition("\n")[0] for title in titles], frameon=False, fontsize=9
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    open_frame(axis)
