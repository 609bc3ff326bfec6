"""Construction from shuffled coordinates: gpualto, the same in steps of NumPy, and peers."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bench.harness import Contestant, contest
from bench.machine import inspect_machine
from bench.peers import package
from bench.report import Section, parse_arguments, publish
from bench.tensors import Entries, load
from gpualto import Tensor
from gpualto.encoding import AltoEncoding
from gpualto.ordering import argsort


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse_arguments(arguments, __doc__, tensors=["uber", "nips"], peers=list(PEERS))
    machine = inspect_machine()
    sections = (run(load(name, options.nnz), options) for name in options.tensors)
    return publish(options, machine, sections)


def run(entries: Entries, options: Namespace) -> Section:
    """Measure one tensor."""
    ours = [gpualto(entries), *parts(entries)]
    entrants = {name: partial(PEERS[name], entries) for name in options.peers}
    return Section(str(entries), contest(ours, entrants, options.repeats, options.budget))


def figures(seconds: float, nnz: int) -> dict[str, float]:
    """Return what is reported: time in all and per nonzero."""
    return {"ms": 1e3 * seconds, "ns_per_nonzero": 1e9 * seconds / max(nnz, 1)}


def checked(
    name: str, entries: Entries, build: Callable[[], Any], as_tensor: Callable[[Any], Tensor]
) -> Contestant:
    """Check that what a peer builds holds the same nonzeros, and make it ready to be timed."""
    same = as_tensor(build()) == Tensor.from_coo(entries.coords, entries.values, entries.shape)
    return Contestant(name, build, 0.0 if same else np.inf, figures=partial(figures, nnz=entries.nnz))


# Who takes part ---------------------------------------------------------------------------------------------


def gpualto(entries: Entries) -> Contestant:
    """Return `Tensor.from_coo`."""
    build = partial(Tensor.from_coo, entries.coords, entries.values, entries.shape)
    build()
    return Contestant("gpualto", build, figures=partial(figures, nnz=entries.nnz))


def parts(entries: Entries) -> list[Contestant]:
    """Return the steps in NumPy, which are what the reference backend does.

    With ``GPUALTO_BACKEND=reference`` they are parts of the time of gpualto, and what they leave of it looks
    for duplicates. Compiled code takes steps of its own, and these say what it saves.
    """
    encoding = AltoEncoding(entries.shape)
    index = encoding.linearize(entries.coords)
    order = argsort(index)
    steps: dict[str, Callable[[], object]] = {
        "  NumPy linearize": lambda: encoding.linearize(entries.coords),
        "  NumPy argsort": lambda: argsort(index),
        "  NumPy gather": lambda: [array[order] for array in (*index, entries.values)],
    }
    return [Contestant(name, step, figures=partial(figures, nnz=entries.nnz)) for name, step in steps.items()]


def pyttb(entries: Entries) -> Contestant:
    """Return pyttb's constructor that sorts and sums, as that of gpualto does."""
    ttb = package("pyttb")
    subs, vals = np.stack(entries.coords, axis=1), entries.values[:, np.newaxis].copy()
    return checked(
        "pyttb",
        entries,
        lambda: ttb.sptensor.from_aggregator(subs, vals, entries.shape),
        lambda X: Tensor.from_coo(X.subs.T, X.vals[:, 0], X.shape),
    )


def sparse(entries: Entries) -> Contestant:
    """Return the constructor of PyData Sparse, which sorts in C order and sums duplicates."""
    pydata = package("sparse")
    coords = np.stack(entries.coords)
    return checked(
        "sparse",
        entries,
        lambda: pydata.COO(coords, entries.values, shape=entries.shape),
        lambda X: Tensor.from_coo(X.coords, X.data, X.shape),
    )


PEERS: dict[str, Callable[[Entries], Contestant]] = {"pyttb": pyttb, "sparse": sparse}


if __name__ == "__main__":
    sys.exit(main())
