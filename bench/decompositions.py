"""Poisson CP, nonnegative CP and Tucker from one start: seconds per sweep, beside packages that have them."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import gpualto
from bench.harness import Contestant, UnavailableError, contest
from bench.machine import inspect_machine, memory_bytes
from bench.mttkrp import backend_name, random_factors, use_threads
from bench.peers import column_major, package, pyttb_tensor
from bench.report import Section, parse_arguments, publish
from bench.tensors import Entries, load
from gpualto import CPModel, Tensor, TuckerModel
from gpualto._arrays import Array

_INNER = 10
_SHARE_OF_MEMORY = 0.1
_LIKELIHOOD_TOLERANCE, _FIT_TOLERANCE = 1e-2, 1e-6
"""Of the likelihood relative: pyttb and the paper lift zeros at different places."""


@dataclass(frozen=True, eq=False)
class Case:
    """One tensor, where to start, and how many sweeps to run."""

    X: Tensor
    start: list[Array]
    sweeps: int

    @property
    def rank(self) -> int:
        """Number of components, or columns of each factor."""
        return int(self.start[0].shape[1])


@dataclass(frozen=True)
class Problem:
    """A decomposition: what is compared, ours, and the peers that have it."""

    title: str
    score: Callable[[Tensor, CPModel | TuckerModel], float]
    tolerance: float
    ours: Callable[[Case], Callable[[], CPModel | TuckerModel]]
    peers: dict[str, Callable[[Case], Callable[[], CPModel | TuckerModel]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse_arguments(
        arguments,
        __doc__,
        tensors=["gpualto/data/flights.tns"],
        peers=["pyttb", "tensorly"],
        more={"rank": (8, "number of components"), "sweeps": (5, "sweeps of each run")},
    )
    machine = inspect_machine()
    sections = (section for name in options.tensors for section in run(load(name, options.nnz), options))
    return publish(options, machine, sections)


def run(entries: Entries, options: Namespace) -> Iterator[Section]:
    """Measure one tensor, with each number of threads and each decomposition in turn."""
    X = Tensor.from_coo(entries.coords, abs(entries.values), entries.shape)
    case = Case(X, random_factors(X.shape, options.rank), options.sweeps)
    for threads in options.threads:
        use_threads(threads)
        for problem in PROBLEMS:
            ours = contestant("gpualto", problem, case, problem.ours, None)
            reference = problem.score(X, problem.ours(case)())
            entrants = {
                name: partial(contestant, name, problem, case, prepare, reference)
                for name, prepare in problem.peers.items()
                if name in options.peers
            }
            results = contest([ours], entrants, options.repeats, options.budget)
            title = f"{problem.title}: {entries}, rank {case.rank}, {case.sweeps} sweeps, {threads} threads"
            yield Section(f"{title}, {backend_name(X)} backend", results)


def contestant(
    name: str,
    problem: Problem,
    case: Case,
    prepare: Callable[[Case], Callable[[], CPModel | TuckerModel]],
    reference: float | None,
) -> Contestant:
    """Fit once, compare the score with that of the reference, and make it ready to be timed."""
    compute = prepare(case)
    score = problem.score(case.X, compute())
    return Contestant(
        name,
        compute,
        None if reference is None else abs(score - reference) / max(abs(reference), 1.0),
        problem.tolerance,
        lambda seconds: {"s_per_sweep": seconds / case.sweeps, "score": score},
    )


def log_likelihood(X: Tensor, model: CPModel | TuckerModel) -> float:
    """Return the Poisson log-likelihood, up to a constant of the data."""
    assert isinstance(model, CPModel)
    shares = model.normalize(ord=1)
    means = gpualto.model_values(X, shares)
    return float(X.values @ np.log(np.maximum(means, 1e-100)) - shares.weights.sum())


def fit(X: Tensor, model: CPModel | TuckerModel) -> float:
    """Return ``1 - norm(X - model) / norm(X)``."""
    if isinstance(model, TuckerModel):  # its factors are orthonormal
        return 1.0 - math.sqrt(max(X.norm() ** 2 - float(np.square(model.core).sum()), 0.0)) / X.norm()
    residual_squared = X.norm() ** 2 + model.norm() ** 2 - 2 * model.innerprod(X)
    return 1.0 - math.sqrt(max(residual_squared, 0.0)) / X.norm()


# Who takes part ---------------------------------------------------------------------------------------------


def poisson(case: Case) -> Callable[[], CPModel]:
    """Return Poisson CP of gpualto."""
    return lambda: gpualto.cp_apr(
        case.X, case.rank, init=case.start, n_iter_max=case.sweeps, tol=0, inner_iter_max=_INNER
    )


def poisson_of_pyttb(case: Case) -> Callable[[], CPModel]:
    """Return that of pyttb, by multiplicative updates as well."""
    ttb = package("pyttb")
    X, start = pyttb_tensor(case.X), column_major(case.start)

    def compute() -> CPModel:
        model, _, _ = ttb.cp_apr(
            X,
            case.rank,
            algorithm="mu",
            init=ttb.ktensor([factor.copy(order="F") for factor in start]),
            maxiters=case.sweeps,
            maxinneriters=_INNER,
            stoptol=1e-300,
            printitn=0,
            printinneritn=0,
        )
        return CPModel(model.weights, tuple(model.factor_matrices))

    return compute


def nonnegative(case: Case) -> Callable[[], CPModel]:
    """Return multiplicative updates of gpualto."""
    return lambda: gpualto.cp_nn(
        case.X, case.rank, method="mu", init=case.start, n_iter_max=case.sweeps, tol=0
    )


def nonnegative_of_tensorly(case: Case) -> Callable[[], CPModel]:
    """Return that of TensorLy, which needs the dense tensor."""
    decomposition = package("tensorly.decomposition")
    if 8 * math.prod(case.X.shape) > _SHARE_OF_MEMORY * memory_bytes():
        raise UnavailableError("not run: the dense tensor would take too much memory")
    dense = case.X.todense()

    def compute() -> CPModel:
        start = (np.ones(case.rank), [factor.copy() for factor in case.start])
        weights, factors = decomposition.non_negative_parafac(
            dense, case.rank, n_iter_max=case.sweeps, init=start, tol=0
        )
        return CPModel(weights, tuple(factors))

    return compute


def tucker(case: Case) -> Callable[[], TuckerModel]:
    """Return the orthogonal iteration of gpualto, from the spans of the start."""
    bases = orthonormal(case)
    ranks = [basis.shape[1] for basis in bases]
    return lambda: gpualto.tucker_als(case.X, ranks, init=bases, n_iter_max=case.sweeps, tol=0)


def tucker_of_pyttb(case: Case) -> Callable[[], TuckerModel]:
    """Return that of pyttb, on a sparse tensor."""
    ttb = package("pyttb")
    X, bases = pyttb_tensor(case.X), orthonormal(case)

    def compute() -> TuckerModel:
        model, _, _ = ttb.tucker_als(
            X,
            [basis.shape[1] for basis in bases],
            init=[basis.copy() for basis in bases],
            maxiters=case.sweeps,
            stoptol=0,
            printitn=0,
        )
        core = model.core.full().data if hasattr(model.core, "subs") else model.core.data
        return TuckerModel(core, tuple(model.factor_matrices))

    return compute


def orthonormal(case: Case) -> list[Array]:
    """Return bases of the start's columns, at most four of them, so that cores stay small."""
    return [np.linalg.qr(factor[:, : min(case.rank, 4)])[0] for factor in case.start]


PROBLEMS = (
    Problem("Poisson CP", log_likelihood, _LIKELIHOOD_TOLERANCE, poisson, {"pyttb": poisson_of_pyttb}),
    Problem("nonnegative CP", fit, _FIT_TOLERANCE, nonnegative, {"tensorly": nonnegative_of_tensorly}),
    Problem("Tucker", fit, _FIT_TOLERANCE, tucker, {"pyttb": tucker_of_pyttb}),
)


if __name__ == "__main__":
    sys.exit(main())
