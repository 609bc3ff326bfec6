"""Tucker models by truncated singular vectors: HOSVD, and alternating from there: HOOI."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from gpualto._arrays import Array, array_module, as_array, as_floats
from gpualto.decomposition.initial import RandomState, as_generator, leading_eigenvectors, random_factor
from gpualto.decomposition.linear_algebra import calm_blas, fit_of
from gpualto.decomposition.running import (
    Schedule,
    Sweep,
    best_of_starts,
    by_sweeps,
    check_data,
    check_positive,
    check_restarts,
)
from gpualto.decomposition.tucker_model import TuckerModel
from gpualto.ops.ttm_chain import ttm_chain
from gpualto.profiling import annotate
from gpualto.tensor import Tensor, require_tensor

TuckerInit = Literal["hosvd", "random"] | TuckerModel | Sequence[Array]


def tucker_als(
    X: Tensor,
    ranks: int | Sequence[int],
    *,
    n_iter_max: int = 50,
    tol: float = 1e-5,
    init: TuckerInit = "hosvd",
    random_state: RandomState = None,
    n_restarts: int = 1,
    deterministic: bool = False,
    verbose: int = 0,
    callback: Callable[[TuckerModel], object] | None = None,
) -> TuckerModel:
    """Fit a Tucker model by alternating over the modes: higher-order orthogonal iteration.

    What is not stored counts as zero.

    Parameters
    ----------
    X : Tensor
    ranks : int or sequence of int
        Columns of each factor, the shape of the core; one number for all modes, or one for each. None is
        larger than its mode, nor than the product of the others: more columns would have nothing to say.
    n_iter_max : int
        Most sweeps; a sweep updates every mode once.
    tol : float
        Stop when the fit changes by less than this from one sweep to the next; 0 runs all sweeps.
    init : {"hosvd", "random"}, TuckerModel, or sequence of (I_n, R_n) arrays
        Where to start: as `hosvd` does, or from random matrices, or given ones. They are made orthonormal.
    random_state : int, numpy.random.Generator or RandomState, optional
        The same seed gives the same model, bit for bit, on the same machine with as many threads.
    n_restarts : int
        Number of random starts; the model with the best fit is returned.
    deterministic : bool
        Whether MTTKRP has to give the same bits whatever the number of threads.
    verbose : int
        Print a line every so many sweeps; 0 prints nothing.
    callback : callable, optional
        Called with the model after each sweep; a true result stops.

    Returns
    -------
    TuckerModel
        Factors with orthonormal columns, the largest entry of each positive.

    Raises
    ------
    ValueError
        If the values or the start are not finite, or an argument does not fit the tensor.
    MissingPackageError
        If SciPy is not installed and `init` is "hosvd".

    Notes
    -----
    Each update takes the leading left singular vectors of the tensor times all other factors, an
    ``(I_n, product of the other ranks)`` matrix, by `gpualto.ops.ttm_chain`: nothing else is dense in a full
    mode. No sweep lowers the fit, ``1 - sqrt(1 - norm(core)**2 / norm(X)**2)``.

    References
    ----------
    De Lathauwer, De Moor, Vandewalle: On the best rank-1 and rank-(R1, ..., RN) approximation of
    higher-order tensors. SIAM J. Matrix Anal. Appl. 21(4), 2000. Kolda, Bader 2009, figure 4.4.

    Examples
    --------
    >>> from gpualto import datasets
    >>> tucker_als(datasets.flights(), (4, 4, 3, 2), random_state=0)
    gpualto.TuckerModel(16 x 105 x 20 x 12, ranks=4 x 4 x 3 x 2, fit=0.240387 after 6 sweeps)
    """
    require_tensor(X)
    checked = check_ranks(X, ranks)
    schedule = Schedule(n_iter_max, tol, n_restarts, verbose, callback)
    check_restarts(schedule, init)
    return best_of_starts(
        X,
        lambda generator: _start(X, checked, init, generator),
        random_state,
        schedule,
        by_sweeps(lambda start: _sweeps(X, list(start.factors), deterministic)),
    ).fix_signs()


def hosvd(X: Tensor, ranks: int | Sequence[int], *, random_state: RandomState = None) -> TuckerModel:
    """Return the Tucker model of the leading singular vectors of each unfolding.

    Not the best model of its ranks, but within a factor ``sqrt(ndim)`` of the smallest error; `tucker_als`
    goes on from it.

    Parameters
    ----------
    X : Tensor
    ranks : int or sequence of int
        As in `tucker_als`.
    random_state : int, numpy.random.Generator or RandomState, optional
        For the starting vectors of Lanczos iterations on long modes.

    Returns
    -------
    TuckerModel
        Factors with orthonormal columns, the largest entry of each positive.

    Raises
    ------
    ValueError
        If the values are not finite, or the ranks do not fit the tensor.
    MissingPackageError
        If SciPy is not installed.

    Notes
    -----
    The singular vectors are computed on the CPU, also of a tensor on a device.

    References
    ----------
    De Lathauwer, De Moor, Vandewalle: A multilinear singular value decomposition. SIAM J. Matrix Anal. Appl.
    21(4), 2000.

    Examples
    --------
    >>> X = Tensor.from_dense(np.multiply.outer([1.0, 2.0], [3.0, 0.0, 4.0]))
    >>> model = hosvd(X, 1)
    >>> model.core.round(3), round(model.fit, 6)
    (array([[11.18]]), 1.0)
    """
    require_tensor(X)
    checked = check_ranks(X, ranks)
    check_data(X)
    with calm_blas(max(X.shape)):
        factors = _singular_vectors(X, checked, as_generator(random_state))
        core, fit = _core(X, factors, ttm_chain(X, factors, -1))
    return TuckerModel(core, tuple(factors), X.labels, fit).fix_signs()


def check_ranks(X: Tensor, ranks: int | Sequence[int]) -> tuple[int, ...]:
    """Return a rank for each mode.

    Raises
    ------
    ValueError
        If they are not positive, or larger than they can be.
    """
    given = tuple(ranks) if isinstance(ranks, (Sequence, np.ndarray)) else (ranks,) * X.ndim
    if len(given) != X.ndim:
        raise ValueError(f"ranks: {len(given)} were given for a tensor of {X.ndim} modes")
    for mode, (rank, length) in enumerate(zip(given, X.shape, strict=True)):
        check_positive(f"ranks: mode {mode}", rank)
        if rank > length:
            raise ValueError(f"ranks: mode {mode} has {length} indices, fewer than its rank {rank}")
    for mode, rank in enumerate(given):
        others = math.prod(given[:mode] + given[mode + 1 :])
        if rank > others:
            raise ValueError(
                f"ranks: mode {mode} has rank {rank}, more than the product {others} of the others"
            )
    return tuple(map(int, given))


def _start(X: Tensor, ranks: tuple[int, ...], init: TuckerInit, generator: Any) -> TuckerModel:
    """Return a start with orthonormal factors and a core that nobody reads."""
    if isinstance(init, str):
        if init == "hosvd":
            factors = _singular_vectors(X, ranks, generator)
        elif init == "random":
            draws = [random_factor(generator, *shape) for shape in zip(X.shape, ranks, strict=True)]
            factors = [_as_start(X, draw) for draw in draws]
        else:
            raise ValueError(f'init: expected "hosvd", "random", a TuckerModel or factors, got {init!r}')
    else:
        given = init.factors if isinstance(init, TuckerModel) else init
        factors = [_as_start(X, factor) for factor in _checked(X, ranks, given)]
    return TuckerModel(array_module(X.values).zeros(ranks, X.dtype), tuple(factors))


def _as_start(X: Tensor, factor: Array) -> Array:
    """Return an orthonormal basis of the columns, on the device of the tensor and of its type."""
    xp = array_module(X.values)
    return xp.linalg.qr(xp.asarray(factor).astype(np.float64))[0].astype(X.dtype)


def _checked(X: Tensor, ranks: tuple[int, ...], factors: Sequence[Array]) -> list[Array]:
    arrays = [as_floats(as_array(factor), f"init: mode {mode}") for mode, factor in enumerate(factors)]
    expected = list(zip(X.shape, ranks, strict=True))
    if [array.shape for array in arrays] != expected:
        raise ValueError(
            f"init: expected factors of shapes {expected}, got {[array.shape for array in arrays]}"
        )
    for mode, array in enumerate(arrays):
        if not bool(np.isfinite(array).all()):
            raise ValueError(f"init: mode {mode} has values that are not finite")
    return arrays


def _singular_vectors(X: Tensor, ranks: tuple[int, ...], generator: Any) -> list[Array]:
    on_host = X.to_device("cpu")
    vectors = [leading_eigenvectors(on_host, mode, rank, generator) for mode, rank in enumerate(ranks)]
    return [_as_start(X, matrix) for matrix in vectors]


def _sweeps(X: Tensor, factors: list[Array], deterministic: bool) -> Iterator[Sweep[TuckerModel]]:
    """Yield what the orthogonal iteration has after each sweep, without end."""
    while True:
        for mode, factor in enumerate(factors):
            product = ttm_chain(X, factors, mode, deterministic=deterministic)
            with annotate("update"):
                factors[mode] = _left_singular_vectors(product, factor.shape[1])
        core, fit = _core(X, factors, product)
        yield Sweep(TuckerModel(core, tuple(factors)), fit)


def _left_singular_vectors(matrix: Array, rank: int) -> Array:
    xp = array_module(matrix)
    vectors = xp.linalg.svd(matrix.astype(np.float64), full_matrices=False)[0]
    return xp.ascontiguousarray(vectors[:, :rank], matrix.dtype)


def _core(X: Tensor, factors: Sequence[Array], product: Array) -> tuple[Array, float]:
    """Return the core and the fit, from the tensor times all factors but the last."""
    *others, last = (factor.shape[1] for factor in factors)
    core = (factors[-1].T.astype(np.float64) @ product).reshape((last, *others))
    explained = float(np.square(core).sum())
    fit = fit_of(X.norm(), explained, explained)
    return np.moveaxis(core, 0, -1).astype(X.dtype, order="C"), fit
