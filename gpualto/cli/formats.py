"""``gpualto formats``: what a tensor takes in the formats of the field, and how long they take to build."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualto import formats
from gpualto.cli.arguments import Commands, add_command, positive
from gpualto.cli.inputs import add_input, read_input
from gpualto.format import Format, build
from gpualto.tensor import Tensor, format_bytes


@dataclass(frozen=True)
class Row:
    """One format, or several copies in one: bytes, and seconds to build them from unsorted coordinates."""

    name: str
    nbytes: int
    seconds: float


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "formats",
        "compare the bytes and the construction time of a tensor in ALTO, COO, CSF, HiCOO and others",
        "  gpualto formats flights.tns\n  gpualto formats ratings.tns --block 64",
    )
    add_input(parser)
    parser.add_argument(
        "--block", type=positive, default=128, help="edge of the blocks of HiCOO (default: 128)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    X = read_input(options)
    print(f"{' x '.join(map(str, X.shape))}, {X.nnz:,} nonzeros, values {X.dtype}\n")
    print(format_rows(compare(X, options.block), X.nnz))
    return 0


def compare(X: Tensor, block: int) -> list[Row]:
    """Build every format from the entries in random order, the same for all."""
    order = np.random.default_rng(0).permutation(X.nnz)
    coords, values = tuple(X.coords[:, order]), X.values[order]

    def stored(*kinds: Format) -> Callable[[], list[Any]]:
        return lambda: [build(kind, coords, values, X.shape) for kind in kinds]

    modes = range(X.ndim)
    by_mode = [formats.CSF(X.ndim, [mode, *(n for n in modes if n != mode)]) for mode in modes]
    makers: dict[str, Callable[[], list[Any]]] = {
        "ALTO": lambda: [Tensor.from_coo(coords, values, X.shape)],
        "LCO": stored(formats.LCO(X.ndim)),
        "Morton": stored(formats.Morton(X.ndim)),
        "COO": stored(formats.COO(X.ndim)),
        f"HiCOO({block})": stored(formats.HiCOO(X.ndim, block)),
        "CSF": stored(by_mode[0]),
        "CSF, one per mode": stored(*by_mode),
    }
    makers["ALTO"]()  # loads what is loaded on first use
    return [_row(name, make) for name, make in makers.items()]


def _row(name: str, make: Callable[[], list[Any]]) -> Row:
    began = time.perf_counter()
    tensors = make()
    return Row(name, sum(tensor.nbytes for tensor in tensors), time.perf_counter() - began)


def format_rows(rows: list[Row], nnz: int) -> str:
    """Return the table."""
    count = max(nnz, 1)
    width = max(len(row.name) for row in rows)
    lines = [
        f"{'format':<{width}}  {'bytes':>9}  {'a nonzero':>9}  {'of ALTO':>7}  {'built in':>9}  a nonzero"
    ]
    for row in rows:
        share = row.nbytes / max(rows[0].nbytes, 1)
        lines.append(
            f"{row.name:<{width}}  {format_bytes(row.nbytes):>9}  {row.nbytes / count:>9.1f}  {share:>7.2f}"
            f"  {1e3 * row.seconds:>6.1f} ms  {1e9 * row.seconds / count:>6.0f} ns"
        )
    return "\n".join(lines)
