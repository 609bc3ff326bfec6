"""The page about a model, as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto._optional import require
from gpualto.cli.arguments import check_output
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.words import components_text
from gpualto.tensor import Tensor


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--report``."""
    parser.add_argument(
        "--report",
        type=Path,
        metavar="PAGE.html",
        help="write a page with components, pictures, fit, data and command",
    )


def check(path: Path | None) -> None:
    """Raise before the work starts if the page could not be written."""
    if path is not None:
        require("matplotlib", "plot", "--report")
        check_output(path, (".html",))


def write(
    path: Path | None, model: CPModel, X: Tensor | None, title: str, options: argparse.Namespace
) -> None:
    """Write the page, whole or not at all, and say so."""
    if path is None:
        return
    from gpualto.report import write_report

    details = {"command": options.command_line}
    write_report(
        path, model, X, title=f"{title}, {components_text(model.rank)}", details=details, top=options.top
    )
    print(f"wrote {path}")
