"""``gpualto show``: the components of a model that was saved."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto.cli import components, outputs
from gpualto.cli.arguments import Commands, add_command
from gpualto.cli.fitting import describe
from gpualto.decomposition.model import CPModel
from gpualto.io.files import stem


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "show",
        "print, draw or report the components of a model that gpualto cpd --output has saved",
        "  gpualto show model.npz\n  gpualto show model.npz --plot model.png --report model.html",
    )
    parser.add_argument("file", type=Path, metavar="MODEL.npz", help="a saved model")
    components.add_options(parser)
    outputs.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    outputs.check(options)
    model = CPModel.load(options.file)
    print(f"{describe(model)}\n")
    components.print_components(model, options)
    print()
    outputs.write(options, model, None, stem(options.file))
    return 0
