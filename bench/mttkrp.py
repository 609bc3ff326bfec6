"""MTTKRP over all modes: gpualto and peers, held against the bytes that must move."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bench.external import Job, alto_mttkrp, external, repeated, splatt_mttkrp, written
from bench.harness import Contestant, contest, relative_difference
from bench.machine import Machine, inspect_machine
from bench.peers import (
    column_major,
    package,
    pyttb_tensor,
    require_khatri_rao,
    require_quick_columns,
    sparse_tensor,
)
from bench.report import Section, parse_arguments, publish
from bench.tensors import Entries, load
from gpualto import Tensor
from gpualto._arrays import Array, empty
from gpualto.backends import backend_for

Mttkrp = Callable[[int], Array]
"""The work for one mode."""

SINGLE_TOLERANCE = 1e-3
"""For float32 sums, whose rounding grows with the nonzeros of a row: 3e-5 for uber at 3.3M."""


@dataclass(frozen=True, eq=False)
class Case:
    """One tensor, its factors and outputs, the speed of this machine, and how long a peer may take."""

    X: Tensor
    factors: list[Array]
    outputs: list[Array]
    copy_bytes_per_second: float
    budget: float = math.inf

    @property
    def rank(self) -> int:
        """Columns of the factors."""
        return int(self.factors[0].shape[1])

    def reference(self, mode: int) -> Array:
        """Return what every contestant has to compute."""
        return self.X.mttkrp(self.factors, mode, self.outputs[mode])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse_arguments(
        arguments,
        __doc__,
        tensors=["uber", "nips"],
        peers=list(PEERS),
        more={"rank": (16, "columns of the factors")},
    )
    machine = inspect_machine()
    sections = (
        section for name in options.tensors for section in run(load(name, options.nnz), machine, options)
    )
    return publish(options, machine, sections)


def run(entries: Entries, machine: Machine, options: Namespace) -> Iterator[Section]:
    """Measure one tensor, with each number of threads in turn."""
    X = Tensor.from_coo(entries.coords, entries.values, entries.shape)
    case = make_case(X, options.rank, machine.copy_bytes_per_second, options.budget)
    outside = {"ALTO C++": (alto_mttkrp, options.alto), "SPLATT": (splatt_mttkrp, options.splatt)}
    with written(entries, wanted=any(path for _, path in outside.values())) as file:
        for threads in options.threads:
            use_threads(threads)
            ours = [contestant("gpualto float64", case, double_precision)]
            if not options.double_only:
                ours.append(
                    contestant("gpualto float32", case, single_precision, SINGLE_TOLERANCE, itemsize=4)
                )
            if any(path for _, path in outside.values()):  # these do it several times in a row
                ours = [replace(entry, run=partial(repeated, entry.run)) for entry in ours]
            entrants = {name: partial(contestant, name, case, PEERS[name]) for name in options.peers}
            job = Job(file, X.shape, options.rank, threads)
            entrants |= {
                name: partial(external, name, measure, path, job, partial(figures, case=case, itemsize=8))
                for name, (measure, path) in outside.items()
                if path
            }
            results = contest(ours, entrants, options.repeats, options.budget)
            title = f"{entries}, rank {options.rank}, {threads} threads, {backend_name(X)} backend"
            yield Section(title, results)


def contestant(
    name: str,
    case: Case,
    prepare: Callable[[Case], Mttkrp],
    tolerance: float = 1e-10,
    itemsize: int = 8,
) -> Contestant:
    """Check the work of all modes once, and make it ready to be timed."""
    mttkrp, modes = prepare(case), range(case.X.ndim)
    differences = [relative_difference(mttkrp(mode), case.reference(mode)) for mode in modes]
    return Contestant(
        name,
        partial(compute_all, mttkrp, modes),
        float(np.max(differences)),
        tolerance,
        partial(figures, case=case, itemsize=itemsize),
    )


def compute_all(mttkrp: Mttkrp, modes: Iterable[int]) -> None:
    """Do what is timed, without keeping the results: those of long modes are large."""
    for mode in modes:
        mttkrp(mode)


def figures(seconds: float, case: Case, itemsize: int) -> dict[str, float]:
    """Return what is reported: time in all and per nonzero and mode, and the share of the floor."""
    return {
        "ms": 1e3 * seconds,
        "ns_per_nonzero_and_mode": 1e9 * seconds / max(case.X.nnz * case.X.ndim, 1),
        "share_of_floor": floor_bytes(case, itemsize) / case.copy_bytes_per_second / seconds,
    }


def floor_bytes(case: Case, itemsize: int) -> int:
    """Return the bytes that must move for the MTTKRP of all modes, in whatever way it is done.

    For each mode: index and value of each nonzero once, each row of the other factors that any nonzero
    selects once, and the output once.
    """
    X, row_nbytes = case.X, case.rank * itemsize
    touched = [_count_distinct(c, length) for c, length in zip(X.coords, X.shape, strict=True)]
    nonzeros = X.nnz * (X.encoding.index_nbytes + itemsize)
    rows = [sum(touched) - touched[mode] + X.shape[mode] for mode in range(X.ndim)]
    return X.ndim * nonzeros + sum(rows) * row_nbytes


def make_case(X: Tensor, rank: int, copy_bytes_per_second: float, budget: float) -> Case:
    """Return a case with factors and outputs that begin on cache lines, as those of CP-ALS do."""
    outputs = [empty((length, rank), X.dtype) for length in X.shape]
    return Case(X, random_factors(X.shape, rank), outputs, copy_bytes_per_second, budget)


def random_factors(shape: tuple[int, ...], rank: int) -> list[Array]:
    """Return factors uniform on [0, 1), the same for the same arguments."""
    generator = np.random.default_rng(0)
    factors = [empty((length, rank), np.float64) for length in shape]
    for factor in factors:
        generator.random(out=factor)
    return factors


def use_threads(count: int) -> None:
    """Let compiled code run on so many threads."""
    with suppress(ImportError):
        import numba

        numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))


def backend_name(X: Tensor) -> str:
    """Return the name of the backend that gpualto picks."""
    backend = backend_for(X)
    return str(getattr(backend, "__name__", type(backend).__name__)).rpartition(".")[2]


# Who takes part ---------------------------------------------------------------------------------------------


def double_precision(case: Case) -> Mttkrp:
    """Return gpualto's MTTKRP: what the others are checked against."""
    return case.reference


def single_precision(case: Case) -> Mttkrp:
    """Return gpualto's MTTKRP with values and factors in float32."""
    X = case.X.astype(np.float32)
    factors, outputs = ([empty(array.shape, np.float32) for array in case.factors] for _ in range(2))
    for narrow, factor in zip(factors, case.factors, strict=True):
        narrow[...] = factor
    return lambda mode: X.mttkrp(factors, mode, outputs[mode])


def pyttb(case: Case) -> Mttkrp:
    """Return that of pyttb."""
    X, factors = pyttb_tensor(case.X), column_major(case.factors)
    require_quick_columns(X, case.budget, case.rank)
    return lambda mode: X.mttkrp(factors, mode)


def tensorly(case: Case) -> Mttkrp:
    """Return that of TensorLy with PyData Sparse: the unfolding times the whole Khatri-Rao product."""
    cp_tensor = package("tensorly.contrib.sparse.cp_tensor")
    require_khatri_rao(case.X.shape, case.rank)
    X = sparse_tensor(case.X)
    return lambda mode: cp_tensor.unfolding_dot_khatri_rao(X, (None, case.factors), mode)


PEERS: dict[str, Callable[[Case], Mttkrp]] = {"pyttb": pyttb, "tensorly": tensorly}


def _count_distinct(coordinate: Array, length: int) -> int:
    seen = np.zeros(length, bool)
    seen[coordinate] = True
    return int(np.count_nonzero(seen))


if __name__ == "__main__":
    sys.exit(main())
