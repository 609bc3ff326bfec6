"""How fits went: fit and other measures against sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpualto.decomposition.fitted import Fitted
from gpualto.plot.figures import color_of, dashes_of, new_figure, open_frame, shorten

_PANEL_INCHES = (6.4, 2.4)
_LONGEST_NAME = 40
_WIDE = 100
"""Positive numbers that differ by more than this factor have a logarithmic axis."""


def plot_fit(models: Fitted | Sequence[Fitted], names: Sequence[str] | None = None) -> Any:
    """Draw the fit after each sweep, a line for each model, and a panel for each other measure.

    Parameters
    ----------
    models : CPModel or TuckerModel, or sequence of them
    names : sequence of str, optional
        One for each model; by default their numbers and ranks.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a model has no history, or there are not as many names as models.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> from gpualto import CPModel
    >>> model = CPModel([1.0], [[[1.0]], [[1.0]]], fit=0.8, fits=(0.5, 0.8))
    >>> plot_fit(model).axes[0].lines[0].get_ydata().tolist()
    [0.5, 0.8]
    """
    drawn = [models] if isinstance(models, Fitted) else list(models)
    titles = [f"{n + 1}: {model.rank_text}" for n, model in enumerate(drawn)] if names is None else names
    if not drawn:
        raise ValueError("models: there are none to draw")
    if len(titles) != len(drawn):
        raise ValueError(f"names: {len(titles)} names were given for {len(drawn)} models")
    for number, model in enumerate(drawn):
        if not model.fits:
            raise ValueError(f"models: model {number} has no fits; a model that was fitted keeps them")
    measures = list(dict.fromkeys(name for model in drawn for name in model.measures))
    width, height = _PANEL_INCHES
    figure = new_figure("plot_fit", width, 0.4 + height * (1 + len(measures)))
    axes = figure.subplots(1 + len(measures), sharex=True, squeeze=False)[:, 0]
    _draw(axes[0], "fit", [model.fits for model in drawn])
    for axis, measure in zip(axes[1:], measures, strict=True):
        _draw(axis, measure, [model.measures.get(measure, ()) for model in drawn])
    axes[-1].set_xlabel("sweep")
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    if len(drawn) > 1:
        texts = [shorten(title, _LONGEST_NAME) for title in titles]
        legend = figure.legend(axes[0].lines, texts, loc="outside right upper", frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure


def _draw(axis: Any, measure: str, histories: list[tuple[float, ...]]) -> None:
    for number, history in enumerate(histories):
        axis.plot(
            range(1, len(history) + 1),
            history,
            color=color_of(number),
            linestyle=dashes_of(number),
            marker="o",
            markevery=[len(history) - 1] if history else [],
            markersize=4,
        )
    numbers = [number for history in histories for number in history]
    if numbers and min(numbers) > 0 and max(numbers) > _WIDE * min(numbers):
        axis.set_yscale("log")
    axis.set_ylabel(shorten(measure, _LONGEST_NAME), parse_math=False)
    open_frame(axis)
