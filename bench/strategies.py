"""The compiled MTTKRP by each strategy: where staging stops to pay.

With more segments than cores, threads take turns: what is compared is the work in all, as on a machine with
as many cores.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import get_args

from bench.harness import measure
from bench.machine import inspect_machine
from bench.mttkrp import random_factors
from bench.tensors import SPECS, load
from gpualto import Tensor
from gpualto._arrays import empty
from gpualto.backends import cpu
from gpualto.backends.cpu.plan import Strategy, make_plan


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    parser = ArgumentParser(description=__doc__, epilog=f"tensors: {', '.join(SPECS)}")
    parser.add_argument("--tensors", nargs="+", default=["nips", "darpa"], metavar="NAME")
    parser.add_argument("--nnz", type=int, metavar="N", help="nonzeros to draw, not the tensor's own")
    parser.add_argument("--segments", nargs="+", type=int, default=[2, 16], metavar="N")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    print(inspect_machine())
    for name in options.tensors:
        entries = load(name, options.nnz)
        X = Tensor.from_coo(entries.coords, entries.values, entries.shape)
        print(f"\n{entries}, rank {options.rank}, milliseconds")
        print("segments  mode  private rows a nonzero" + "".join(f"{s:>10}" for s in get_args(Strategy)))
        for line in compare(X, options.segments, options.rank, options.repeats):
            print(line, flush=True)
    return 0


def compare(X: Tensor, segments: Sequence[int], rank: int, repeats: int) -> Iterator[str]:
    """Yield a line for each number of segments and each mode."""
    factors = random_factors(X.shape, rank)
    for count in segments:
        for mode in range(X.ndim):
            out = empty((X.shape[mode], rank), X.dtype)
            plans = [make_plan(X, mode, count, strategy) for strategy in get_args(Strategy)]
            runs: dict[str, Callable[[], object]] = {
                plan.strategy: partial(cpu.run_plan, plan, X, factors, out) for plan in plans
            }
            timings = measure(runs, repeats)
            rows = sum(segment.private_rows for segment in plans[0].segments) / X.nnz
            times = "".join(f"{1e3 * timings[plan.strategy].median:10.1f}" for plan in plans)
            yield f"{count:8}  {mode:4}  {rows:22.3f}{times}"


if __name__ == "__main__":
    sys.exit(main())
