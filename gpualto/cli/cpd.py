"""``gpualto cpd``: the CP decomposition of a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpualto.cli import pictures, tables
from gpualto.cli.arguments import (
    EXIT_INTERRUPTED,
    Commands,
    add_command,
    check_output,
    natural,
    positive,
)
from gpualto.cli.components import format_components
from gpualto.cli.fitting import FitInterruptedError, describe, fit
from gpualto.cli.inputs import add_input, read_input
from gpualto.decomposition.model import CPModel
from gpualto.profiling import profiled


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "cpd",
        "fit a CP model by alternating least squares and print its components",
        "  gpualto cpd flights.tns --rank 8\n"
        "  gpualto cpd ratings.tns.gz --rank 16 --restarts 5 --output model.npz --plot model.png\n"
        "  gpualto cpd flights.csv --modes carrier,dest,when:month --rank 8 --table components.csv\n"
        "  gpualto cpd new.tns --rank 16 --init model.npz --fixed 0 2\n\n"
        "Modes, and indices without labels, count from 0.",
    )
    add_input(parser)
    parser.add_argument("--rank", type=positive, required=True, help="number of components")
    parser.add_argument("--sweeps", type=positive, default=100, help="most sweeps of a start (default: 100)")
    parser.add_argument("--tol", type=float, default=1e-5, help="change of fit to stop at (default: 1e-5)")
    parser.add_argument("--init", default="random", help="random, nvecs, or a model file (default: random)")
    parser.add_argument("--seed", type=natural, default=0, help="seed of the random starts (default: 0)")
    parser.add_argument("--restarts", type=positive, default=1, help="random starts, best kept (default: 1)")
    parser.add_argument(
        "--fixed",
        type=int,
        nargs="+",
        default=[],
        metavar="MODE",
        help="modes, from 0, that stay as in --init",
    )
    parser.add_argument("--output", type=Path, metavar="MODEL.npz", help="where to save the model")
    parser.add_argument("--top", type=natural, default=8, metavar="K", help="labels per mode (default: 8)")
    parser.add_argument("--profile", action="store_true", help="show where the time went")
    pictures.add_option(parser)
    tables.add_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.output:
        check_output(options.output, (".npz",))
    pictures.check(options.plot)
    tables.check(options.table)
    X = read_input(options)
    print(X)
    try:
        with profiled() as profile:
            model = fit(
                X,
                options.rank,
                n_iter_max=options.sweeps,
                tol=options.tol,
                init=_initial(options.init),
                random_state=options.seed,
                fixed_modes=options.fixed,
                n_restarts=options.restarts,
            )
    except FitInterruptedError as interrupt:
        print(f"gpualto cpd: interrupted; {_keep(interrupt.model, options.output)}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if options.output:
        model.save(options.output)
    print(describe(model, options.output))
    pictures.draw(model, options.plot)
    tables.write(model, options.table)
    if options.profile:
        print(f"\n{profile}")
    print(f"\n{format_components(model, options.top)}")
    return 0


def _initial(init: str) -> str | CPModel:
    return init if init in ("random", "nvecs") else CPModel.load(init)


def _keep(model: CPModel | None, output: Path | None) -> str:
    """Save what an interrupted fit had reached, and say so."""
    if model is None:
        return "no sweep was complete, nothing was written"
    if output is None:
        return f"the fit was {model.fit:.6f} after {model.n_iter} sweeps, not saved without --output"
    model.arrange().save(output)
    return f"wrote the model of sweep {model.n_iter}, fit {model.fit:.6f}, to {output}"
