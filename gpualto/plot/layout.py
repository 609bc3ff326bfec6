"""The bit layout of an ALTO index: which bit belongs to which mode."""

from __future__ import annotations

from typing import Any

from gpualto.encoding import AltoEncoding
from gpualto.labels import AnyLabels, as_labels
from gpualto.plot.figures import color_of, hide_frame, ink_on, new_figure, shorten

_BITS_PER_ROW = 32
_CELL_INCHES = 0.34
_ROW_INCHES = 0.62
_LONGEST_TITLE = 24
_FEW_BITS = 10
"""Pictures are at least this many cells wide, for the texts."""


def plot_layout(encoding: AltoEncoding, labels: AnyLabels | None = None) -> Any:
    """Draw the linear index bit by bit, the most significant first, 32 bits a row.

    Each cell names the bit of a coordinate that it holds: ``j2`` is bit 2 of mode j. Colours tell modes
    apart. The numbers above the cells are positions in the index.

    Parameters
    ----------
    encoding : AltoEncoding
    labels : sequence or mapping, optional
        As in `Tensor.from_coo`, or ``X.labels``: the names of the modes.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the labels do not fit the shape.
    MissingPackageError
        If matplotlib is not installed.

    Examples
    --------
    >>> cells = plot_layout(AltoEncoding((4, 8, 2))).axes[0].texts
    >>> [cell.get_text() for cell in cells if cell.get_gid() == "bit"]
    ['j2', 'j1', 'i1', 'j0', 'i0', 'k0']
    """
    names = as_labels(labels, encoding.shape)
    rows = max(-(-encoding.nbits // _BITS_PER_ROW), 1)
    columns = min(max(encoding.nbits, _FEW_BITS), _BITS_PER_ROW)
    legend_rows = encoding.ndim
    figure = new_figure(
        "plot_layout", _CELL_INCHES * columns + 0.3, 0.5 + _ROW_INCHES * rows + 0.22 * legend_rows
    )
    axis = figure.subplots()
    words = " + ".join(str(word) for word in reversed(encoding.words))
    axis.set_title(f"{encoding.nbits} bits in {words}", fontsize=10, loc="left")
    _draw_bits(axis, encoding)
    axis.set_xlim(_BITS_PER_ROW - columns, _BITS_PER_ROW)
    axis.set_ylim(rows, 0)
    axis.set_xticks([])
    hide_frame(axis)
    handles = [_patch(color_of(mode)) for mode in range(encoding.ndim)]
    texts = [
        f"{letter.rstrip(':')}  {shorten(name.title(mode), _LONGEST_TITLE)}: "
        f"length {encoding.shape[mode]:,}, {bits} bit{'s' * (bits != 1)}"
        for mode, (letter, name, bits) in enumerate(
            zip(encoding.mode_letters, names, encoding.bits_per_mode, strict=True)
        )
    ]
    legend = figure.legend(handles, texts, loc="outside lower left", frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def _draw_bits(axis: Any, encoding: AltoEncoding) -> None:
    owners = {
        position: (mode, bit)
        for mode, positions in enumerate(encoding.positions)
        for bit, position in enumerate(positions)
    }
    letters = encoding.mode_letters
    longest = max((len(f"{letters[mode]}{bit}") for mode, bit in owners.values()), default=1)
    points = min(9.0, 26 / longest)
    top = (encoding.nbits - 1) // _BITS_PER_ROW
    for position in reversed(range(encoding.nbits)):
        mode, bit = owners[position]
        row, column = divmod(position, _BITS_PER_ROW)
        x, y = _BITS_PER_ROW - 1 - column, top - row
        color = color_of(mode)
        axis.add_patch(_patch(color, (x + 0.03, y + 0.4), 0.94, 0.55))
        axis.text(
            x + 0.5, y + 0.68, f"{letters[mode]}{bit}", ha="center", va="center",
            fontsize=points, color=ink_on(color), gid="bit",
        )  # fmt: skip
        if column % 8 == 0 or position == encoding.nbits - 1 or column == _BITS_PER_ROW - 1:
            axis.text(x + 0.5, y + 0.36, str(position), ha="center", va="bottom", fontsize=7, gid="position")


def _patch(color: str, corner: tuple[float, float] = (0, 0), width: float = 1, height: float = 1) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, facecolor=color, edgecolor="none")
