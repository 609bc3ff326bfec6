"""The CP model: weights and one factor per mode."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from gpualto._arrays import (
    Array,
    array_module,
    as_array,
    as_floats,
    check_dense_size,
    mover_to,
)
from gpualto._optional import require
from gpualto.decomposition.fitted import Fitted
from gpualto.decomposition.linear_algebra import (
    column_products,
    cross_gram,
    gram,
    hadamard,
    normalize_columns,
)
from gpualto.labels import AnyLabels, ModeLabels, as_labels
from gpualto.ops.mttkrp import mttkrp
from gpualto.tensor import AnyTensor, Tensor


@dataclass(frozen=True, eq=False)
class CPModel(Fitted):
    """A sum of rank-one tensors: component r is ``weights[r]`` times the outer product of the r-th columns.

    Unpacks as ``weights, factors = model``.

    Parameters
    ----------
    weights : (R,) array, or None for ones
    factors : sequence of (I_n, R) arrays
    labels : tuple of ModeLabels, optional
        Names of the modes and of their indices.
    fit : float, optional
        ``1 - norm(X - model) / norm(X)`` for the tensor X that it was fitted to.
    fits : tuple of float
        The fit after each sweep.
    times : tuple of float
        Seconds from the start to the end of each sweep.
    converged : bool
        Whether the stop rule was met, as opposed to the limit of sweeps.
    measures : mapping of str to tuple of float
        What else the method measured after each sweep, such as the log-likelihood.
    known_rms : float, optional
        Root mean square of the entries that it was fitted to where all others were unknown: see
        `gpualto.cp_complete`. None where what is not stored was zero.

    Examples
    --------
    >>> model = CPModel([2.0], [np.array([[1.0], [0.0]]), np.array([[3.0], [4.0]])])
    >>> model.to_dense()
    array([[6., 8.], [0., 0.]])
    >>> model.normalize().weights
    array([10.])
    """

    weights: Array
    factors: tuple[Array, ...]
    labels: tuple[ModeLabels, ...] = field(default=(), repr=False)
    fit: float | None = None
    fits: tuple[float, ...] = field(default=(), repr=False)
    times: tuple[float, ...] = field(default=(), repr=False)
    converged: bool = False
    measures: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    known_rms: float | None = None

    def __post_init__(self) -> None:
        factors = tuple(as_floats(as_array(f), "factors") for f in self.factors)
        if not factors or any(f.ndim != 2 or f.shape[1] != factors[0].shape[1] for f in factors):
            shapes = [f.shape for f in factors]
            raise ValueError(f"factors: expected (length, rank) arrays of one rank, got shapes {shapes}")
        rank = factors[0].shape[1]
        xp = array_module(factors[0])
        weights = xp.ones(rank) if self.weights is None else as_floats(xp.asarray(self.weights), "weights")
        if weights.shape != (rank,):
            raise ValueError(f"weights: expected shape ({rank},), got {weights.shape}")
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "labels", as_labels(self.labels or None, self.shape))

    def __iter__(self) -> Iterator[Any]:
        """Unpack as (weights, factors)."""
        return iter((self.weights, self.factors))

    def __repr__(self) -> str:
        return f"gpualto.CPModel({' x '.join(map(str, self.shape))}, rank={self.rank}{self.fit_text()})"

    @property
    def rank(self) -> int:
        """Number of components."""
        return int(self.weights.size)

    @property
    def rank_text(self) -> str:
        """Number of components, in words."""
        return f"rank {self.rank}"

    def to_device(self, device: str) -> Self:
        """Return the model with its arrays on a device; see `Tensor.to_device`."""
        move = mover_to(device)
        return replace(self, weights=move(self.weights), factors=tuple(map(move, self.factors)))

    def normalize(self, ord: int = 2) -> Self:
        """Return the same model with columns of norm one and weights that are not negative.

        Parameters
        ----------
        ord : {2, 1}
            The norm: 2, or 1 for the sum of absolute values, as for shares of counts.

        Raises
        ------
        ValueError
            If there is no such norm here.
        """
        if ord not in (1, 2):
            raise ValueError(f"ord: expected 1 or 2, got {ord!r}")
        weights = self.weights.astype(np.float64)
        factors = []
        for factor in self.factors:
            unit, norms = normalize_columns(factor)
            if ord == 1:
                sums = abs(unit).sum(axis=0, dtype=np.float64)
                sums = np.where(sums > 0, sums, 1.0)
                unit, norms = unit / sums.astype(unit.dtype), norms * sums
            factors.append(unit)
            weights = weights * norms
        factors[0] = np.where(weights < 0, -factors[0], factors[0])
        return replace(self, weights=abs(weights), factors=tuple(factors))

    def arrange(self, ord: int = 2) -> Self:
        """Return the same model normalized, the components with the largest weights first."""
        model = self.normalize(ord)
        return model.select((-model.weights).argsort(kind="stable"))

    def fix_signs(self) -> Self:
        """Return the same model with the largest entry of each column positive, as far as possible.

        A component is unchanged when two of its columns change sign. Where the number of negative columns is
        odd, the last of them stays negative.
        """
        xp = array_module(self.weights)
        largest = [f[abs(f).argmax(axis=0), xp.arange(self.rank)] for f in self.factors]
        negative = xp.stack([entries < 0 for entries in largest])
        return self._flip_in_pairs(negative)

    def _flip_in_pairs(self, columns: Array) -> Self:
        """Return the model with the sign of some columns changed, those of a mask, in pairs."""
        flips_left = columns.sum(axis=0) // 2 * 2
        flip = columns & (np.cumsum(columns, axis=0) <= flips_left)
        factors = tuple(np.where(f, -factor, factor) for f, factor in zip(flip, self.factors, strict=True))
        return replace(self, factors=factors)

    def select(self, components: Sequence[int] | Array) -> Self:
        """Return the model of some of the components, in the order given.

        Fit and history are those of the whole, and stay only where all components do.

        Examples
        --------
        >>> model = CPModel([2.0, 1.0], [np.eye(2), np.eye(2)], fit=0.5)
        >>> model.select([1, 0]).fit, model.select([1]).fit
        (0.5, None)
        """
        xp = array_module(self.weights)
        chosen = xp.asarray(components, None if len(components) else np.int64)
        if chosen.dtype == bool:
            chosen = chosen.nonzero()[0]
        selected = replace(
            self,
            weights=self.weights[chosen],
            factors=tuple(xp.ascontiguousarray(factor[:, chosen]) for factor in self.factors),
        )
        if np.array_equal(np.sort(mover_to("cpu")(chosen)), np.arange(self.rank)):
            return selected
        return replace(selected, fit=None, fits=(), times=(), converged=False, measures={})

    def norm(self) -> float:
        """Return the Frobenius norm, by the Gram matrices of the factors."""
        return float(np.sqrt(max(self._cross(self, [gram(factor) for factor in self.factors]), 0.0)))

    def innerprod(self, other: Tensor | CPModel) -> float:
        """Return the inner product with a sparse tensor or another model."""
        _require_same_shape("other", other.shape, self.shape)
        if isinstance(other, CPModel):
            pairs = zip(self.factors, other.factors, strict=True)
            return self._cross(other, [cross_gram(left, right) for left, right in pairs])
        last = mttkrp(other, self.factors, -1)
        return float(column_products(last, self.factors[-1]) @ self.weights)

    def _cross(self, other: CPModel, grams: list[Array]) -> float:
        return float(self.weights.astype(np.float64) @ hadamard(grams) @ other.weights)

    @property
    def _numbers_a_value(self) -> int:
        return max(self.rank, 1)

    def _values(self, rows: list[Array]) -> Array:
        return hadamard(rows) @ self.weights

    def _values_of(self, X: AnyTensor) -> Array:
        from gpualto.ops.model_values import model_values

        return model_values(X, self)

    def to_dense(self) -> Array:
        """Return the model as a dense array."""
        dtype = np.result_type(self.weights, *self.factors)
        check_dense_size(self.shape, dtype)
        # Modes in two groups of about as many cells: one product of their rows is least memory.
        sizes = [math.prod(self.shape[:n]) + math.prod(self.shape[n:]) for n in range(self.ndim + 1)]
        cut = sizes.index(min(sizes))
        first, last = (
            _products_of_rows(part, self.weights, dtype) for part in (self.factors[:cut], self.factors[cut:])
        )
        return (first * self.weights @ last.T).reshape(self.shape)

    def score(self, other: CPModel, *, weight_penalty: bool = True) -> tuple[float, Array]:
        """Return the factor match score with another model, and the permutation that it is reached with.

        The score of a pair of components is the product over the modes of the absolute cosine between
        their columns, times, if `weight_penalty`, one minus the relative difference of their weights. The
        components are paired for the largest mean; 1 says that the models are the same up to order and sign.

        Parameters
        ----------
        other : CPModel
            Of the same shape and at most as many components.
        weight_penalty : bool
            Whether weights count.

        Returns
        -------
        score : float
            Mean over the components of `other`, in [0, 1].
        permutation : (other.rank,) int array
            Component r of `other` matches component ``permutation[r]`` of this model.

        References
        ----------
        Acar, Dunlavy, Kolda, Mørup: Scalable tensor factorizations for incomplete data. 2011, section 4.3.
        """
        if not isinstance(other, CPModel):
            raise TypeError(f"other: expected a CPModel, got {type(other).__name__}")
        optimize = require("scipy.optimize", "cpu", "CPModel.score")
        _require_same_shape("other", other.shape, self.shape)
        if other.rank > self.rank:
            raise ValueError(f"other: has {other.rank} components, more than this model's {self.rank}")
        left, right = self.normalize(), other.normalize()
        pairs = zip(left.factors, right.factors, strict=True)
        scores = hadamard(abs(cross_gram(a, b)) for a, b in pairs)
        if weight_penalty:
            larger = np.maximum.outer(left.weights, right.weights)
            difference = abs(np.subtract.outer(left.weights, right.weights))
            scores *= 1 - difference / np.where(larger > 0, larger, 1.0)
        scores = mover_to("cpu")(scores)
        chosen, matched = optimize.linear_sum_assignment(scores, maximize=True)
        permutation = np.empty(other.rank, np.int64)
        permutation[matched] = chosen
        return float(scores[chosen, matched].mean()), permutation

    def match(self, other: CPModel) -> Self:
        """Return this model with its components in the order of another, and its signs as there.

        Component r of the result is the one that matches component r of `other` best; what matches none
        follows. Signs are changed in pairs, so that the model is the same.

        Parameters
        ----------
        other : CPModel
            Of the same shape and at most as many components.

        Examples
        --------
        >>> model = CPModel([1.0, 2.0], [np.eye(2), np.eye(2)])
        >>> model.match(CPModel([2.0], [[[0.0], [1.0]], [[0.0], [1.0]]])).weights
        array([2., 1.])
        """
        _, permutation = self.score(other, weight_penalty=False)
        rest = np.setdiff1d(np.arange(self.rank), permutation)
        model = self.normalize().select(np.concatenate([permutation, rest]))
        count, xp = other.rank, array_module(self.weights)
        cosines = [
            np.einsum("ir,ir->r", factor[:, :count], theirs)
            for factor, theirs in zip(model.factors, other.factors, strict=True)
        ]
        negative = xp.zeros((self.ndim, self.rank), bool)
        negative[:, :count] = xp.stack(cosines) < 0
        return model._flip_in_pairs(negative)

    def to_pyttb(self) -> Any:
        """Return a ``pyttb.ktensor`` with copies of the arrays."""
        from gpualto.interop.pyttb import to_ktensor

        return to_ktensor(self)

    def to_tensorly(self) -> Any:
        """Return a ``tensorly.cp_tensor.CPTensor`` of the same arrays."""
        from gpualto.interop.tensorly import to_cp_tensor

        return to_cp_tensor(self)

    @classmethod
    def from_other(cls, model: Any, labels: AnyLabels | None = None) -> CPModel:
        """Return a model of another package: a ``pyttb.ktensor``, TensorLy's, or a pair (weights, factors).

        Raises
        ------
        TypeError
            If it is none of these.

        Examples
        --------
        >>> CPModel.from_other((None, [np.eye(2), np.eye(2)])).rank
        2
        """
        if hasattr(model, "factor_matrices"):
            weights, factors = model.weights, model.factor_matrices
        else:
            try:
                weights, factors = model
            except (TypeError, ValueError):
                raise TypeError(
                    f"model: expected a ktensor or a pair (weights, factors), got {type(model).__name__}"
                ) from None
        arrays = tuple(map(as_array, factors))
        return cls(weights, arrays, as_labels(labels, tuple(len(array) for array in arrays)))

    def describe(self) -> str:
        """Return the model in words, a line for each component.

        For each mode, the largest entries that make up half of the component's column, by absolute value, and
        those about as large. "Above all" says that there are more of these than are named; "every" that the
        indices of the mode are about alike.

        Examples
        --------
        >>> labels = {"carrier": ["AA", "UA"], "month": ["Jan", "Feb", "Mar"]}
        >>> factors = [np.array([[0.9, 0.0], [0.1, 1.0]]), np.array([[1.0, 8.0], [1.0, 1.0], [1.1, 1.0]])]
        >>> print(CPModel([3.0, 1.0], factors, labels).describe())
        1 (75%): carrier AA; every month
        2 (25%): carrier UA; month Jan
        """
        from gpualto.decomposition.words import sentences, share

        return "\n".join(
            f"{n + 1} ({share(self.weights, n)}): {line}" for n, line in enumerate(sentences(self))
        )

    def to_table(self) -> dict[str, Array]:
        """Return the factors as columns of a table with a row for each entry.

        ``pandas.DataFrame``, ``polars.DataFrame`` and ``pyarrow.table`` take it.

        Returns
        -------
        dict
            ``component`` counts from 1; ``mode`` is the name of a mode, ``label`` and ``index`` say which of
            its indices; ``weight`` is the entry of the factor. The arrays have rank * sum(shape) rows, by
            component, then mode, then index. `weights` are not multiplied in.

        Examples
        --------
        >>> model = CPModel(None, [np.array([[0.6], [0.8]]), np.array([[1.0]])], {"who": "ab", "day": None})
        >>> for column, entries in model.to_table().items():
        ...     print(column, entries)
        component [1 1 1]
        mode ['who' 'who' 'day']
        label ['a' 'b' '0']
        index [0 1 0]
        weight [0.6 0.8 1. ]
        """
        from gpualto.tables.export import columns_of_model

        return columns_of_model(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model with its labels and history to a ``.npz`` file, whole or not at all."""
        from gpualto.io.npz import write_model

        write_model(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CPModel:
        """Read a model that `save` wrote.

        Raises
        ------
        ValueError
            If the file is damaged or not a model.
        """
        from gpualto.io.npz import read_model

        return read_model(path)


def _products_of_rows(factors: Sequence[Array], like: Array, dtype: Any) -> Array:
    """Return the products of the rows of factors, one of each: the Khatri-Rao product."""
    rows = array_module(like).ones((1, like.size), dtype)
    for factor in factors:
        rows = (rows[:, np.newaxis] * factor).reshape(len(rows) * len(factor), like.size)
    return rows


def require_cp_model(model: object) -> None:
    """Raise `TypeError` for what is no CP model."""
    if not isinstance(model, CPModel):
        raise TypeError(f"model: expected a gpualto.CPModel, got {type(model).__name__}")


def _require_same_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ValueError(f"{name}: has shape {shape}, this model {expected}")
