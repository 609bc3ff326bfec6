"""New data in the components of a model: one factor is found, the others stay."""

from __future__ import annotations

import numpy as np

from gpualto._arrays import Array, array_module, mover_to
from gpualto._optional import require
from gpualto.backends import backend_for
from gpualto.decomposition.completion import (
    check_penalty,
    in_unit,
    solve_rows,
    spread,
    typical_size,
)
from gpualto.decomposition.linear_algebra import column_products, gram, hadamard, normalize_columns
from gpualto.decomposition.model import CPModel, require_cp_model
from gpualto.decomposition.running import check_finite
from gpualto.labels import mode_number
from gpualto.ops.alignment import Unknown
from gpualto.ops.mttkrp import mttkrp
from gpualto.tensor import Tensor, require_tensor

_ROUNDING = 1e-15


def project(
    model: CPModel, X: Tensor, mode: int | str, *, nonnegative: bool = False, unknown: Unknown = "error"
) -> Array:
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
    unknown : {"error", "drop"}
        What to do with entries that have a label, in another mode, which the model does not know.

    Returns
    -------
    (X.shape[mode], rank) array
        In the scale of the model's factor of that mode: put in its place, it gives the model of X with the
        same weights, and times `model.weights` what each component has of the new data, where columns sum to
        one. float64 unless all is float32.

    Raises
    ------
    ValueError
        If the shape does not fit, the modes stand in another order, labels are not known to the model, no
        entry is left, there is no such mode, values are not finite, or the model is one of `cp_complete`:
        see `project_known`.

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
    mode, X = _in_place(model, X, mode, unknown)
    if model.known_rms is not None:
        raise ValueError(
            "model: was fitted by cp_complete, to which what is not stored is unknown, and here it would be "
            "zero; use project_known"
        )
    units = {n: normalize_columns(factor) for n, factor in enumerate(model.factors) if n != mode}
    weights = model.weights
    for n in list(units)[:1]:  # weights that are not negative leave the sign of the rows as it is
        unit, norms = units[n]
        units[n] = (np.where(weights < 0, -unit, unit), norms)
        weights = abs(weights)
    factors = [units[n][0] if n in units else None for n in range(model.ndim)]
    xp = array_module(X.values)
    product = hadamard([gram(unit) for unit, _ in units.values()] or [xp.ones((model.rank, model.rank))])
    right = mttkrp(X, factors, mode) if units else xp.repeat(X.todense()[:, np.newaxis], model.rank, axis=1)
    solution = (
        _nonnegative(product, right) if nonnegative else backend_for(X).solve_normal_equations(product, right)
    )
    return _over(solution, hadamard([weights, *(norms for _, norms in units.values())]))


def project_known(
    model: CPModel, X: Tensor, mode: int | str, *, l2: float = 0.1, unknown: Unknown = "error"
) -> Array:
    """Return how new indices of a mode are made up of a model's components, by the stored entries alone.

    As `project`, for models of `gpualto.cp_complete`: what is not stored counts as unknown. So a new user's
    ratings of some films give a row, and that what the user would say of the others.

    Parameters
    ----------
    model : CPModel
    X : Tensor
        New data, as in `project`.
    mode : int or str
        The mode whose indices are new, or its name.
    l2 : float
        Penalty on the squared entries, above zero, that of the fit, in the same unit: see
        `gpualto.cp_complete`.
    unknown : {"error", "drop"}
        What to do with entries that have a label, in another mode, which the model does not know.

    Returns
    -------
    (X.shape[mode], rank) array
        In the scale of the model's factor of that mode. Rows without an entry are zero.

    Raises
    ------
    ValueError
        If `l2` is not above zero, or X does not fit, as in `project`.

    Examples
    --------
    >>> from gpualto import cp_complete
    >>> ratings = Tensor.from_dense(np.multiply.outer([1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0]))
    >>> model = cp_complete(ratings, rank=1, l2=1e-6, random_state=0)
    >>> new = Tensor.from_coo([[0], [2]], [6.0], shape=(1, 3))
    >>> row = project_known(model, new, mode=0, l2=1e-6)
    >>> (model.weights * row * model.factors[1]).round(2).ravel()
    array([2., 4., 6.])
    """
    mode, X = _in_place(model, X, mode, unknown)
    check_penalty(l2)
    scale, unit = model.known_rms or typical_size(X), model.normalize()
    rows = solve_rows(*in_unit(X, scale), spread(unit, scale), mode, l2)
    norms = column_products(model.factors[mode], unit.factors[mode])  # with the sign that may have changed
    return _over(rows * norms.astype(rows.dtype), (unit.weights / scale) ** (1 / model.ndim))


def _in_place(model: CPModel, X: Tensor, mode: int | str, unknown: Unknown) -> tuple[int, Tensor]:
    """Return the number of the mode, and the new data with the other modes' indices as the model has them."""
    require_cp_model(model)
    require_tensor(X)
    number = mode_number(mode, model.labels)
    if X.ndim == model.ndim:
        count = X.nnz
        X = X.align([None if n == number else item for n, item in enumerate(model.labels)], unknown=unknown)
        if X.nnz == 0 and count:
            raise ValueError(
                f"X: none of its {count} entries has labels that the model knows in all other modes"
            )
    expected = model.shape[:number] + model.shape[number + 1 :]
    if X.ndim != model.ndim or X.shape[:number] + X.shape[number + 1 :] != expected:
        raise ValueError(f"X: has shape {X.shape}, expected the model's {model.shape} but for mode {number}")
    check_finite(X)
    return number, X


def _over(rows: Array, weights: Array) -> Array:
    """Divide by weights, but for those of components that are zero."""
    return (rows / np.where(weights != 0, weights, 1.0)).astype(rows.dtype, copy=False)


def _nonnegative(product: Array, right: Array) -> Array:
    """Return the rows without a negative entry that solve best, one by one on the host."""
    nnls = require("scipy.optimize", "cpu", "project(nonnegative=True)").nnls
    to_host, xp = mover_to("cpu"), array_module(right)
    squares, basis = np.linalg.eigh(to_host(product))
    sizes = np.sqrt(np.maximum(squares, 0))
    over = np.where(squares > _ROUNDING * squares.max(initial=0), 1 / np.where(sizes > 0, sizes, 1), 0)
    targets = to_host(right).astype(np.float64) @ (basis * over)
    rows = [nnls(sizes[:, np.newaxis] * basis.T, target)[0] for target in targets]
    return xp.asarray(np.array(rows).reshape(right.shape), right.dtype)
