"""``gpualto show``: the components of a model that was saved."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto.cli import pictures, reports, tables
from gpualto.cli.arguments import Commands, add_command, natural
from gpualto.cli.components import format_components
from gpualto.cli.fitting import describe
from gpualto.decomposition.model import CPModel
from gpualto.io.files import stem
from gpualto.plot import plot_components


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "show",
        "print, draw or report the components of a model that gpualto cpd --output has saved",
        "  gpualto show model.npz\n  gpualto show model.npz --plot model.png --report model.html",
    )
    parser.add_argument("file", type=Path, metavar="MODEL.npz", help="a saved model")
    parser.add_argument("--top", type=natural, default=8, metavar="K", help="labels per mode (default: 8)")
    pictures.add_option(parser)
    tables.add_option(parser)
    reports.add_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    pictures.check(options.plot)
    tables.check(options.table)
    reports.check(options.report)
    model = CPModel.load(options.file)
    print(f"{describe(model)}\n\n{format_components(model, options.top)}\n")
    pictures.draw(plot_components, model, options.plot)
    tables.write(model, options.table)
    reports.write(options.report, model, None, stem(options.file), options)
    return 0
