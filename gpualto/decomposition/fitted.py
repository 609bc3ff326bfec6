"""What models of all kinds have: factors, labels, and the history of their fit."""

from __future__ import annotations

from collections.abc import Mapping

from gpualto._arrays import Array, device_of
from gpualto.labels import ModeLabels


class Fitted:
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

    def fit_text(self) -> str:
        """Return how well it fits and after how many sweeps, as its repr says it."""
        fit = "" if self.fit is None else f", fit={self.fit:.6f}"
        return fit + (f" after {self.n_iter} sweeps" if self.fits else "")
