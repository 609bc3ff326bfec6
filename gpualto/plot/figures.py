"""What all pictures share: figures without a window, colours, and texts that come from data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpualto._optional import require

COLORS = ("#332288", "#CC6677", "#117733", "#44AA99", "#882255", "#DDCC77")
"""Of Paul Tol's muted scheme, safe for colour blindness; their greys differ as well."""

_DASHES = ("-", "--", "-.", ":")

GREY = "#555555"

_ELLIPSIS = "…"
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def new_figure(purpose: str, width: float, height: float, layout: str = "constrained") -> Any:
    """Return an empty figure of a size in inches; `purpose` is who asks, `layout` what finds room for texts.

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.
    """
    figure_class = require("matplotlib.figure", "plot", purpose).Figure
    return figure_class(figsize=(width, height), layout=layout, dpi=110)


@contextmanager
def quiet_about_glyphs() -> Iterator[list[str]]:
    """Collect matplotlib's warnings about letters that its font lacks: one for each letter of each text."""
    missing: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield missing
    for item in caught:
        if "missing from font" in str(item.message):
            missing.append(str(item.message))
        else:
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)


def color_of(number: int) -> str:
    """Return the colour of a mode or curve; after the last it is the first one's turn again."""
    return COLORS[number % len(COLORS)]


def dashes_of(number: int) -> str:
    """Return the line style that goes with the colour of a curve."""
    return _DASHES[number % len(_DASHES)]


def ink_on(color: str) -> str:
    """Return black or white, whichever is read more easily on a colour.

    Examples
    --------
    >>> ink_on("#332288"), ink_on("#DDCC77")
    ('white', 'black')
    """
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 130 else "white"


def shorten(text: str, longest: int) -> str:
    """Return a text on one line, without its middle where it is too long: ends tell labels apart too.

    Examples
    --------
    >>> shorten("a very long carrier", 12)
    'a very…rrier'
    """
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else _UNPRINTABLE for letter in line)
    if len(line) <= longest:
        return line
    tail = (longest - 1) // 2
    return f"{line[: longest - 1 - tail]}{_ELLIPSIS}{line[len(line) - tail :]}"


def letters_inches(texts: Sequence[str], points: float) -> float:
    """Return about how wide the longest of some texts is in print, with a little space."""
    return (max(map(len, texts), default=0) * 0.75 + 0.2) * points / 72


def hide_frame(axis: Any) -> None:
    """Leave only what is drawn."""
    axis.set_yticks([])
    axis.spines[:].set_visible(False)


def open_frame(axis: Any) -> None:
    """Leave the lines that carry the scales."""
    axis.spines[["top", "right"]].set_visible(False)
