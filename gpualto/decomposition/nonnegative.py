"""Nonnegative CP: components that only add, so that they can be read as parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from gpualto.decomposition.als import Constraints, sweeps
from gpualto.decomposition.initial import Init, RandomState
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.running import (
    Callback,
    Schedule,
    best_run,
    by_sweeps,
    check_counts,
    check_not_negative,
)
from gpualto.decomposition.updates import Update, hals, multiplicative
from gpualto.tensor import Tensor, require_tensor

_UPDATES: dict[str, Update] = {"hals": hals, "mu": multiplicative}


def cp_nn(
    X: Tensor,
    rank: int,
    *,
    method: Literal["hals", "mu"] = "hals",
    n_iter_max: int = 100,
    tol: float = 1e-5,
    init: Init = "random",
    random_state: RandomState = None,
    l2: float = 0.0,
    n_restarts: int = 1,
    deterministic: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
) -> CPModel:
    """Fit a CP model without negative numbers, by least squares.

    For counts, `gpualto.cp_apr` is the better model of the noise. What is not stored counts as zero.

    Parameters
    ----------
    X : Tensor
        Of any values; for "mu" none may be negative.
    rank : int
    method : {"hals", "mu"}
        Hierarchical alternating least squares, exact in one column at a time; or multiplicative updates,
        which take many more sweeps and are here for comparison with other programs.
    n_iter_max, tol, init, random_state, l2, n_restarts, deterministic, verbose, callback
        As in `gpualto.cp_als`. A start that is given must not be negative; of "nvecs" the sizes are taken.

    Returns
    -------
    CPModel
        Columns of norm one and weights, none of them negative, the largest weights first.

    Raises
    ------
    ValueError
        If values or the start do not suit the method, or an argument does not fit the tensor.

    Notes
    -----
    No sweep lowers the fit. A component that is not needed ends with weight zero.

    References
    ----------
    Cichocki, Phan: Fast local algorithms for large scale nonnegative matrix and tensor factorizations. 2009.

    Lee, Seung: Algorithms for non-negative matrix factorization. NIPS 2000.

    Examples
    --------
    >>> from gpualto import datasets
    >>> model = cp_nn(datasets.flights(), rank=4, random_state=0)
    >>> round(model.fit, 3), min(float(factor.min()) for factor in model.factors) >= 0
    (0.237, True)
    """
    require_tensor(X)
    if method not in _UPDATES:
        raise ValueError(f'method: expected "hals" or "mu", got {method!r}')
    check_not_negative("l2", l2)
    if method == "mu":
        check_counts(X, 'method="mu"')
    constraints = Constraints(dict.fromkeys(range(X.ndim), _UPDATES[method]), l2=l2)
    schedule = Schedule(n_iter_max, tol, n_restarts, verbose, callback)
    model = best_run(
        X,
        rank,
        init,
        random_state,
        schedule,
        by_sweeps(lambda start: sweeps(X, nonnegative_start(start, init), constraints, deterministic)),
    )
    return model.arrange()


def nonnegative_start(start: CPModel, init: Init) -> CPModel:
    """Return a start without negative numbers; of eigenvectors, whose signs mean nothing, the sizes.

    Raises
    ------
    ValueError
        If the start was given and has negative numbers.
    """
    if isinstance(init, str):
        return replace(start, factors=tuple(map(abs, start.factors)))
    for mode, factor in enumerate(start.factors):
        if bool((factor < 0).any()):
            raise ValueError(f"init: mode {mode} has negative numbers; take their absolute values")
    if bool((start.weights < 0).any()):
        raise ValueError("init: has negative weights; normalize the model first")
    return start
