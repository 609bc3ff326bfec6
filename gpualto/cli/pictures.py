"""The picture of a model, as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto._optional import require
from gpualto.cli.arguments import check_output
from gpualto.decomposition.model import CPModel
from gpualto.io.files import replacing

_SUFFIXES = (".png", ".svg", ".pdf")


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--plot``."""
    parser.add_argument(
        "--plot", type=Path, metavar="PICTURE", help="draw the components: .png, .svg or .pdf"
    )


def check(path: Path | None) -> None:
    """Raise before the work starts if the picture could not be drawn."""
    if path is not None:
        require("matplotlib", "plot", "--plot")
        check_output(path, _SUFFIXES)


def draw(model: CPModel, path: Path | None) -> None:
    """Write the picture, whole or not at all, and say so."""
    if path is None:
        return
    from gpualto.plot import plot_components

    figure = plot_components(model)
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower())
    print(f"wrote {path}")
