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
        X = inspection.tensor()
        write(options.fix, X)
        lost = len(inspection.problems) - _repeats(inspection)
        print(f"wrote {options.fix}: {X.nnz:,} nonzeros; {lost:,} problems left out")
    if not inspection.problems:
        read(options.file, index_base=options.index_base)  # labels beside the file, and all the rest
    return EXIT_PROBLEMS if inspection.problems else 0


def _report(path: Path, inspection: Inspection, limit: int) -> None:
    for problem in inspection.problems[:limit]:
        print(f"{path}: {problem}")
    more = len(inspection.problems) - limit
    if more > 0:
        print(f"... and {more:,} more; --limit {len(inspection.problems)} shows all")
    count = len(inspection.problems)
    print(
        f"{path}: {len(inspection.entries):,} readable nonzeros, "
        f"{count or 'no'} problem{'s' * (count != 1)}; indices count from {inspection.index_base}, "
        f"shape {' x '.join(map(str, inspection.shape))}"
    )


def _repeats(inspection: Inspection) -> int:
    return len(inspection.entries) - len({entry.coordinates for entry in inspection.entries})
