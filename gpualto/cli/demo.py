"""``gpualto demo``: a decomposition of real data, from nothing."""

from __future__ import annotations

import argparse

from gpualto import datasets
from gpualto.cli import components, outputs
from gpualto.cli.arguments import Commands, add_command, positive
from gpualto.cli.fitting import describe, fit


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        "decompose the flights out of New York in 2013 and show what each component stands for",
        "  gpualto demo\n  gpualto demo --rank 4 --top 3\n"
        "  gpualto demo --plot flights.png --report flights.html",
    )
    parser.add_argument("--rank", type=positive, default=8, help="number of components (default: 8)")
    components.add_options(parser, top=6)
    outputs.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    outputs.check(options)
    X = datasets.flights()
    print("Flights out of New York in 2013, by carrier, destination, scheduled hour and month:")
    print(f"{X}\n")
    model = fit(X, options.rank, n_iter_max=150, random_state=0, n_restarts=3)
    print(describe(model))
    print("Each component pairs carriers, destinations, hours and months that go together:\n")
    components.print_components(model, options)
    outputs.write(options, model, X, "Flights out of New York in 2013")
    return 0
