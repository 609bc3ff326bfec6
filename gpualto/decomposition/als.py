"""CP by alternating least squares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpualto._arrays import Array, array_module, empty
from gpualto.backends import backend_for
from gpualto.decomposition.initial import Init, RandomState
from gpualto.decomposition.linear_algebra import column_products, fit_of, gram, hadamard, normalize_columns
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.running import Callback, Schedule, Sweep, best_run, by_sweeps, check_not_negative
from gpualto.decomposition.updates import Update, hals, least_squares, roughness, smooth
from gpualto.labels import mode_number
from gpualto.ops.mttkrp import mttkrp
from gpualto.profiling import annotate
from gpualto.tensor import Tensor, require_tensor


def cp_als(
    X: Tensor,
    rank: int,
    *,
    n_iter_max: int = 100,
    tol: float = 1e-5,
    init: Init = "random",
    random_state: RandomState = None,
    fixed_modes: Sequence[int | str] = (),
    nonnegative_modes: Sequence[int | str] = (),
    smooth_modes: Mapping[int, float] | Mapping[str, float] | None = None,
    l2: float = 0.0,
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
    fixed_modes : sequence of int or str
        Modes, or names of modes, whose factor stays as `init` has it.
    nonnegative_modes : sequence of int or str
        Modes whose factor has no negative entry, updated by HALS; all modes: `gpualto.cp_nn`.
    smooth_modes : mapping of int or str to float, optional
        Modes whose neighbouring rows are to be alike, such as hours or years, and how much that weighs: 1 as
        much as the data, for columns of norm one.
    l2 : float
        Penalty on the squared weights, which draws them to zero and keeps components from growing against
        each other. Columns have norm one, so that 1 halves the weight of a component that overlaps with no
        other.
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

    What is minimised is ``norm(X - model)**2 + sum(weights**2 * (l2 + roughness))``, where the roughness of a
    component is the sum over `smooth_modes` of the penalty times the squared differences of neighbouring
    entries. No sweep raises it.

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
    constraints = _constraints(X, fixed_modes, nonnegative_modes, smooth_modes or {}, l2)
    if constraints.fixed and isinstance(init, str):
        raise ValueError(
            f"fixed_modes: {sorted(constraints.fixed)} need factors to stay at; pass them as init"
        )
    schedule = Schedule(n_iter_max, tol, n_restarts, verbose, callback)
    model = best_run(
        X,
        rank,
        init,
        random_state,
        schedule,
        by_sweeps(lambda start: sweeps(X, start, constraints, deterministic)),
    )
    return model if constraints.fixed else model.arrange().fix_signs()


@dataclass(frozen=True)
class Constraints:
    """What the factors have to be: how modes with a constraint are updated, and what is penalised."""

    updates: Mapping[int, Update] = field(default_factory=dict)
    fixed: frozenset[int] = frozenset()
    smooth: Mapping[int, float] = field(default_factory=dict)
    l2: float = 0.0

    def penalties(self, factors: Sequence[Array], mode: int) -> Array:
        """Return what is added to the diagonal of a mode's Gram product: the penalties on its squared norms.

        That on the roughness of the mode itself is left to its update.
        """
        rough = (penalty * roughness(factors[n]) for n, penalty in sorted(self.smooth.items()) if n != mode)
        return sum(rough, array_module(factors[0]).full(factors[0].shape[1], self.l2))


def _constraints(
    X: Tensor,
    fixed_modes: Sequence[int | str],
    nonnegative_modes: Sequence[int | str],
    smooth_modes: Mapping[int, float] | Mapping[str, float],
    l2: float,
) -> Constraints:
    if not isinstance(smooth_modes, Mapping):
        raise TypeError(f"smooth_modes: expected a mapping of modes to penalties, got {smooth_modes!r}")
    fixed = frozenset(mode_number(mode, X.labels, "fixed_modes") for mode in fixed_modes)
    nonnegative = {mode_number(mode, X.labels, "nonnegative_modes") for mode in nonnegative_modes}
    penalties = {mode_number(mode, X.labels, "smooth_modes"): weight for mode, weight in smooth_modes.items()}
    check_not_negative("l2", l2)
    if len(penalties) < len(smooth_modes):
        raise ValueError(f"smooth_modes: a mode is named twice in {list(smooth_modes)}")
    for mode, penalty in penalties.items():
        check_not_negative(f"smooth_modes: mode {mode}", penalty)
    for names, one, other in (
        ("fixed_modes, nonnegative_modes", fixed, nonnegative),
        ("fixed_modes, smooth_modes", fixed, penalties.keys()),
        ("nonnegative_modes, smooth_modes", nonnegative, penalties.keys()),
    ):
        if one & other:
            raise ValueError(f"{names}: mode {min(one & other)} cannot be both")
    updates = dict.fromkeys(nonnegative, hals) | {
        mode: smooth(penalty) for mode, penalty in penalties.items()
    }
    return Constraints(updates, fixed, penalties, l2)


def sweeps(
    X: Tensor, start: CPModel, constraints: Constraints, deterministic: bool = False
) -> Iterator[Sweep[CPModel]]:
    """Yield what alternating least squares has after each sweep, without end.

    Columns have norm one throughout, those of fixed factors too, which are given back as they were. The
    weights of the start matter only where every mode is fixed, or an update starts from its factor.
    """
    backend, xp = backend_for(X), array_module(X.values)
    norm = X.norm()
    units, norms = zip(*map(normalize_columns, start.factors), strict=True)
    weights, factors = hadamard([start.weights, *norms]), list(units)
    given = {mode: start.factors[mode] for mode in constraints.fixed}
    given_norms = hadamard([xp.ones(start.rank), *(norms[mode] for mode in given)])
    given_norms = np.where(given_norms > 0, given_norms, 1.0)
    grams = [gram(factor) for factor in factors]
    products = [empty(factor.shape, X.dtype, xp) for factor in factors]
    free = [mode for mode in range(X.ndim) if mode not in constraints.fixed]
    last = free[-1] if free else X.ndim - 1
    unconstrained = least_squares(backend.solve_normal_equations)
    is_penalised = bool(constraints.l2 or constraints.smooth)
    if not free:
        mttkrp(X, factors, last, products[last], deterministic=deterministic)
    while True:
        for mode in free:
            mttkrp(X, factors, mode, products[mode], deterministic=deterministic)
            with annotate("update"):
                others = hadamard(grams[:mode] + grams[mode + 1 :] or [np.ones_like(grams[0])])
                if is_penalised:
                    others = others + xp.diag(constraints.penalties(factors, mode))
                update = constraints.updates.get(mode, unconstrained)
                factors[mode], weights, grams[mode] = update(others, products[mode], factors[mode], weights)
        with annotate("fit"):
            inner = column_products(products[last], factors[last]) @ weights
            model_norm_squared = weights @ hadamard(grams) @ weights
            fit = fit_of(norm, *xp.stack([model_norm_squared, inner]).tolist())
        model = CPModel(weights / given_norms, tuple(given.get(n, unit) for n, unit in enumerate(factors)))
        yield Sweep(model, fit, violation=None if free else -math.inf)
