"""CP of incomplete data: what is not stored is unknown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualto._arrays import Array, array_module, blocks, empty
from gpualto.decomposition.initial import Init, RandomState, as_generator
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.running import (
    Callback,
    Schedule,
    Sweep,
    best_run,
    by_sweeps,
    check_finite,
    check_not_negative,
)
from gpualto.ops.model_values import model_values
from gpualto.ops.mttkrp import mttkrp
from gpualto.ops.reductions import norm
from gpualto.profiling import annotate
from gpualto.tensor import Tensor, require_tensor

HELD_OUT_ERROR = "held-out RMSE"

_COLUMNS = 64
"""Columns of products that are formed at a time."""

_SYSTEM_NUMBERS = 1 << 20
"""Numbers of the systems that are solved at a time."""


def cp_complete(
    X: Tensor,
    rank: int,
    *,
    l2: float = 0.1,
    held_out: float | Tensor = 0.0,
    n_iter_max: int = 100,
    tol: float = 1e-5,
    init: Init = "random",
    random_state: RandomState = None,
    n_restarts: int = 1,
    deterministic: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
) -> CPModel:
    """Fit a CP model to the stored entries alone, by alternating least squares.

    **What is not stored counts as unknown here**, and as zero in every other method of this package: this is
    for ratings and measurements, not for counts. Explicit zeros are observations.

    Parameters
    ----------
    X : Tensor
    rank : int
    l2 : float
        Penalty on the squared factor entries, above zero; relative to entries of root mean square one. The
        larger, the closer to zero what little data say is kept. Choose it by the held-out error.
    held_out : float or Tensor
        Share of the entries that are kept from the fit, chosen by `random_state`, or a tensor of other
        entries of the same shape. Their error is measured after each sweep.
    n_iter_max : int
        Most sweeps.
    tol : float
        Stop when the objective changes by less than this share of what it would be without a model.
    init, random_state, n_restarts, deterministic, verbose, callback
        As in `gpualto.cp_als`; of several starts the model with the least held-out error is returned, or with
        the least objective where nothing is held out.

    Returns
    -------
    CPModel
        Columns of norm one, the largest weights first. ``fit`` is over the entries fitted to. ``measures``
        has their "RMSE", the "held-out RMSE", if anything is held out, and the "objective" after each sweep.

    Raises
    ------
    ValueError
        If the values or the start are not finite, `l2` is not above zero, or an argument does not fit.

    Notes
    -----
    Minimised is ``sum((X - model)**2) / mean(X**2) + l2 * sum(factors**2)`` over the stored entries; no sweep
    raises it. Each row of a factor has normal equations of its own, all of them formed by one MTTKRP with the
    products of pairs of columns. They take ``I_n * rank * (rank + 1) / 2`` numbers for the longest mode.

    References
    ----------
    Smith, Park, Karypis: An exploration of optimization algorithms for high performance tensor completion.
    SC 2016, section III.A.

    Examples
    --------
    >>> from gpualto import Tensor
    >>> full = np.multiply.outer([1.0, 2.0, 3.0], np.multiply.outer([1.0, 2.0], [1.0, 3.0, 2.0]))
    >>> known = np.nonzero(np.random.default_rng(0).random(full.shape) < 0.7)
    >>> model = cp_complete(Tensor.from_coo(known, full[known]), rank=1, l2=1e-6, tol=1e-12, random_state=0)
    >>> bool(np.allclose(model.to_dense(), full, rtol=1e-3))
    True
    """
    require_tensor(X)
    check_penalty(l2)
    check_finite(X)
    generator = as_generator(random_state)
    fitted, kept = parts(X, held_out, generator)
    scale = typical_size(fitted)

    def in_units(start: CPModel) -> list[Array]:
        if isinstance(init, str):
            # As large as entries of one: the norm of the tensor has few of the cells in it.
            return spread(CPModel(None, start.factors), 1.0)
        return spread(start, scale)

    schedule = Schedule(n_iter_max, tol, n_restarts, verbose, callback)
    model = best_run(
        fitted,
        rank,
        init,
        generator,
        schedule,
        by_sweeps(lambda start: _sweeps(fitted, kept, in_units(start), l2, scale, deterministic)),
    )
    return model.arrange().fix_signs()


def check_penalty(l2: float) -> None:
    """Raise unless the penalty is finite and above zero."""
    check_not_negative("l2", l2)
    if l2 == 0:
        raise ValueError("l2: has to be above zero, as rows with few entries leave their factors open")


def typical_size(X: Tensor) -> float:
    """Return the root mean square of the entries: the unit in which factors are penalised."""
    return norm(X.values) / max(X.nnz, 1) ** 0.5 or 1.0


def parts(X: Tensor, held_out: float | Tensor, generator: object) -> tuple[Tensor, Tensor | None]:
    """Return the entries to fit to, and those held out."""
    if isinstance(held_out, Tensor):
        if held_out.shape != X.shape:
            raise ValueError(f"held_out: has shape {held_out.shape}, expected {X.shape}")
        check_finite(held_out)
        return X, held_out
    if not 0 <= held_out < 1:
        raise ValueError(f"held_out: expected a share in [0, 1) or a Tensor, got {held_out!r}")
    if held_out == 0:
        return X, None
    xp = array_module(X.values)
    is_kept = xp.asarray(generator.uniform(size=X.nnz) < held_out)  # type: ignore[attr-defined]
    if X.nnz and bool(is_kept.all()):
        raise ValueError(f"held_out: {held_out} of {X.nnz} entries leaves none to fit to")
    if X.nnz and not bool(is_kept.any()):
        raise ValueError(f"held_out: {held_out} of {X.nnz} entries is none of them; hold out more")
    return X.select(~is_kept), X.select(is_kept)


def _sweeps(
    X: Tensor, held_out: Tensor | None, factors: list[Array], l2: float, scale: float, deterministic: bool
) -> Iterator[Sweep[CPModel]]:
    """Yield the model after each sweep, without end."""
    xp = array_module(X.values)
    weights = xp.full(factors[0].shape[1], scale)
    unit, ones = in_unit(X, scale)
    whole = max(X.nnz, 1)
    before: float | None = None
    while True:
        for mode in range(X.ndim):
            factors[mode] = solve_rows(unit, ones, factors, mode, l2, deterministic)
        model = CPModel(weights, tuple(factors), known_rms=scale)
        squared = _squared_error(X, model)
        penalty = l2 * sum(float(xp.square(factor).sum(dtype=np.float64)) for factor in factors)
        objective = squared / scale**2 + penalty
        measures = {"RMSE": (squared / whole) ** 0.5, "objective": objective}
        score = -objective
        if held_out is not None:
            score = -((_squared_error(held_out, model) / max(held_out.nnz, 1)) ** 0.5)
            measures[HELD_OUT_ERROR] = -score
        change = None if before is None else abs(before - objective) / whole
        before = objective
        fit = 1 - (squared / (scale**2 * whole)) ** 0.5
        yield Sweep(model, fit, measures, score, float("inf") if change is None else change)


def spread(model: CPModel, scale: float) -> list[Array]:
    """Return the factors with the weights shared out evenly, as the penalty would have them, in a unit."""
    model = model.normalize()
    shares = (model.weights / scale) ** (1 / model.ndim)
    return [(factor * shares).astype(factor.dtype, copy=False) for factor in model.factors]


def _squared_error(X: Tensor, model: CPModel) -> float:
    return norm(X.values - model_values(X, model)) ** 2


def in_unit(X: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Return the entries in a unit, and ones in their places."""
    ones = array_module(X.values).ones_like(X.values)
    return X.with_values(X.values / X.dtype.type(scale)), X.with_values(ones)


def solve_rows(
    unit: Tensor, ones: Tensor, factors: list[Array], mode: int, l2: float, deterministic: bool = False
) -> Array:
    """Return the factor that fits entries best beside the others, which stay."""
    right = mttkrp(unit, factors, mode, deterministic=deterministic)
    with annotate("systems"):
        pairs = _pair_products(ones, factors, mode, deterministic)
    with annotate("update"):
        return _solve_systems(pairs, right, l2)


def _pair_products(ones: Tensor, factors: list[Array], mode: int, deterministic: bool) -> Array:
    """Return the upper triangles of the normal equations of each row: an MTTKRP with products of columns."""
    xp = array_module(ones.values)
    rank = factors[0].shape[1]
    left, right = map(xp.asarray, np.triu_indices(rank))
    result = empty((ones.shape[mode], left.size), ones.dtype, xp)
    for block in blocks(left.size, size=_COLUMNS):
        columns = [factor[:, left[block]] * factor[:, right[block]] for factor in factors]
        result[:, block] = mttkrp(ones, columns, mode, deterministic=deterministic)
    return result


def _solve_systems(pairs: Array, right: Array, l2: float) -> Array:
    """Return the rows of a factor, each the solution of its own normal equations with a penalty."""
    xp = array_module(right)
    rank = right.shape[1]
    upper, lower = map(xp.asarray, np.triu_indices(rank))
    solution = empty(right.shape, right.dtype, xp)
    for block in blocks(len(right), size=max(_SYSTEM_NUMBERS // rank**2, 1)):
        rows = right[block].astype(np.float64)
        systems = xp.zeros((len(rows), rank, rank))
        systems[:, upper, lower] = systems[:, lower, upper] = pairs[block]
        systems += l2 * xp.eye(rank)
        solution[block] = xp.linalg.solve(systems, rows[:, :, np.newaxis])[:, :, 0]
    return solution
