"""The formats of the field on one engine: bytes, construction, conversion and MTTKRP, beside ALTO's."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import gpualto
from bench.harness import Contestant, Result, contest, relative_difference
from bench.machine import inspect_machine
from bench.mttkrp import use_threads
from bench.report import Section, parse_arguments, publish
from bench.tensors import Entries, load
from gpualto import Tensor, formats
from gpualto._arrays import Array
from gpualto.format import Format, build

AnyTensor = Any

TOLERANCE = 1e-9


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse_arguments(
        arguments,
        __doc__,
        tensors=["uber", "nips"],
        peers=[],
        more={"rank": (16, "columns of the factors"), "block": (128, "edge of the blocks of HiCOO")},
    )
    sections = (section for name in options.tensors for section in run(load(name, options.nnz), options))
    return publish(options, inspect_machine(), sections)


def run(entries: Entries, options: Namespace) -> Iterator[Section]:
    """Measure one tensor: construction, conversion from COO, MTTKRP of all modes."""
    ndim = len(entries.shape)
    kinds = compared(ndim, options.block)
    X = Tensor.from_coo(entries.coords, entries.values, entries.shape)
    coo = X.to_format(formats.COO(ndim))
    stored: dict[str, AnyTensor] = {name: X.to_format(kind) for name, kind in kinds.items()}

    def make(kind: Format) -> AnyTensor:
        if kind.is_alto:
            return Tensor.from_coo(entries.coords, entries.values, entries.shape)
        return build(kind, entries.coords, entries.values, entries.shape)

    for title, work in (("from coordinates", make), ("from COO", coo.to_format)):
        yield Section(
            f"{entries}, {title}",
            contest(
                [_contestant(name, partial(work, kind), stored[name]) for name, kind in kinds.items()],
                {},
                options.repeats,
                options.budget,
            ),
        )
    for threads in options.threads:
        use_threads(threads)
        title = f"{entries}, {threads} threads, MTTKRP of all modes, rank {options.rank}"
        yield Section(title, time_mttkrp(stored, options))


def compared(ndim: int, block: int) -> dict[str, Format]:
    """Return the formats by name, ALTO first."""
    return {
        "ALTO": formats.ALTO(ndim),
        "LCO": formats.LCO(ndim),
        "Morton": formats.Morton(ndim),
        "COO": formats.COO(ndim),
        "HiCOO": formats.HiCOO(ndim, block),
        "CSF": formats.CSF(ndim),
        "CSF, modes reversed": formats.CSF(ndim, range(ndim)[::-1]),
    }


def _contestant(name: str, work: Callable[[], AnyTensor], tensor: AnyTensor) -> Contestant:
    made = work()
    difference = float(made.values.size != tensor.values.size) or relative_difference(
        made.values, tensor.values
    )
    count = max(tensor.entries()[1].size, 1)

    def figures(seconds: float) -> dict[str, float]:
        return {
            "ms": 1e3 * seconds,
            "ns_a_nonzero": 1e9 * seconds / count,
            "bytes_a_nonzero": tensor.nbytes / count,
        }

    return Contestant(name, work, difference, TOLERANCE, figures)


def time_mttkrp(stored: dict[str, AnyTensor], options: Namespace) -> list[Any]:
    """Return the results of the MTTKRP of all modes in every format."""
    shape = stored["ALTO"].shape
    rng = np.random.default_rng(0)
    factors = [rng.random((length, options.rank)) for length in shape]
    modes = range(len(shape))
    desired = [gpualto.mttkrp(stored["ALTO"], factors, mode) for mode in modes]

    def all_modes(X: AnyTensor) -> list[Array]:
        return [gpualto.mttkrp(X, factors, mode) for mode in modes]

    contestants = []
    for name, X in stored.items():
        results = all_modes(X)
        difference = max(relative_difference(*pair) for pair in zip(results, desired, strict=True))
        contestants.append(Contestant(name, partial(all_modes, X), difference, TOLERANCE))
    by_mode = [stored["ALTO"].to_format(_rooted(len(shape), mode)) for mode in modes]

    def each_by_its_own() -> list[Array]:
        return [gpualto.mttkrp(X, factors, mode) for mode, X in enumerate(by_mode)]

    differences = map(relative_difference, each_by_its_own(), desired)
    contestants.append(Contestant("CSF, one per mode", each_by_its_own, max(differences), TOLERANCE))
    results = contest(contestants, {}, options.repeats, options.budget)
    return [*results, _oracle(results)]


def _rooted(ndim: int, mode: int) -> Format:
    """Return the tree whose root is a mode: the copy that is best for its MTTKRP."""
    return formats.CSF(ndim, [mode, *(n for n in range(ndim) if n != mode)])


def _oracle(results: Sequence[Result]) -> Result:
    """Return the best of the other formats that have one copy for all modes, as in figure 6 of the paper."""
    others = [
        result for result in results if result.ratio and result.name not in ("ALTO", "CSF, one per mode")
    ]
    best = min(others, key=lambda result: result.ratio or math.inf)
    return replace(best, name="best other of one copy", note=best.name)


if __name__ == "__main__":
    sys.exit(main())
