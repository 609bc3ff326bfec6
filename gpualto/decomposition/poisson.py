"""Poisson CP: the model for counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpualto._arrays import Array, array_module, empty
from gpualto.backends import backend_for
from gpualto.decomposition.initial import Init, RandomState
from gpualto.decomposition.linear_algebra import fit_of, gram, hadamard
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.nonnegative import nonnegative_start
from gpualto.decomposition.running import (
    Callback,
    Schedule,
    Sweep,
    best_run,
    by_sweeps,
    check_counts,
    check_positive,
)
from gpualto.ops.model_values import model_values
from gpualto.profiling import annotate
from gpualto.tensor import Tensor, require_tensor

_SMALLEST = 1e-10
"""Model values are taken to be at least this large where they divide."""

_NEAR_ZERO = 1e-10
_LIFT = 1e-2
"""An entry near zero that should grow, which no multiplication can do, is lifted by so much."""


def cp_apr(
    X: Tensor,
    rank: int,
    *,
    n_iter_max: int = 200,
    tol: float = 1e-4,
    init: Init = "random",
    random_state: RandomState = None,
    inner_iter_max: int = 10,
    n_restarts: int = 1,
    deterministic: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
) -> CPModel:
    """Fit a CP model to counts, by alternating Poisson regression.

    Every cell, zeros included, is taken for a Poisson number whose mean is the model's value there.
    Components only add, small counts weigh as they should, and what comes out is mostly sparse.

    Parameters
    ----------
    X : Tensor
        Counts: values that are not negative. They need not be integers.
    rank : int
    n_iter_max : int
        Most sweeps; a sweep updates every mode by up to `inner_iter_max` multiplicative updates.
    tol : float
        Stop when the violation of the Karush-Kuhn-Tucker conditions is below this in every mode before its
        first update of a sweep; the conditions of an exact solution have violation zero.
    init, random_state, n_restarts, deterministic, verbose, callback
        As in `gpualto.cp_als`; of several starts the model of the highest likelihood is returned. A start
        that is given must not be negative.
    inner_iter_max : int
        Most updates of one mode in a sweep.

    Returns
    -------
    CPModel
        Columns that sum to one and weights that sum to the sum of the tensor: component r stands for
        ``weights[r]`` of the counts, and each column says how they are shared out. The largest weights come
        first. ``measures`` has the "log-likelihood" (up to a constant of the data) and the "KKT violation"
        after each sweep.

    Raises
    ------
    ValueError
        If a value or the start is negative or not finite, or an argument does not fit the tensor.

    Notes
    -----
    A multiplicative update never lowers the likelihood. At the beginning of a mode's updates, entries near
    zero whose gradient asks for more are lifted ("inadmissible zeros"), which may lower it for a moment. An
    update takes the model's values at the nonzeros and an MTTKRP with the ratios of data and model, on the
    CPU in one pass that decodes each nonzero once; nothing of the size of nonzeros times rank is kept.

    References
    ----------
    Chi, Kolda: On tensors, sparsity, and nonnegative factorizations. SIAM J. Matrix Anal. Appl. 33(4), 2012,
    algorithm 3.

    Examples
    --------
    >>> from gpualto import datasets
    >>> X = datasets.flights()
    >>> model = cp_apr(X, rank=2, n_iter_max=5, random_state=0)
    >>> round(float(model.weights.sum())), round(X.sum())
    (336776, 336776)
    """
    require_tensor(X)
    check_positive("inner_iter_max", inner_iter_max)
    check_counts(X, "a Poisson model")
    schedule = Schedule(n_iter_max, tol, n_restarts, verbose, callback)
    model = best_run(
        X,
        rank,
        init,
        random_state,
        schedule,
        by_sweeps(
            lambda start: _sweeps(X, nonnegative_start(start, init), inner_iter_max, tol, deterministic)
        ),
    )
    return model.arrange(ord=1)


def _sweeps(
    X: Tensor, start: CPModel, inner_iter_max: int, tol: float, deterministic: bool
) -> Iterator[Sweep[CPModel]]:
    """Yield the model after each sweep, without end."""
    xp = array_module(X.values)
    total = float(X.values.sum(dtype=np.float64))
    unit = _unit(total / max(X.nnz, 1))
    X = X.with_values(X.values / X.dtype.type(unit)) if unit != 1 else X
    norm = X.norm()
    weights, factors = _stochastic(start)
    weights = weights / unit
    ratios: list[Array | None] = [None] * X.ndim
    while True:
        violations = []
        for mode in range(X.ndim):
            lifted = _lift(factors[mode], ratios[mode])
            scaled = lifted * weights.astype(X.dtype)
            for inner in range(inner_iter_max):
                with annotate("ratio"):
                    ratio = _ratio(X, factors, mode, scaled, deterministic)
                violation = abs(np.minimum(scaled, 1 - ratio)).max()
                if inner == 0:
                    violations.append(violation)
                if float(violation) < tol:
                    break
                scaled = scaled * ratio
            ratios[mode] = ratio
            factors[mode], weights = _share_out(scaled)
        sweep = _sweep(X, norm, weights, factors, float(xp.stack(violations).max()))
        yield sweep if unit == 1 else _in_units_of_data(sweep, unit, total)


def _unit(mean: float) -> float:
    """Return what is counted as one: counts themselves, of smaller values about their mean.

    The limits of the method, what is near zero and how far to lift, are made for counts.
    """
    return 2.0 ** math.floor(math.log2(mean)) if 0 < mean < 1 else 1.0


def _ratio(X: Tensor, factors: list[Array], mode: int, scaled: Array, deterministic: bool) -> Array:
    """Return how the data exceed the model, for each entry of a factor: what it is multiplied with.

    The sum over nonzeros of data over model, times the product of the other modes' factor rows.
    """
    inputs = [scaled if n == mode else factor for n, factor in enumerate(factors)]
    out = empty(scaled.shape, X.dtype, array_module(scaled))
    backend_for(X).mttkrp_of_ratios(X, inputs, mode, _SMALLEST, out, deterministic=deterministic)
    return out


def _lift(factor: Array, ratio: Array | None) -> Array:
    if ratio is None:
        return factor
    return np.where((factor < _NEAR_ZERO) & (ratio > 1), factor + factor.dtype.type(_LIFT), factor)


def _stochastic(start: CPModel) -> tuple[Array, list[Array]]:
    """Return weights and factors of a start, the columns of each factor summing to one."""
    weights = start.weights.astype(np.float64)
    factors = []
    for factor in start.factors:
        unit, sums = _share_out(factor)
        weights = weights * sums
        factors.append(unit)
    return weights, factors


def _share_out(factor: Array) -> tuple[Array, Array]:
    """Return a nonnegative factor with columns that sum to one, and the sums before.

    Columns of zeros become uniform ones of weight zero.
    """
    sums = factor.sum(axis=0, dtype=np.float64)
    divisors = np.where(sums > 0, sums, 1.0).astype(factor.dtype)
    uniform = 1 / max(len(factor), 1)
    return np.where(sums > 0, factor / divisors, factor.dtype.type(uniform)), sums


def _in_units_of_data(sweep: Sweep[CPModel], unit: float, total: float) -> Sweep[CPModel]:
    """Return a sweep over data in a unit as one over the data, whose sum is `total`."""
    model = replace(sweep.model, weights=sweep.model.weights * unit)
    log_likelihood = unit * sweep.measures["log-likelihood"] + math.log(unit) * total
    measures = {**sweep.measures, "log-likelihood": log_likelihood}
    return replace(sweep, model=model, measures=measures, score=log_likelihood)


def _sweep(X: Tensor, norm: float, weights: Array, factors: list[Array], violation: float) -> Sweep[CPModel]:
    """Measure what a sweep has reached; one pass over the nonzeros."""
    with annotate("fit"):
        values = model_values(X, CPModel(weights, tuple(factors)))
        log_likelihood, inner = _sums(X.values, values)
        squared = float(weights @ hadamard(gram(factor) for factor in factors) @ weights)
        fit = fit_of(norm, squared, inner)
        log_likelihood -= float(weights.sum())
    measures = {"log-likelihood": log_likelihood, "KKT violation": violation}
    model = CPModel(weights, tuple(factors))
    return Sweep(model, fit, measures, score=log_likelihood, violation=violation)


def _sums(values: Array, model: Array) -> tuple[float, float]:
    """Return the sums over the nonzeros of data times log model, and of data times model."""
    logs = np.log(np.where(values > 0, np.maximum(model, np.finfo(model.dtype).tiny), 1))
    data = values.astype(np.float64, copy=False)
    return float((data * logs).sum()), float((data * model).sum())
