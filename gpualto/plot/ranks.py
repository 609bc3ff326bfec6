"""What to choose a rank by: fit, core consistency and how well the halves of the data agree."""

from __future__ import annotations

import math
from typing import Any

from gpualto.plot.figures import GREY, color_of, new_figure, open_frame

_PANEL_INCHES = (5.2, 1.6)

_LOWEST_CONSISTENCY = -25.0
"""Core consistencies go down to minus millions; those below this are drawn here, with their number."""

_LOWEST_NUMBER = -999


def plot_rank_scan(scan: Any) -> Any:
    """Draw fit, core consistency and match score against the rank; for `cp_complete` the held-out error.

    Parameters
    ----------
    scan : RankScan, or what has the same attributes
        ``ranks``, ``fits``, ``core_consistencies`` in percent, and ``match_scores`` of two halves of the
        data, in [0, 1]; one number for each rank, NaN where it is not known.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are not as many numbers as ranks.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> scan = SimpleNamespace(
    ...     ranks=(1, 2), fits=(0.4, 0.6), core_consistencies=(100.0, 96.0), match_scores=(0.99, 0.9)
    ... )
    >>> [axis.get_ylabel() for axis in plot_rank_scan(scan).axes]
    ['fit', 'core consistency', 'split-half match']
    """
    is_complete = any(map(math.isfinite, getattr(scan, "held_out_errors", ())))
    second = ("held-out RMSE", "held_out_errors", "")
    panels = (
        ("fit", "fits", ""),
        second if is_complete else ("core consistency", "core_consistencies", "%"),
        ("split-half match", "match_scores", ""),
    )
    if not len(scan.ranks):
        raise ValueError("scan.ranks: there are none to draw")
    for _, attribute, _ in panels:
        count = len(getattr(scan, attribute))
        if count != len(scan.ranks):
            raise ValueError(f"scan.{attribute}: {count} numbers were given for {len(scan.ranks)} ranks")
    figure = new_figure("plot_rank_scan", _PANEL_INCHES[0], 0.5 + len(panels) * _PANEL_INCHES[1])
    axes = figure.subplots(len(panels), sharex=True)
    for number, (axis, (title, attribute, unit)) in enumerate(zip(axes, panels, strict=True)):
        _draw(axis, list(scan.ranks), list(getattr(scan, attribute)), color_of(number))
        axis.set_ylabel(title)
        axis.yaxis.set_major_formatter(lambda value, _, unit=unit: f"{value:g}{unit}")
    low = min([0.0, *(fit for fit in scan.fits if math.isfinite(fit))])
    axes[0].set_ylim(1.05 * low, 1.05)
    if is_complete:
        axes[1].set_ylim(0, 1.05 * max(scan.held_out_errors))
    else:
        _limit_consistency(axes[1], list(scan.ranks), list(scan.core_consistencies))
    axes[2].set_ylim(0, 1.05)
    axes[2].set_xlabel("rank")
    axes[2].xaxis.get_major_locator().set_params(integer=True)
    figure.align_ylabels(axes)
    return figure


def _draw(axis: Any, ranks: list[int], numbers: list[float], color: str) -> None:
    axis.plot(ranks, numbers, color=color, marker="o", markersize=4, clip_on=False, zorder=3)
    axis.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    open_frame(axis)
    if not any(map(math.isfinite, numbers)):
        axis.text(0.5, 0.5, "not known", transform=axis.transAxes, ha="center", va="center", color=GREY)


def _limit_consistency(axis: Any, ranks: list[int], numbers: list[float]) -> None:
    """Keep the scale from 0 to 100 readable, and say the numbers that lie far below."""
    axis.axhline(0, color=GREY, linewidth=0.6)
    lowest = min([0.0, *filter(math.isfinite, numbers)])
    axis.set_ylim(max(lowest, _LOWEST_CONSISTENCY) - 5 * (lowest < 0), 105)
    if lowest >= _LOWEST_CONSISTENCY:
        return
    axis.lines[0].set_data(ranks, [n if n >= _LOWEST_CONSISTENCY else math.nan for n in numbers])
    for rank, number in zip(ranks, numbers, strict=True):
        if number < _LOWEST_CONSISTENCY:
            axis.plot(rank, _LOWEST_CONSISTENCY, marker="v", color=axis.lines[0].get_color(), markersize=5)
            axis.annotate(
                _percent(number), (rank, _LOWEST_CONSISTENCY), (0, 6), textcoords="offset points",
                ha="center", fontsize=7,
            )  # fmt: skip


def _percent(number: float) -> str:
    return f"{number:.0f}%" if number > _LOWEST_NUMBER else f"< {_LOWEST_NUMBER}%"
