"""``gpualto ranks``: how many components a file has."""

from __future__ import annotations

import argparse

from gpualto.cli import pictures
from gpualto.cli.arguments import Commands, add_command, method, natural, positive
from gpualto.cli.fitting import check_options
from gpualto.cli.inputs import add_input, read_input
from gpualto.decomposition.methods import METHODS
from gpualto.decomposition.rank_scan import RankScan, rank_scan
from gpualto.plot import plot_rank_scan


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "ranks",
        "fit models of several ranks, and show what speaks for each",
        "  gpualto ranks flights.tns\n"
        "  gpualto ranks flights.csv --modes carrier,dest,hour --ranks 4 6 8 --plot ranks.png\n\n"
        "The fit only rises. The split-half match says how well components are found again in each half\n"
        "of the data; core consistency, near 100 %, that they stand for themselves. With --method complete\n"
        "the error at entries held out stands in its place: the lower, the better.",
    )
    add_input(parser)
    parser.add_argument(
        "--ranks", type=positive, nargs="+", default=[1, 2, 3, 4, 5, 6], metavar="R", help="default: 1 to 6"
    )
    parser.add_argument(
        "--method", type=method, choices=tuple(METHODS), default="als", help="that of the model, as in cpd"
    )
    parser.add_argument(
        "--held-out",
        type=float,
        metavar="SHARE",
        help="entries to measure the error at (complete; default: 0.1)",
    )
    parser.add_argument("--l2", type=float, help="penalty on large factors (not for apr)")
    parser.add_argument("--splits", type=natural, default=1, help="random halves (default: 1; 0: none)")
    parser.add_argument("--restarts", type=positive, default=3, help="random starts of each fit (default: 3)")
    parser.add_argument("--seed", type=natural, default=0, help="seed of starts and halves (default: 0)")
    pictures.add_option(parser, "the three against the rank")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    pictures.check(options.plot)
    values = {"held_out": options.held_out, "l2": options.l2}
    given = {name: value for name, value in values.items() if value is not None}
    check_options(options.method, given)
    X = read_input(options)
    print(f"{X}\n")
    scan = rank_scan(
        X,
        options.ranks,
        method=options.method,
        n_splits=options.splits,
        n_restarts=options.restarts,
        random_state=options.seed,
        callback=_print_last,
        **given,
    )
    if options.plot is not None:
        pictures.draw(plot_rank_scan, scan, options.plot)
    return 0


def _print_last(scan: RankScan) -> None:
    """Print the row of the last rank as it is found, the first one below the heads of the columns."""
    lines = str(scan).splitlines()
    print("\n".join(lines if len(lines) == 2 else lines[-1:]), flush=True)
