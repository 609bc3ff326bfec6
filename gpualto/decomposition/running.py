"""How an iterative method is run: sweeps from one or more starts, a stop rule, a history, a callback."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from gpualto._arrays import Array
from gpualto.decomposition.fitted import Fitted
from gpualto.decomposition.initial import Init, RandomState, as_generator, initial_model
from gpualto.decomposition.linear_algebra import calm_blas
from gpualto.decomposition.model import CPModel
from gpualto.tensor import Tensor, format_bytes, require_tensor

Callback = Callable[[CPModel], object]


M = TypeVar("M", bound=Fitted)

_RANGES = {np.dtype(np.float32): (1e-30, 1e30), np.dtype(np.float64): (1e-140, 1e140)}
"""Norms of tensors whose squares, and those of their models, stay in the range of the type."""


@dataclass(frozen=True, eq=False)
class Sweep(Generic[M]):
    """Where a method stands after a sweep, which updates every mode once.

    Parameters
    ----------
    model : CPModel or TuckerModel
        Without labels and history.
    fit : float
    measures : mapping of str to float
        What else the method measures.
    score : float, optional
        Of two runs, the one with the higher score is better; by default the fit.
    violation : float, optional
        What the tolerance is compared with; by default the change of the score.
    """

    model: M
    fit: float
    measures: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    violation: float | None = None


@dataclass(frozen=True)
class Schedule:
    """How long to run, from how many starts, and who is told: see `gpualto.cp_als`."""

    n_iter_max: int
    tol: float
    n_restarts: int = 1
    verbose: int = 0
    callback: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        for name in ("n_iter_max", "n_restarts"):
            check_positive(name, getattr(self, name))
        if not self.tol >= 0:
            raise ValueError(f"tol: expected a number that is not negative, got {self.tol!r}")


class Recorder(Generic[M]):
    """Takes note of the sweeps of one run, tells the callback, and applies the stop rule."""

    def __init__(self, X: Tensor, schedule: Schedule) -> None:
        self.schedule = schedule
        self.model: M | None = None
        self.score = -math.inf
        self.stopped = False
        self._labels = X.labels
        self._began = time.perf_counter()
        self._fits: list[float] = []
        self._times: list[float] = []
        self._measures: dict[str, list[float]] = {}

    def record(self, sweep: Sweep[M]) -> bool:
        """Take note of a sweep, and return whether it was the last."""
        score = sweep.fit if sweep.score is None else sweep.score
        if math.isnan(score):
            raise ValueError(
                f"X: the fit is no number after sweep {len(self._fits) + 1}: sums left the range of the "
                "type of the values; scale the start, or the values, or use float64"
            )
        violation = abs(score - self.score) if sweep.violation is None else sweep.violation
        self.score = score
        self._fits.append(sweep.fit)
        self._times.append(time.perf_counter() - self._began)
        for name, value in sweep.measures.items():
            self._measures.setdefault(name, []).append(value)
        self.model = model = replace(
            sweep.model,  # type: ignore[type-var]
            labels=self._labels,
            fit=sweep.fit,
            fits=tuple(self._fits),
            times=tuple(self._times),
            converged=violation < self.schedule.tol,
            measures={name: tuple(values) for name, values in self._measures.items()},
        )
        verbose, callback = self.schedule.verbose, self.schedule.callback
        if verbose and (model.n_iter % verbose == 0 or model.converged):
            print(_line(model, sweep.measures, violation))
        self.stopped = callback is not None and bool(callback(model))
        return self.stopped or model.converged


Method = Callable[[M, Recorder[M]], None]
"""Runs from a start, and records every sweep until told to stop."""


def by_sweeps(sweeps: Callable[[M], Iterator[Sweep[M]]]) -> Method[M]:
    """Return the method of a generator that yields a sweep after the other, without end."""

    def run(start: M, recorder: Recorder[M]) -> None:
        for sweep in islice(sweeps(start), recorder.schedule.n_iter_max):
            if recorder.record(sweep):
                break

    return run


def best_run(
    X: Tensor, rank: int, init: Init, random_state: RandomState, schedule: Schedule, method: Method[CPModel]
) -> CPModel:
    """Run a method for CP models from every start, and return the model of the best run."""
    require_tensor(X)
    check_positive("rank", rank)
    _check_memory(X, rank)
    check_restarts(schedule, init)
    return best_of_starts(
        X, lambda generator: initial_model(X, rank, init, generator), random_state, schedule, method
    )


def best_of_starts(
    X: Tensor, start: Callable[[Any], M], random_state: RandomState, schedule: Schedule, method: Method[M]
) -> M:
    """Run a method from every start that a generator of random numbers gives, and return the best model."""
    check_data(X)
    generator = as_generator(random_state)
    best: Recorder[M] | None = None
    for _ in range(schedule.n_restarts):
        recorder: Recorder[M] = Recorder(X, schedule)
        with calm_blas(max(X.shape)):
            method(start(generator), recorder)
        if best is None or recorder.score > best.score:
            best = recorder
        if recorder.stopped:
            break
    assert best is not None
    assert best.model is not None
    return best.model


def check_restarts(schedule: Schedule, init: object) -> None:
    """Raise if there is more than one start and they are not random."""
    if schedule.n_restarts > 1 and not (isinstance(init, str) and init == "random"):
        raise ValueError('n_restarts: more than one start needs init="random"')


def _line(model: Fitted, measures: Mapping[str, float], violation: float) -> str:
    items = [f"fit {model.fits[-1]:.6f}", *(f"{name} {value:.6g}" for name, value in measures.items())]
    return f"sweep {model.n_iter}: {', '.join(items)}, change {violation:.1e}, {model.times[-1]:.2f} s"


def check_positive(name: str, value: object) -> None:
    """Raise unless an argument is a positive integer."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}: expected a positive integer, got {value!r}")


def check_not_negative(name: str, value: float) -> None:
    """Raise unless an argument is a finite number that is not negative."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value < math.inf:
        raise ValueError(f"{name}: expected a number that is not negative, got {value!r}")


def check_data(X: Tensor) -> None:
    """Raise for what no model can be fitted to: no indices, values not finite, or whose squares are not."""
    if 0 in X.shape:
        raise ValueError(f"X: mode {X.shape.index(0)} has length 0, there is nothing to fit")
    check_finite(X)
    norm, (smallest, largest) = X.norm(), _RANGES[np.dtype(X.dtype)]
    if norm and not smallest < norm < largest:
        remedy = "fit X.astype(np.float64)"
        if X.dtype == np.float64:
            remedy = f"fit X / {norm:.0e} and multiply the weights"
        raise ValueError(
            f"X: has the norm {norm:.3g}, where sums of squares leave the range of {X.dtype}; {remedy}"
        )


def _check_memory(X: Tensor, rank: int) -> None:
    """Raise where factors and Gram matrices are more than the machine has; it would stop without a word."""
    needed = 8 * rank * (2 * sum(X.shape) + (X.ndim + 2) * rank)
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on every system
        return
    if X.device == "cpu" and needed > there:
        raise MemoryError(
            f"rank: {rank} components need {format_bytes(needed)}, and this machine has {format_bytes(there)}"
        )


def check_finite(X: Tensor) -> None:
    """Raise if a value is not finite, naming the first."""
    _check_values(X, ~np.isfinite(X.values), "non-finite", "remove it before a fit")


def check_counts(X: Tensor, method: str) -> None:
    """Raise if a value is negative, naming the first."""
    _check_values(X, X.values < 0, "negative", f"{method} needs values that are not negative")


def _check_values(X: Tensor, wrong: Array, kind: str, remedy: str) -> None:
    count = int(wrong.sum())
    if count:
        first = int(wrong.argmax())
        where = tuple(X.decode(slice(first, first + 1))[:, 0].tolist())
        raise ValueError(f"X: {count} {kind} value{'s' * (count > 1)}, first at {where}; {remedy}")
