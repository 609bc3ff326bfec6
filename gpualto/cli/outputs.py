"""What a command writes about a model: a picture, a table, a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto._optional import require
from gpualto.cli import pictures
from gpualto.cli.arguments import check_output
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.words import components_text
from gpualto.io.tables import TABLE_SUFFIXES, write_table
from gpualto.plot import plot_components
from gpualto.tables.columns import pyarrow
from gpualto.tensor import Tensor


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--plot``, ``--table`` and ``--report``."""
    pictures.add_option(parser)
    parser.add_argument(
        "--table", type=Path, metavar="TABLE", help="write the components as rows: .csv, .tsv or .parquet"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="PAGE.html",
        help="write a page with components, pictures, fit, data and command",
    )


def check(options: argparse.Namespace) -> None:
    """Raise before the work starts if something could not be written."""
    pictures.check(options.plot)
    if options.table is not None:
        pyarrow()
        check_output(options.table, TABLE_SUFFIXES)
    if options.report is not None:
        require("matplotlib", "plot", "--report")
        check_output(options.report, (".html",))


def write(options: argparse.Namespace, model: CPModel, X: Tensor | None, title: str) -> None:
    """Write what was asked for, each whole or not at all, and say so."""
    if options.plot is not None:
        pictures.draw(plot_components, model, options.plot)
    if options.table is not None:
        write_table(options.table, model.to_table())
        print(f"wrote {options.table}")
    if options.report is not None:
        _write_page(options, model, X, title)


def _write_page(options: argparse.Namespace, model: CPModel, X: Tensor | None, title: str) -> None:
    from gpualto.report import write_report

    title = f"{title}, {components_text(model.rank)}"
    details = {"command": options.command_line}
    write_report(options.report, model, X, title=title, details=details, top=options.top)
    print(f"wrote {options.report}")
