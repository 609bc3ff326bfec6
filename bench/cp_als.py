"""CP-ALS from one start: seconds per sweep, and the fit that each package ends with."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import gpualto
from bench.external import Job, alto_sweep, external, splatt_sweep, written
from bench.harness import Contestant, OwnTime, contest
from bench.machine import inspect_machine
from bench.mttkrp import backend_name, random_factors, use_threads
from bench.peers import (
    as_dense,
    column_major,
    package,
    pyttb_tensor,
    require_khatri_rao,
    require_quick_columns,
    sparse_tensor,
)
from bench.report import Section, parse_arguments, publish
from bench.tensors import Entries, load
from gpualto import CPModel, Tensor
from gpualto._arrays import Array

FIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Case:
    """One tensor, where to start, how many sweeps to run, and how long a peer may take."""

    X: Tensor
    start: list[Array]
    sweeps: int
    budget: float

    @property
    def rank(self) -> int:
        """Number of components."""
        return int(self.start[0].shape[1])


Fit = Callable[[], CPModel]
"""The work: all sweeps, and the model they end with."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse_arguments(
        arguments,
        __doc__,
        tensors=["uber"],
        peers=list(PEERS),
        more={"rank": (16, "number of components"), "sweeps": (5, "sweeps of each run")},
    )
    machine = inspect_machine()
    sections = (section for name in options.tensors for section in run(load(name, options.nnz), options))
    return publish(options, machine, sections)


def run(entries: Entries, options: Namespace) -> Iterator[Section]:
    """Measure one tensor, with each number of threads in turn."""
    X = Tensor.from_coo(entries.coords, entries.values, entries.shape)
    case = Case(X, random_factors(X.shape, options.rank), options.sweeps, options.budget)
    outside = {"ALTO C++": (alto_sweep, options.alto), "SPLATT": (splatt_sweep, options.splatt)}
    with written(entries, wanted=any(path for _, path in outside.values())) as file:
        for threads in options.threads:
            use_threads(threads)
            ours = contestant("gpualto", case, ours_of, None)
            if any(path for _, path in outside.values()):  # which do not count their set-up
                ours = replace(ours, run=partial(own_sweeps, case, ours_of(case)))
            reference = ours.figures(1.0)["fit"]
            entrants = {
                name: partial(contestant, name, case, PEERS[name], reference) for name in options.peers
            }
            job = Job(file, X.shape, options.rank, threads)
            entrants |= {
                name: partial(external, name, partial(all_sweeps, measure, case), path, job, per_sweep(case))
                for name, (measure, path) in outside.items()
                if path
            }
            results = contest([ours], entrants, options.repeats, options.budget)
            title = f"{entries}, rank {case.rank}, {case.sweeps} sweeps, {threads} threads"
            yield Section(f"{title}, {backend_name(X)} backend", results)


def all_sweeps(measure: Callable[[Path, Job], OwnTime], case: Case, program: Path, job: Job) -> OwnTime:
    """Return the seconds of as many sweeps as gpualto does, from those of one; starts and fits differ."""
    return OwnTime(case.sweeps * measure(program, job))


def own_sweeps(case: Case, fit: Fit) -> OwnTime:
    """Return gpualto's seconds for all sweeps, from the median of those after the first."""
    return OwnTime(case.sweeps * float(np.median(np.diff(fit().times))))


def per_sweep(case: Case) -> Callable[[float], dict[str, float]]:
    """Return what is reported of a program that prints its own times."""
    return lambda seconds: {"s_per_sweep": seconds / case.sweeps}


def contestant(name: str, case: Case, prepare: Callable[[Case], Fit], reference: float | None) -> Contestant:
    """Fit once, compare the fit with that of the reference, and make it ready to be timed."""
    compute = prepare(case)
    fit = fit_of(case.X, compute())
    return Contestant(
        name,
        compute,
        None if reference is None else abs(fit - reference),
        FIT_TOLERANCE,
        lambda seconds: {"s_per_sweep": seconds / case.sweeps, "fit": fit},
    )


def fit_of(X: Tensor, model: CPModel) -> float:
    """Return the fit of a model, whoever made it: ``1 - norm(X - model) / norm(X)``."""
    residual_squared = X.norm() ** 2 + model.norm() ** 2 - 2 * model.innerprod(X)
    return 1.0 - math.sqrt(max(residual_squared, 0.0)) / X.norm()


# Who takes part ---------------------------------------------------------------------------------------------


def ours_of(case: Case) -> Fit:
    """Return that of gpualto."""
    return lambda: gpualto.cp_als(
        case.X, case.rank, n_iter_max=case.sweeps, tol=0, init=case.start, random_state=0
    )


def pyttb(case: Case) -> Fit:
    """Return that of pyttb."""
    ttb = package("pyttb")
    X, start = pyttb_tensor(case.X), ttb.ktensor(column_major(case.start))
    require_quick_columns(X, case.budget, case.rank * case.sweeps)

    def compute() -> CPModel:
        model, _, _ = ttb.cp_als(X, case.rank, stoptol=0, maxiters=case.sweeps, init=start, printitn=0)
        return CPModel(model.weights, tuple(model.factor_matrices))

    return compute


def tensorly(case: Case) -> Fit:
    """Return that of TensorLy with PyData Sparse, which does not compute a fit when it need not stop."""
    decomposition = package("tensorly.contrib.sparse.decomposition")
    require_khatri_rao(case.X.shape, case.rank)
    X, start = sparse_tensor(case.X), (np.ones(case.rank), case.start)

    def compute() -> CPModel:
        weights, factors = decomposition.parafac(X, case.rank, n_iter_max=case.sweeps, init=start, tol=0)
        return CPModel(as_dense(weights), tuple(map(as_dense, factors)))

    return compute


def genten(case: Case) -> Fit:
    """Return that of GenTen, where its Python package is installed: it has wheels for few machines."""
    pygenten = package("pygenten")
    X = pygenten.Sptensor(case.X.shape, np.ascontiguousarray(case.X.coords.T), case.X.values.copy())
    factors = column_major(case.start)

    def compute() -> CPModel:
        start = pygenten.Ktensor(np.ones(case.rank), factors)
        options = {"rank": case.rank, "maxiters": case.sweeps, "tol": 0.0, "printitn": 0}
        model = pygenten.cp_als(X, init=start, **options)[0]
        return CPModel(np.array(model.weights), tuple(map(np.array, model.factor_matrices)))

    return compute


PEERS: dict[str, Callable[[Case], Fit]] = {"pyttb": pyttb, "tensorly": tensorly, "genten": genten}


if __name__ == "__main__":
    sys.exit(main())
