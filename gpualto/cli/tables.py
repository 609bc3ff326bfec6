"""The table of a model, as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpualto.cli.arguments import check_output
from gpualto.decomposition.model import CPModel
from gpualto.io.tables import TABLE_SUFFIXES, is_table, write_table
from gpualto.tables.columns import pyarrow


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--table``."""
    parser.add_argument(
        "--table", type=Path, metavar="TABLE", help="write the components as rows: .csv, .tsv or .parquet"
    )


def check(path: Path | None) -> None:
    """Raise before the work starts if the table could not be written."""
    if path is None:
        return
    pyarrow()
    check_output(path, TABLE_SUFFIXES)
    if not is_table(path):
        raise ValueError(f"{path}: .parquet is compressed within; leave out the second suffix")


def write(model: CPModel, path: Path | None) -> None:
    """Write the table, whole or not at all, and say so."""
    if path is None:
        return
    write_table(path, model.to_table())
    print(f"wrote {path}")
