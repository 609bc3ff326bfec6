"""The Tucker model: a small core and one factor per mode."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from gpualto._arrays import (
    Array,
    array_module,
    as_array,
    as_floats,
    mover_to,
)
from gpualto.decomposition.fitted import Fitted
from gpualto.labels import ModeLabels, as_labels


@dataclass(frozen=True, eq=False)
class TuckerModel(Fitted):
    """A core times a factor along every mode: blocks of indices, and how they go together.

    Entry ``(a, b, ...)`` of the core says how much column a of the first factor goes with column b of the
    second, and so on. Unpacks as ``core, factors = model``.

    Parameters
    ----------
    core : (R_1, ..., R_N) array
    factors : sequence of (I_n, R_n) arrays
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
        What else was measured after each sweep.

    Raises
    ------
    ValueError
        If factors and core do not fit each other.

    Examples
    --------
    >>> model = TuckerModel([[2.0], [3.0]], [np.eye(2), np.array([[1.0], [0.0], [1.0]])])
    >>> model
    gpualto.TuckerModel(2 x 3, ranks=2 x 1)
    >>> model.to_dense()
    array([[2., 0., 2.], [3., 0., 3.]])
    """

    core: Array
    factors: tuple[Array, ...]
    labels: tuple[ModeLabels, ...] = field(default=(), repr=False)
    fit: float | None = None
    fits: tuple[float, ...] = field(default=(), repr=False)
    times: tuple[float, ...] = field(default=(), repr=False)
    converged: bool = False
    measures: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        core = as_floats(as_array(self.core), "core")
        factors = tuple(as_floats(as_array(factor), "factors") for factor in self.factors)
        shapes = [factor.shape for factor in factors]
        if not factors or [shape[1:] for shape in shapes] != [(rank,) for rank in core.shape]:
            raise ValueError(
                f"factors: expected a (length, rank) array for each of the ranks of the core, {core.shape}, "
                f"got shapes {shapes}"
            )
        object.__setattr__(self, "core", core)
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "labels", as_labels(self.labels or None, self.shape))

    def __iter__(self) -> Iterator[Any]:
        """Unpack as (core, factors)."""
        return iter((self.core, self.factors))

    def __repr__(self) -> str:
        shape, ranks = (" x ".join(map(str, lengths)) for lengths in (self.shape, self.ranks))
        return f"gpualto.TuckerModel({shape}, ranks={ranks}{self.fit_text()})"

    @property
    def ranks(self) -> tuple[int, ...]:
        """Shape of the core."""
        return tuple(self.core.shape)

    @property
    def rank_text(self) -> str:
        """Number of columns of each factor, in words."""
        return f"ranks {' x '.join(map(str, self.ranks))}"

    def to_device(self, device: str) -> Self:
        """Return the model with its arrays on a device; see `Tensor.to_device`."""
        move = mover_to(device)
        return replace(self, core=move(self.core), factors=tuple(map(move, self.factors)))

    def fix_signs(self) -> Self:
        """Return the same model with the largest entry of each column of a factor positive."""
        core, factors = self.core, []
        for mode, factor in enumerate(self.factors):
            xp = array_module(factor)
            largest = factor[abs(factor).argmax(axis=0), xp.arange(factor.shape[1])]
            signs = np.where(largest < 0, -1.0, 1.0).astype(factor.dtype)
            factors.append(factor * signs)
            core = core * signs.reshape((-1,) + (1,) * (self.ndim - mode - 1))
        return replace(self, core=core, factors=tuple(factors))

    def describe(self, top: int = 5) -> str:
        """Return the model in words: the columns of each factor, and the largest entries of the core.

        An entry of the core says how much columns of different modes go together, and is negative where they
        go against each other; so are entries of columns. Both are of columns of norm one.

        Parameters
        ----------
        top : int
            Entries of the core to name.

        Examples
        --------
        >>> labels = {"carrier": ["AA", "UA"], "month": ["Jan", "Feb", "Mar"]}
        >>> model = TuckerModel([[5.0], [0.5]], [np.eye(2), np.array([[1.0], [0.0], [0.0]])], labels)
        >>> print(model.describe())
        carrier 1: AA
        carrier 2: UA
        month 1: Jan
        core 5: carrier 1, month 1
        core 0.5: carrier 2, month 1
        """
        from gpualto.decomposition.words import amount, named_entries

        host = self.to_device("cpu")
        titles = [item.title(mode) for mode, item in enumerate(host.labels)]
        lines = [
            f"{titles[mode]} {column + 1}: {named_entries(factor[:, column], item)}"
            for mode, (item, factor) in enumerate(zip(host.labels, host.factors, strict=True))
            for column in range(factor.shape[1])
        ]
        for place in np.argsort(-abs(host.core), axis=None, kind="stable")[:top]:
            at = np.unravel_index(place, host.core.shape)
            columns = ", ".join(f"{title} {index + 1}" for title, index in zip(titles, at, strict=True))
            lines.append(f"core {amount(float(host.core[at]))}: {columns}")
        return "\n".join(lines)

    def to_table(self) -> dict[str, Array]:
        """Return the factors as columns of a table with a row for each entry.

        Returns
        -------
        dict
            ``mode`` is the name of a mode, ``column`` counts from 1 within it, ``label`` and ``index`` say
            which of its indices, ``weight`` is the entry.
        """
        from gpualto.tables.export import columns_of_tucker

        return columns_of_tucker(self)

    def to_dense(self) -> Array:
        """Return the model as a dense array."""
        dense = self.core
        for mode, factor in enumerate(self.factors):
            dense = multiply_along(dense, factor, mode)
        return dense

    @property
    def _numbers_a_value(self) -> int:
        return max(int(self.core.size), 1)

    def _values(self, rows: list[Array]) -> Array:
        # One mode of the core after the other, from the last, is summed away: (..., entries).
        products = np.tensordot(self.core, rows[-1], axes=(-1, 1))
        for factor_rows in reversed(rows[:-1]):
            products = np.einsum("...rn,nr->...n", products, factor_rows)
        return products

    def to_pyttb(self) -> Any:
        """Return a ``pyttb.ttensor`` with copies of the arrays."""
        from gpualto.interop.pyttb import to_ttensor

        return to_ttensor(self)

    def to_tensorly(self) -> Any:
        """Return a ``tensorly.tucker_tensor.TuckerTensor`` of the same arrays."""
        from gpualto.interop.tensorly import to_tucker_tensor

        return to_tucker_tensor(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model with its labels and history to a ``.npz`` file, whole or not at all."""
        from gpualto.io.npz import write_tucker

        write_tucker(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TuckerModel:
        """Read a model that `save` wrote.

        Raises
        ------
        ValueError
            If the file is damaged or not a Tucker model.
        """
        from gpualto.io.npz import read_tucker

        return read_tucker(path)


def multiply_along(dense: Array, matrix: Array, mode: int) -> Array:
    """Return the product of a dense array with a matrix along a mode, which gets the length of its rows."""
    return np.moveaxis(np.tensordot(matrix, dense, axes=(1, mode)), 0, mode)
