"""``gpualto cpd``: the CP decomposition of a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from gpualto.cli import components, outputs
from gpualto.cli.arguments import (
    EXIT_INTERRUPTED,
    Commands,
    add_command,
    check_output,
    method,
    mode,
    natural,
    positive,
)
from gpualto.cli.fitting import FitInterruptedError, check_options, describe, fit
from gpualto.cli.inputs import add_input, read_input
from gpualto.decomposition.methods import METHODS
from gpualto.decomposition.model import CPModel
from gpualto.io.files import stem
from gpualto.profiling import profiled


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "cpd",
        "fit a CP model and print its components",
        "  gpualto cpd flights.tns --rank 8\n"
        "  gpualto cpd ratings.tns.gz --rank 16 --restarts 5 --output model.npz --plot model.png\n"
        "  gpualto cpd flights.tns --rank 8 --method apr --report flights.html\n"
        "  gpualto cpd flights.csv --modes carrier,dest,when:month --rank 8 --table components.csv\n"
        "  gpualto cpd new.tns --rank 16 --init model.npz --fixed 0 2\n\n"
        "Modes, and indices without labels, count from 0.",
    )
    add_input(parser)
    parser.add_argument("--rank", type=positive, required=True, help="number of components")
    parser.add_argument(
        "--method",
        type=method,
        choices=tuple(METHODS),
        default="als",
        help="als: least squares (default); nn: the same without negative numbers; apr: Poisson, for counts; "
        "complete: what is not stored is unknown, not zero; opt: L-BFGS",
    )
    parser.add_argument("--sweeps", type=positive, help="most sweeps of a start (default: the method's)")
    parser.add_argument("--tol", type=float, help="what to stop at (default: the method's)")
    parser.add_argument("--l2", type=float, help="penalty on large factors (not for apr)")
    parser.add_argument(
        "--held-out", type=float, metavar="SHARE", help="entries to measure the error at (complete)"
    )
    parser.add_argument("--init", default="random", help="random, nvecs, or a model file (default: random)")
    parser.add_argument("--seed", type=natural, default=0, help="seed of the random starts (default: 0)")
    parser.add_argument("--restarts", type=positive, default=1, help="random starts, best kept (default: 1)")
    parser.add_argument(
        "--fixed",
        type=mode,
        nargs="+",
        metavar="MODE",
        help="modes, from 0 or by name, that stay as in --init (als)",
    )
    parser.add_argument("--output", type=Path, metavar="MODEL.npz", help="where to save the model")
    components.add_options(parser)
    parser.add_argument("--profile", action="store_true", help="show where the time went")
    outputs.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.output:
        check_output(options.output, (".npz",))
    outputs.check(options)
    check_options(options.method, _given(options))
    X = read_input(options)
    print(X)
    try:
        with profiled() as profile:
            model = fit(
                X,
                options.rank,
                options.method,
                init=_initial(options.init),
                random_state=options.seed,
                n_restarts=options.restarts,
                **_given(options),
            )
    except FitInterruptedError as interrupt:
        print(f"gpualto cpd: interrupted; {_keep(interrupt.model, options.output)}", file=sys.stderr)
        return EXIT_INTERRUPTED
    starts = f"; the best of {options.restarts} starts" if options.restarts > 1 else ""
    print(f"{describe(model)}{starts}")
    if options.profile:
        print(f"\n{profile}")
    print()
    components.print_components(model, options)
    print()
    if options.output:
        model.save(options.output)
        print(f"wrote {options.output}")
    outputs.write(options, model, X, stem(options.file))
    return 0


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given, by the names that methods have for them."""
    values = {
        "n_iter_max": options.sweeps,
        "tol": options.tol,
        "l2": options.l2,
        "held_out": options.held_out,
        "fixed_modes": options.fixed,
    }
    return {name: value for name, value in values.items() if value is not None}


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
