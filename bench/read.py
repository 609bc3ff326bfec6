"""Reading a ``.tns`` file: gpualto with and without construction, and the text readers of other packages."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gpualto
from bench.harness import Contestant, contest, relative_difference
from bench.machine import inspect_machine
from bench.peers import package
from bench.report import Section, parse_arguments, publish
from bench.tensors import SPECS, Entries, load
from gpualto import Tensor
from gpualto._arrays import Array
from gpualto.io.tns import read_tns

_LOADTXT_SHARE = 10
"""NumPy reads one line in so many: it takes minutes for what the others do in seconds."""

_DECIMALS = 3


@dataclass(frozen=True, eq=False)
class Case:
    """A file and what is in it."""

    path: Path
    entries: Entries

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return self.path.stat().st_size


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse_arguments(
        arguments,
        __doc__,
        tensors=["nell-2"],
        peers=list(PEERS),
        more={"megabytes": (100, "size of the file, about; --nnz, if given, decides instead")},
    )
    machine = inspect_machine()
    with tempfile.TemporaryDirectory() as folder:
        sections = (run(write(Path(folder), name, options), options) for name in options.tensors)
        return publish(options, machine, sections)


def run(case: Case, options: Namespace) -> Section:
    """Measure one file."""
    ours = [parse_only(case), whole(case), raw_bytes(case)]
    entrants = {name: partial(PEERS[name], case) for name in options.peers}
    results = contest(ours, entrants, options.repeats, options.budget)
    return Section(f"{case.entries}, {case.nbytes / 1e6:,.1f} MB of text", results)


def nonzeros_in(name: str, megabytes: int) -> int | None:
    """Return how many nonzeros of a synthetic tensor fill a file of about a size, None for a file."""
    if name not in SPECS:
        return None
    shape = SPECS[name].shape
    line = sum(len(str(length)) for length in shape) + len("0." + "0" * _DECIMALS) + len(shape) + 1
    return megabytes * 10**6 // line


def write(folder: Path, name: str, options: Namespace) -> Case:
    """Write a clean file: single spaces, no comment, indices from 1, values of three decimals."""
    arrow, csv = package("pyarrow"), package("pyarrow.csv")
    drawn = load(name, options.nnz or nonzeros_in(name, options.megabytes))
    values = np.maximum(drawn.values.round(_DECIMALS), 10.0**-_DECIMALS)
    entries = Entries(drawn.name, drawn.shape, drawn.coords, values)
    path = folder / f"{len(list(folder.iterdir()))}.tns"
    columns = [*(coordinate + 1 for coordinate in entries.coords), entries.values]
    table = arrow.table({str(number): column for number, column in enumerate(columns)})
    csv.write_csv(table, path, csv.WriteOptions(include_header=False, delimiter=" "))
    return Case(path, entries)


def figures(seconds: float, nbytes: int) -> dict[str, float]:
    """Return what is reported: time and megabytes per second."""
    return {"ms": 1e3 * seconds, "MB_per_s": nbytes / 1e6 / seconds}


def parser(
    name: str,
    case: Case,
    parse: Callable[[], Any],
    columns: Callable[[Any], Sequence[Array]],
    lines: int | None = None,
) -> Contestant:
    """Check what was parsed, the first `lines` of it or all, and make it ready to be timed."""
    found = columns(parse())
    return Contestant(
        name,
        parse,
        difference(found, case.entries, lines),
        1e-12,
        partial(figures, nbytes=case.nbytes),
        1.0 if lines is None else lines / max(case.entries.nnz, 1),
    )


def difference(columns: Sequence[Array], entries: Entries, lines: int | None = None) -> float:
    """Return how far parsed columns are from what was written: infinite if an index is not the same."""
    *indices, values = columns
    same = len(indices) == len(entries.coords) and all(
        np.array_equal(found, coordinate[:lines] + 1)
        for found, coordinate in zip(indices, entries.coords, strict=True)
    )
    return relative_difference(values, entries.values[:lines]) if same else np.inf


# Who takes part ---------------------------------------------------------------------------------------------


def parse_only(case: Case) -> Contestant:
    """Return gpualto's parser, which has the coordinates counted from 0."""
    return parser(
        "gpualto, parse",
        case,
        lambda: read_tns(case.path),
        lambda data: [*(coordinate + 1 for coordinate in data.coords), data.values],
    )


def whole(case: Case) -> Contestant:
    """Return `gpualto.read`: parse and make the tensor, whose shape the file does not say."""
    entries = case.entries
    read = partial(gpualto.read, case.path, shape=entries.shape)
    same = read() == Tensor.from_coo(entries.coords, entries.values, entries.shape)
    return Contestant(
        "gpualto.read", read, 0.0 if same else np.inf, figures=partial(figures, nbytes=case.nbytes)
    )


def raw_bytes(case: Case) -> Contestant:
    """Return the limit: the bytes of the file, which the system has in memory, and nothing made of them."""
    case.path.read_bytes()
    return Contestant("bytes only", case.path.read_bytes, figures=partial(figures, nbytes=case.nbytes))


def pandas(case: Case) -> Contestant:
    """Return the C engine of pandas, one thread."""
    frames = package("pandas")
    return parser(
        "pandas",
        case,
        lambda: frames.read_csv(case.path, sep=" ", header=None),
        lambda frame: [frame[column].to_numpy() for column in frame.columns],
    )


def polars(case: Case) -> Contestant:
    """Return polars, as many threads as cores."""
    frames = package("polars")
    return parser(
        "polars",
        case,
        lambda: frames.read_csv(case.path, separator=" ", has_header=False),
        lambda frame: [column.to_numpy() for column in frame.get_columns()],
    )


def pyarrow(case: Case) -> Contestant:
    """Return Apache Arrow, as many threads as cores: what gpualto's own parser calls."""
    csv = package("pyarrow.csv")
    read_options = csv.ReadOptions(autogenerate_column_names=True)
    parse_options = csv.ParseOptions(delimiter=" ")
    return parser(
        "pyarrow",
        case,
        lambda: csv.read_csv(case.path, read_options=read_options, parse_options=parse_options),
        lambda table: [column.to_numpy() for column in table.columns],
    )


def numpy(case: Case) -> Contestant:
    """Return `numpy.loadtxt` on the first lines."""
    lines = -(-case.entries.nnz // _LOADTXT_SHARE)
    return parser(
        "numpy.loadtxt",
        case,
        lambda: np.loadtxt(case.path, max_rows=lines, ndmin=2),
        lambda rows: list(rows.T),
        lines,
    )


PEERS: dict[str, Callable[[Case], Contestant]] = {
    "numpy": numpy,
    "pandas": pandas,
    "polars": polars,
    "pyarrow": pyarrow,
}


if __name__ == "__main__":
    sys.exit(main())
