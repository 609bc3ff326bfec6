"""CP by alternating least squares."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from gpualto._arrays import Array, array_module, as_mode, empty
from gpualto.backends import backend_for
from gpualto.decomposition.initial import Init, RandomState, as_generator, initial_model
from gpualto.decomposition.linear_algebra import (
    calm_blas,
    column_products,
    gram,
    hadamard,
    normalize_with_gram,
)
from gpualto.decomposition.model import CPModel
from gpualto.ops.mttkrp import mttkrp
from gpualto.profiling import annotate
from gpualto.tensor import Tensor, require_tensor

Callback = Callable[[CPModel], object]


def cp_als(
    X: Tensor,
    rank: int,
    *,
    n_iter_max: int = 100,
    tol: float = 1e-5,
    init: Init = "random",
    random_state: RandomState = None,
    fixed_modes: Sequence[int] = (),
    n_restarts: int = 1,
    deterministic: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
) -> CPModel:
    """Fit a CP model to a sparse tensor by alternating least squares.

    What is not stored counts as zero. For ratings and other data where it is *unknown*, this is the wrong
    model.

    Parameters
    ----------
    X : Tensor
    rank : int
        Number of components.
    n_iter_max : int
        Most sweeps; a sweep updates every mode once.
    tol : float
        Stop when the fit changes by less than this from one sweep to the next. The rule is on the change of
        the *fit*, not of the residual or the factors; 0 runs all sweeps.
    init : {"random", "nvecs"}, CPModel, or sequence of (I_n, rank) arrays
        Where to start: uniform random numbers on [0, 1), the leading eigenvectors of the unfoldings, or
        factors, which are not modified.
    random_state : int, numpy.random.Generator or RandomState, optional
        The same seed gives the same model, bit for bit, on the same machine with as many threads.
    fixed_modes : sequence of int
        Modes whose factor stays as `init` has it.
    n_restarts : int
        Number of random starts; the model with the best fit is returned. The first start is that of
        ``n_restarts=1``.
    deterministic : bool
        Whether MTTKRP has to give the same bits whatever the number of threads.
    verbose : int
        Print a line every so many sweeps; 0 prints nothing.
    callback : callable, optional
        Called with the model after each sweep; a true result stops.

    Returns
    -------
    CPModel
        Columns of norm one, the largest weights first, the largest entries of columns positive where the
        model allows. With fixed modes, components keep their order, and
        fixed factors their values.

    Raises
    ------
    ValueError
        If the values or the start are not finite, or an argument does not fit the tensor.

    Notes
    -----
    ``fit = 1 - norm(X - model) / norm(X)``, with the residual from the last MTTKRP of the sweep; rounding
    limits it to about 1e-8. A tensor without nonzeros, or with zeros only, gives zero weights and fit 1.
    float32 tensors give float32 factors; Gram products and solves are in float64.

    References
    ----------
    Kolda, Bader: Tensor Decompositions and Applications. SIAM Review 51(3), 2009, figure 3.3.

    Examples
    --------
    >>> X = Tensor.from_dense(np.multiply.outer([1.0, 2.0], [3.0, 0.0, 4.0]))
    >>> model = cp_als(X, rank=1, random_state=0)
    >>> round(model.fit, 6), model.weights.round(3)
    (1.0, array([11.18]))
    """
    require_tensor(X)
    _check_arguments(X, rank, n_iter_max, n_restarts, tol, init)
    fixed = {as_mode(mode, X.ndim) for mode in fixed_modes}
    if fixed and isinstance(init, str):
        raise ValueError(f"fixed_modes: {sorted(fixed)} need factors to stay at; pass them as init")
    generator = as_generator(random_state)
    best: CPModel | None = None
    for _ in range(n_restarts):
        start = initial_model(X, rank, init, generator)
        with calm_blas(max(X.shape)):
            model, stopped = _run(X, start, fixed, n_iter_max, tol, deterministic, verbose, callback)
        if best is None or (model.fit or 0.0) > (best.fit or 0.0):
            best = model
        if stopped:
            break
    assert best is not None
    return best if fixed else best.arrange().fix_signs()


def _run(
    X: Tensor,
    start: CPModel,
    fixed: set[int],
    n_iter_max: int,
    tol: float,
    deterministic: bool,
    verbose: int,
    callback: Callback | None,
) -> tuple[CPModel, bool]:
    """Sweep from one start until the fit settles; return the model, and whether the callback stopped it."""
    began = time.perf_counter()
    fits: list[float] = []
    times: list[float] = []
    model = start
    for weights, factors, fit in islice(_sweeps(X, start, fixed, deterministic), n_iter_max):
        change = abs(fit - fits[-1]) if fits else math.inf
        fits.append(fit)
        times.append(time.perf_counter() - began)
        converged = change < tol or len(fixed) == X.ndim
        model = CPModel(weights, factors, X.labels, fit, tuple(fits), tuple(times), converged)
        if verbose and (len(fits) % verbose == 0 or converged):
            print(f"sweep {len(fits)}: fit {fit:.6f}, change {change:.1e}, {times[-1]:.2f} s")
        if callback is not None and callback(model):
            return model, True
        if converged:
            break
    return model, False


def _sweeps(
    X: Tensor, start: CPModel, fixed: set[int], deterministic: bool
) -> Iterator[tuple[Array, tuple[Array, ...], float]]:
    """Yield weights, factors and fit after each sweep, without end.

    The weights of the start matter only where every mode is fixed: a least-squares update takes the scale of
    the other factors into account.
    """
    backend, xp = backend_for(X), array_module(X.values)
    norm = X.norm()
    weights, factors = start.weights, list(start.factors)
    grams = [gram(factor) for factor in factors]
    products = [empty(factor.shape, X.dtype, xp) for factor in factors]
    free = [mode for mode in range(X.ndim) if mode not in fixed]
    last = free[-1] if free else X.ndim - 1
    if not free:
        mttkrp(X, factors, last, products[last], deterministic=deterministic)
    while True:
        for mode in free:
            mttkrp(X, factors, mode, products[mode], deterministic=deterministic)
            with annotate("solve"):
                others = hadamard(grams[:mode] + grams[mode + 1 :] or [np.ones_like(grams[0])])
                solution = backend.solve_normal_equations(others, products[mode])
            with annotate("normalize"):
                factors[mode], weights, grams[mode] = normalize_with_gram(solution)
        with annotate("fit"):
            inner = column_products(products[last], factors[last]) @ weights
            model_norm_squared = weights @ hadamard(grams) @ weights
            fit = _fit(norm, *xp.stack([model_norm_squared, inner]).tolist())
        yield weights, tuple(factors), fit


def _fit(norm: float, model_norm_squared: float, inner: float) -> float:
    """Return one minus the relative residual; a residual that rounding makes negative counts as zero."""
    residual_squared = max(norm**2 + model_norm_squared - 2 * inner, 0.0)
    if norm == 0:
        return 1.0 if residual_squared == 0 else -math.inf
    return 1.0 - math.sqrt(residual_squared) / norm


def _check_arguments(X: Tensor, rank: int, n_iter_max: int, n_restarts: int, tol: float, init: Init) -> None:
    for name, value in (("rank", rank), ("n_iter_max", n_iter_max), ("n_restarts", n_restarts)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name}: expected a positive integer, got {value!r}")
    if not tol >= 0:
        raise ValueError(f"tol: expected a number that is not negative, got {tol!r}")
    if n_restarts > 1 and not (isinstance(init, str) and init == "random"):
        raise ValueError('n_restarts: more than one start needs init="random"')
    wrong = ~np.isfinite(X.values)
    if wrong.any():
        first = int(wrong.argmax())
        where = tuple(X.decode(slice(first, first + 1))[:, 0].tolist())
        count = int(wrong.sum())
        raise ValueError(
            f"X: {count} non-finite value{'s' * (count > 1)}, first at {where}; remove them before a fit"
        )
