"""What the first MTTKRP costs: loading Numba and compiling, and the same with the compiled code on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.machine import inspect_machine

_FIRST_CALL = """
import time
began = time.perf_counter()
import numpy as np, gpualto
imported = time.perf_counter()
X = gpualto.datasets.flights()
factors = [np.ones((length, {rank})) for length in X.shape]
read = time.perf_counter()
gpualto.mttkrp(X, factors, 0)
first = time.perf_counter()
gpualto.mttkrp(X, factors, 1)
print(imported - began, first - read, time.perf_counter() - first)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=16, help="columns of the factors")
    parser.add_argument("--repeats", type=int, default=3, help="processes of each kind")
    options = parser.parse_args(arguments)
    print(inspect_machine())
    print(f"\n{'seconds':12} import   first MTTKRP   another mode")
    with TemporaryDirectory() as folder:
        rows = [first_call(options.rank, Path(folder, str(n))) for n in range(options.repeats)]
        print_row("nothing yet", rows)
        warm = Path(folder, "0")
        print_row("on disk", [first_call(options.rank, warm) for _ in range(options.repeats)])
    return 0


def first_call(rank: int, cache: Path) -> list[float]:
    """Return the seconds that a new process takes to import, for its first MTTKRP, and for one more mode."""
    command = [sys.executable, "-c", _FIRST_CALL.format(rank=rank)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()]


def print_row(name: str, rows: list[list[float]]) -> None:
    """Print the medians."""
    imported, first, second = (median(column) for column in zip(*rows, strict=True))
    print(f"{name:12} {imported:6.3f}   {first:12.3f}   {second:12.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
