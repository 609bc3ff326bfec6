"""What models of all kinds have: factors, labels, and the history of their fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from gpualto._arrays import Array, array_module, as_coordinates, blocks, check_bounds, device_of
from gpualto.labels import ModeLabels, check_same
from gpualto.tensor import AnyTensor, require_any_tensor

_BLOCK_NUMBERS = 1 << 20
"""Numbers that are in memory at a time to compute values."""


class Fitted(ABC):
    """A model with a factor for each mode; dataclasses that derive from it have these as fields."""

    factors: tuple[Array, ...]
    labels: tuple[ModeLabels, ...]
    fit: float | None
    fits: tuple[float, ...]
    times: tuple[float, ...]
    converged: bool
    measures: Mapping[str, tuple[float, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each mode."""
        return tuple(factor.shape[0] for factor in self.factors)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self.factors)

    @property
    def n_iter(self) -> int:
        """Number of sweeps that made the model."""
        return len(self.fits)

    @property
    def device(self) -> str:
        """Where the arrays live: ``"cpu"``, or ``"cuda:0"`` for the first device."""
        return device_of(self.factors[0])

    def values_at(self, coords: Array | Sequence[Array]) -> Array:
        """Return the values of the model at coordinates.

        Parameters
        ----------
        coords : (ndim, n) array or sequence of ndim arrays
            Indices, or of modes that have labels these, as text: numbers are always indices.

        Raises
        ------
        ValueError
            If a coordinate lies outside the shape, or there is no such label.

        Examples
        --------
        >>> from gpualto import CPModel
        >>> factors = [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])]
        >>> model = CPModel(None, factors, {"who": ["ann", "bob"], "day": None})
        >>> model.values_at([[0, 1], [1, 1]]), model.values_at([["bob"], [0]])
        (array([4., 8.]), array([6.]))
        """
        coordinates = as_coordinates(self._indices(coords))
        check_bounds(coordinates, self.shape)
        parts = [
            self._values([factor[c[block]] for factor, c in zip(self.factors, coordinates, strict=True)])
            for block in blocks(coordinates[0].size, size=max(_BLOCK_NUMBERS // self._numbers_a_value, 1))
        ]
        return np.concatenate(parts) if parts else self._values([factor[:0] for factor in self.factors])

    def _indices(self, coords: Array | Sequence[Array]) -> Array | Sequence[Array]:
        """Return coordinates with labels replaced by what they are the labels of."""
        if not hasattr(coords, "__len__") or len(coords) != self.ndim:
            given = len(coords) if hasattr(coords, "__len__") else repr(coords)
            raise ValueError(f"coords: expected {self.ndim} arrays, one a mode, got {given}")
        rows = [np.asarray(row) if array_module(row) is np else row for row in coords]
        if not any(row.dtype.kind in "UO" and row.ndim == 1 for row in rows):
            return coords
        return [
            item.find(list(map(str, row)), mode) if row.dtype.kind in "UO" else row
            for mode, (item, row) in enumerate(zip(self.labels, rows, strict=True))
        ]

    @property
    @abstractmethod
    def _numbers_a_value(self) -> int:
        """How many numbers are in memory for each value that is computed."""

    @abstractmethod
    def _values(self, rows: list[Array]) -> Array:
        """Return the values that rows of the factors, as many of each, stand for."""

    def check_describes(self, X: AnyTensor) -> None:
        """Raise unless a tensor has the shape of the model, and no other labels."""
        require_any_tensor(X)
        if X.shape != self.shape:
            raise ValueError(f"X: has shape {X.shape}, the model {self.shape}")
        check_same(X.labels, self.labels)

    def residuals(self, X: AnyTensor) -> Array:
        """Return the values of a tensor's entries less those of the model, in stored order.

        Large ones are what the model does not explain. Of a count, ``residuals(X) / sqrt(model)`` is how many
        standard deviations it is off, with ``model = X.values - residuals(X)``.

        Raises
        ------
        ValueError
            If the shapes differ, or the labels say that an index is another one in the model.

        Examples
        --------
        >>> from gpualto import CPModel, Tensor
        >>> X = Tensor.from_coo([[0, 1], [1, 1]], [5.0, 9.0])
        >>> CPModel(None, [[[1.0], [2.0]], [[3.0], [4.0]]]).residuals(X)
        array([1., 1.])
        """
        self.check_describes(X)
        return X.entries()[1] - self._values_of(X)

    def _values_of(self, X: AnyTensor) -> Array:
        return self.values_at(X.entries()[0])

    @property
    @abstractmethod
    def rank_text(self) -> str:
        """How many components or columns there are, in words."""

    def fit_text(self) -> str:
        """Return how well it fits and after how many sweeps, as its repr says it."""
        fit = "" if self.fit is None else f", fit={self.fit:.6f}"
        return fit + (f" after {self.n_iter} sweeps" if self.fits else "")
