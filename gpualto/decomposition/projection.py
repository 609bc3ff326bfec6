"""New data in the components of a model: one factor is found, the others stay."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module, as_mode
from gpualto.backends import backend_for
from gpualto.decomposition.linear_algebra import gram, hadamard, normalize_columns
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.running import check_finite
from gpualto.decomposition.updates import hals
from gpualto.labels import ModeLabels
from gpualto.ops.mttkrp import mttkrp
from gpualto.tensor import Tensor, require_tensor

_HALS_ROUNDS = 50


def project(model: CPModel, X: Tensor, mode: int | str, *, nonnegative: bool = False) -> Array:
    """Return how new indices of a mode are made up of a model's components.

    One least-squares update: for days that came after the fit, users that were not in it, or other new rows.

    Parameters
    ----------
    model : CPModel
    X : Tensor
        New data. Where both have labels, those say which index is which in all modes but `mode`; else the
        lengths have to be those of the model.
    mode : int or str
        The mode whose indices are new, or its name; negative modes count from the back.
    nonnegative : bool
        Whether the result must not be negative, as for models of `cp_nn` and `cp_apr`.

    Returns
    -------
    (X.shape[mode], rank) array
        In the scale of the model's factor of that mode: put in its place, it gives the model of X with the
        same weights, and times `model.weights` what each component has of the new data, where columns sum to
        one. float64 unless all is float32.

    Raises
    ------
    ValueError
        If the shape does not fit, labels are not known to the model, there is no such mode, or values are
        not finite.

    Examples
    --------
    >>> from gpualto import cp_als, datasets
    >>> X = datasets.flights()
    >>> model = cp_als(X, rank=4, random_state=0, tol=1e-9, n_iter_max=500)
    >>> december = X[:, :, :, 11:]
    >>> project(model, december, mode=3).shape
    (1, 4)
    >>> bool(np.allclose(project(model, december, mode=3), model.factors[3][11:], atol=0.01))
    True
    """
    require_tensor(X)
    mode = _mode_of(model, mode)
    if X.ndim == model.ndim:
        X = X.align([ModeLabels() if n == mode else item for n, item in enumerate(model.labels)])
    expected = model.shape[:mode] + model.shape[mode + 1 :]
    if X.ndim != model.ndim or X.shape[:mode] + X.shape[mode + 1 :] != expected:
        raise ValueError(f"X: has shape {X.shape}, expected the model's {model.shape} but for mode {mode}")
    check_finite(X)
    units = {n: normalize_columns(factor) for n, factor in enumerate(model.factors) if n != mode}
    factors = [units[n][0] if n in units else None for n in range(model.ndim)]
    xp = array_module(X.values)
    product = hadamard([gram(unit) for unit, _ in units.values()] or [xp.ones((model.rank, model.rank))])
    right = mttkrp(X, factors, mode) if units else xp.repeat(X.todense()[:, np.newaxis], model.rank, axis=1)
    solution = (
        _nonnegative(product, right) if nonnegative else backend_for(X).solve_normal_equations(product, right)
    )
    weights = hadamard([model.weights, *(norms for _, norms in units.values())])
    return (solution / np.where(weights != 0, weights, 1.0)).astype(solution.dtype, copy=False)


def _mode_of(model: CPModel, mode: int | str) -> int:
    """Return the number of a mode, which may be given by its name."""
    if not isinstance(mode, str):
        return as_mode(mode, model.ndim)
    names = [item.title(n) for n, item in enumerate(model.labels)]
    if mode not in names:
        raise ValueError(f"mode: there is no {mode!r}, only {', '.join(names)}")
    return names.index(mode)


def _nonnegative(product: Array, right: Array) -> Array:
    factor, weights = np.maximum(right, 0), array_module(right).ones(right.shape[1])
    for _ in range(_HALS_ROUNDS):
        factor, weights, _ = hals(product, right, factor, weights)
    return factor * weights.astype(factor.dtype)
