"""CP by all modes at once: L-BFGS on the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualto._arrays import Array, array_module
from gpualto._optional import require
from gpualto.decomposition.initial import Init, RandomState
from gpualto.decomposition.linear_algebra import column_products, fit_of, gram, hadamard
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.nonnegative import nonnegative_start
from gpualto.decomposition.running import (
    Callback,
    Recorder,
    Schedule,
    Sweep,
    best_run,
    check_not_negative,
)
from gpualto.ops.mttkrp import mttkrp
from gpualto.tensor import Tensor, require_tensor


def cp_opt(
    X: Tensor,
    rank: int,
    *,
    nonnegative: bool = False,
    l2: float = 0.0,
    n_iter_max: int = 500,
    tol: float = 1e-5,
    init: Init = "random",
    random_state: RandomState = None,
    n_restarts: int = 1,
    deterministic: bool = False,
    verbose: int = 0,
    callback: Callback | None = None,
) -> CPModel:
    """Fit a CP model by a quasi-Newton method on all factors at once.

    Slower than `gpualto.cp_als` a step, and better where that creeps: components that are nearly alike, or
    more of them than the data have. What is not stored counts as zero.

    Parameters
    ----------
    X : Tensor
    rank : int
    nonnegative : bool
        Whether factors are bounded by zero.
    l2 : float
        Penalty on the squared factor entries, relative to the squared norm of the tensor.
    n_iter_max : int
        Most iterations of L-BFGS-B; each takes an MTTKRP of every mode, at times several.
    tol : float
        Stop when no entry of the gradient of the relative objective is larger.
    init, random_state, n_restarts, deterministic, verbose, callback
        As in `gpualto.cp_als`.

    Returns
    -------
    CPModel
        Columns of norm one, the largest weights first. ``measures`` has the "objective" and the largest entry
        of the "gradient" after each iteration.

    Raises
    ------
    ValueError
        If the values or the start are not finite, or an argument does not fit the tensor.
    MissingPackageError
        If SciPy is not installed.

    Notes
    -----
    Minimised is ``norm(X - model)**2 / (2 norm(X)**2) + l2 * sum(factors**2) / 2``. Factors are handed to
    SciPy on the host; the products are computed where the tensor lives.

    References
    ----------
    Acar, Dunlavy, Kolda: A scalable optimization approach for fitting canonical tensor decompositions.
    J. Chemometrics 25(2), 2011.

    Examples
    --------
    >>> from gpualto import datasets
    >>> round(cp_opt(datasets.flights(), rank=1, random_state=0).fit, 4)
    0.1049
    """
    require_tensor(X)
    check_not_negative("l2", l2)
    optimize = require("scipy.optimize", "cpu", "cp_opt")
    problem = _Problem(X, rank, nonnegative, l2, deterministic)
    schedule = Schedule(n_iter_max, tol, n_restarts, verbose, callback)

    def method(start: CPModel, recorder: Recorder[CPModel]) -> None:
        first = nonnegative_start(start, init) if nonnegative else start

        def callback(intermediate_result: Any) -> None:
            if recorder.record(problem.sweep(intermediate_result.x)):
                raise StopIteration

        vector = problem.start(first)
        # The stop rule is the recorder's; SciPy's own are switched off.
        optimize.minimize(
            problem.value_and_gradient,
            vector,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * vector.size if nonnegative else None,
            callback=callback,
            options={"maxiter": n_iter_max, "maxfun": 20 * n_iter_max, "ftol": 0.0, "gtol": 0.0},
        )
        if recorder.model is None:  # the start is a minimum: no step was made
            recorder.record(problem.sweep(vector))

    model = best_run(X, rank, init, random_state, schedule, method)
    return model.arrange() if nonnegative else model.arrange().fix_signs()


class _Problem:
    """The objective, as a function of all factors in one vector on the host.

    The tensor is scaled to norm one, and the weights are shared out among the factors evenly.
    """

    def __init__(self, X: Tensor, rank: int, nonnegative: bool, l2: float, deterministic: bool) -> None:
        self.norm = X.norm()
        self.X = X.with_values(X.values / X.dtype.type(self.norm or 1.0))
        self.rank, self.l2, self.deterministic = rank, l2, deterministic
        self.nonnegative = nonnegative
        self.bounds = np.cumsum([0, *(length * rank for length in X.shape)])
        self._last: tuple[Array, Sweep[CPModel], float, Array] | None = None

    def start(self, model: CPModel) -> Array:
        """Return the vector of a model; zeros, which are the solution, where the tensor has norm zero."""
        unit = model.normalize()
        shares = (unit.weights / (self.norm or np.inf)) ** (1 / model.ndim)
        return self._joined([factor * shares for factor in unit.factors])

    def value_and_gradient(self, vector: Array) -> tuple[float, Array]:
        """Return the objective and its gradient."""
        _, _, value, gradient = self._evaluated(vector)
        return value, gradient

    def sweep(self, vector: Array) -> Sweep[CPModel]:
        """Return where the method stands."""
        return self._evaluated(vector)[1]

    def _evaluated(self, vector: Array) -> tuple[Array, Sweep[CPModel], float, Array]:
        if self._last is None or not np.array_equal(self._last[0], vector):
            self._last = (vector.copy(), *self._evaluate(vector))
        return self._last

    def _evaluate(self, vector: Array) -> tuple[Sweep[CPModel], float, Array]:
        xp = array_module(self.X.values)
        factors = self._split(vector)
        grams = [gram(factor) for factor in factors]
        gradients = []
        for mode, factor in enumerate(factors):
            product = mttkrp(self.X, factors, mode, deterministic=self.deterministic)
            others = hadamard(grams[:mode] + grams[mode + 1 :] or [xp.ones_like(grams[0])])
            gradients.append(factor @ others - product + self.l2 * factor)
        inner = float(column_products(product, factors[-1]).sum())
        squared = float(hadamard(grams).sum())
        known = 1.0 if self.norm else 0.0
        penalty = self.l2 * sum(float(matrix.trace()) for matrix in grams)
        objective = (known + squared - 2 * inner + penalty) / 2
        gradient = self._joined(gradients)
        weights = xp.full(self.rank, self.norm)
        steps = np.minimum(vector, gradient) if self.nonnegative else gradient
        largest = float(abs(steps).max(initial=0))
        measures = {"objective": objective, "gradient": largest}
        fit = fit_of(known, squared, inner)
        return (
            Sweep(CPModel(weights, tuple(factors)), fit, measures, -objective, violation=largest),
            objective,
            gradient,
        )

    def _split(self, vector: Array) -> list[Array]:
        """Return the factors of a vector, on the tensor's device and of its type."""
        xp = array_module(self.X.values)
        pieces = zip(self.bounds[:-1], self.bounds[1:], strict=True)
        return [
            xp.ascontiguousarray(xp.asarray(vector[begin:end]).reshape(-1, self.rank), self.X.dtype)
            for begin, end in pieces
        ]

    def _joined(self, arrays: list[Array]) -> Array:
        """Return arrays of the factors' shapes as one vector of float64 on the host."""
        xp = array_module(self.X.values)
        joined = xp.concatenate([array.ravel() for array in arrays]).astype(np.float64)
        return joined if xp is np else joined.get()
