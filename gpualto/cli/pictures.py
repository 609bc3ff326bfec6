"""Pictures, as files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gpualto._optional import require
from gpualto.cli.arguments import check_output
from gpualto.io.files import replacing
from gpualto.plot.figures import quiet_about_glyphs

T = TypeVar("T")

_SUFFIXES = (".png", ".svg", ".pdf")


def add_option(parser: argparse.ArgumentParser, what: str = "the components") -> None:
    """Add ``--plot``."""
    parser.add_argument("--plot", type=Path, metavar="PICTURE", help=f"draw {what}: .png, .svg or .pdf")


def check(path: Path | None) -> None:
    """Raise before the work starts if the picture could not be drawn."""
    if path is not None:
        require("matplotlib", "plot", "--plot")
        check_output(path, _SUFFIXES)


def draw(plot: Callable[[T], Any], what: T, path: Path) -> None:
    """Write the picture that a function draws, whole or not at all, and say so."""
    figure = plot(what)
    with replacing(path) as file, quiet_about_glyphs() as missing:
        figure.savefig(file, format=path.suffix[1:].lower())
    print(f"wrote {path}")
    if missing:
        print(
            "gpualto: the picture shows boxes for letters that its font lacks; a page by --report has them",
            file=sys.stderr,
        )
