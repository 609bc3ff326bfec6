"""A fit with a progress bar that survives Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any, Self

from tqdm import tqdm

from gpualto.decomposition.methods import METHODS
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.words import amount
from gpualto.tensor import Tensor


class FitInterruptedError(Exception):
    """Ctrl-C was pressed; `model` is the best that a complete sweep had reached, None before the first."""

    def __init__(self, model: CPModel | None) -> None:
        super().__init__("interrupted")
        self.model = model


class Progress:
    """A bar of sweeps with fit, change and time; nothing is drawn where standard error is not a terminal."""

    def __init__(self, sweeps: int) -> None:
        self.best: CPModel | None = None
        self._bar = tqdm(total=sweeps, unit="sweep", disable=None, leave=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def __call__(self, model: CPModel) -> None:
        """Take note of a model after a sweep: the callback of `cp_als`."""
        if self.best is None or (model.fit or 0.0) >= (self.best.fit or 0.0):
            self.best = model
        change = f"{abs(model.fits[-1] - model.fits[-2]):.1e}" if model.n_iter > 1 else "-"
        self._bar.set_postfix_str(f"fit {model.fit:.4f}, change {change}", refresh=False)
        self._bar.update()


def check_options(method: str, names: Iterable[str]) -> None:
    """Raise `ValueError` for an option that a method does not have, naming those that have it."""
    for name in names:
        if name not in signature(METHODS[method]).parameters:
            others = [other for other, function in METHODS.items() if name in signature(function).parameters]
            raise ValueError(f"{name}: is not for --method {method}, only for {', '.join(others)}")


def fit(X: Tensor, rank: int, method: str = "als", **options: Any) -> CPModel:
    """Return the CP model of a tensor.

    Raises
    ------
    FitInterruptedError
        After Ctrl-C.
    """
    function = METHODS[method]
    sweeps = options.get("n_iter_max", signature(function).parameters["n_iter_max"].default)
    with Progress(sweeps * options.get("n_restarts", 1)) as progress:
        try:
            return function(X, rank, callback=progress, **options)
        except KeyboardInterrupt:
            raise FitInterruptedError(progress.best) from None


def describe(model: CPModel) -> str:
    """Return a line on how a fit ended."""
    seconds = model.times[-1] if model.times else 0.0
    end = "converged" if model.converged else "not converged"
    measures = "".join(f", {name} {amount(series[-1])}" for name, series in model.measures.items() if series)
    how = f"{end} after {model.n_iter} sweeps, {seconds:.2f} s"
    return f"rank {model.rank}: fit {model.fit:.6f}{measures}, {how}"
