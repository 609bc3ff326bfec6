"""``gpualto convert``: from one file format to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto.cli.arguments import TENSOR_FILES, Commands, add_command, check_output
from gpualto.cli.inputs import add_input, read_input
from gpualto.io import write
from gpualto.io.tables import TABLE_SUFFIXES


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "convert",
        "write a tensor file in another format, by suffix; equal coordinates are summed",
        "  gpualto convert ratings.tns.gz ratings.npz\n"
        "  gpualto convert zero-based.tns one-based.tns --index-base 0\n"
        "  gpualto convert flights.csv flights.tns --modes carrier,dest,hour,month --value count",
    )
    add_input(parser)
    parser.add_argument("output", type=Path, metavar="OUT", help=f"{TENSOR_FILES}; or .csv, .tsv, .parquet")
    parser.add_argument(
        "--output-base", type=int, choices=(0, 1), default=1, help="smallest index of a .tns file written"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    check_output(options.output, (".tns", ".npz", *TABLE_SUFFIXES))
    X = read_input(options)
    write(options.output, X, index_base=options.output_base)
    print(f"{X}\nwrote {options.output}")
    return 0
