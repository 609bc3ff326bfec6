"""``gpualto check``: what is wrong with a file, line by line."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto.cli.arguments import Commands, add_command, add_input, check_output
from gpualto.io import read, write
from gpualto.io.files import split_suffix
from gpualto.io.inspection import Inspection, inspect

EXIT_PROBLEMS = 1


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "check",
        "show what is wrong with a tensor file, line by line; the status is 1 if anything is",
        "  gpualto check ratings.tns\n"
        "  gpualto check ratings.tns --fix clean.tns\n\n"
        "--fix keeps every line that can be read, sums repeated coordinates and counts indices from 1.",
    )
    add_input(parser)
    parser.set_defaults(index_base="auto")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="problems to print (default: 20)")
    parser.add_argument("--fix", type=Path, metavar="OUT", help="write what can be read to another file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.fix:
        check_output(options.fix, (".tns", ".npz"))
    if split_suffix(options.file)[0] == ".npz":
        print(f"{options.file}: no problems\n{read(options.file)}")
        return 0
    inspection = inspect(options.file, options.index_base)
    _report(options.file, inspection, options.limit)
    if options.fix:
        write(options.fix, inspection.tensor())
        print(f"wrote {options.fix}: {_kept(inspection)}")
    if inspection.problems:
        return EXIT_PROBLEMS
    read(options.file, index_base=options.index_base)  # the labels beside it
    return 0


def _report(path: Path, inspection: Inspection, limit: int) -> None:
    problems = inspection.problems
    for problem in problems[:limit]:
        print(f"{path}: {problem}")
    if len(problems) > limit:
        print(f"... and {len(problems) - limit:,} more; --limit {len(problems)} shows all")
    print(
        f"{path}: {len(inspection.entries):,} readable nonzeros, "
        f"{len(problems) or 'no'} problem{'s' * (len(problems) != 1)}; "
        f"indices count from {inspection.index_base}, shape {' x '.join(map(str, inspection.shape))}"
    )


def _kept(inspection: Inspection) -> str:
    """Return what became of the lines of a file."""
    repeats, lost = len(inspection.repeats), len(inspection.unreadable)
    nonzeros = len(inspection.entries) - repeats
    return f"{nonzeros:,} nonzeros; {repeats:,} lines summed into earlier ones, {lost:,} lines left out"
