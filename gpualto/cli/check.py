"""``gpualto check``: what is wrong with a file, line by line."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto.cli.arguments import Commands, add_command, add_input, check_output, natural
from gpualto.io import read, write
from gpualto.io.files import split_suffix
from gpualto.io.inspection import Inspection, inspect
from gpualto.io.tables import is_table

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
    parser.set_defaults(index_base=None)
    parser.add_argument(
        "--limit", type=natural, default=20, metavar="N", help="problems to print (default: 20)"
    )
    parser.add_argument("--fix", type=Path, metavar="OUT", help="write what can be read to another file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.fix:
        check_output(options.fix, (".tns", ".npz"))
        if options.fix.resolve() == options.file.resolve():
            raise ValueError(f"{options.fix}: is the file itself; --fix writes to another one")
    if is_table(options.file):
        raise ValueError(f"{options.file}: is a table, and this is for .tns files; gpualto info reads tables")
    if split_suffix(options.file)[0] != ".tns":
        print(f"{options.file}: no problems\n{read(options.file)}")
        return 0
    inspection = inspect(options.file, 1 if options.index_base is None else options.index_base)
    _report(options.file, inspection, options.limit)
    if options.index_base is None and _may_count_from_zero(options.file, inspection):
        question = "there are indices 0: does the file count from 0 (--index-base 0), or are they wrong (1)?"
        if options.fix:
            raise ValueError(f"{options.file}: {question}")
        print(question)
    if options.fix:
        write(options.fix, inspection.tensor())
        print(f"wrote {options.fix}: {_kept(inspection)}")
    return EXIT_PROBLEMS if inspection.problems else 0


def _may_count_from_zero(path: Path, inspection: Inspection) -> bool:
    """Tell whether lines were refused for an index 0: the file may have been taken for the wrong kind."""
    return bool(inspection.unreadable) and inspect(path, "auto").index_base < inspection.index_base


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
