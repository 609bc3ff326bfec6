"""A fit with a progress bar that survives Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, Self

from tqdm import tqdm

from gpualto.decomposition.als import cp_als
from gpualto.decomposition.completion import cp_complete
from gpualto.decomposition.gradient import cp_opt
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.nonnegative import cp_nn
from gpualto.decomposition.poisson import cp_apr
from gpualto.tensor import Tensor

METHODS: dict[str, Callable[..., CPModel]] = {
    "als": cp_als,
    "nn": cp_nn,
    "apr": cp_apr,
    "complete": cp_complete,
    "opt": cp_opt,
}
"""What methods are called on the command line."""


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


def fit(X: Tensor, rank: int, method: str = "als", **options: Any) -> CPModel:
    """Return the CP model of a tensor.

    Raises
    ------
    ValueError
        If the method does not have an option.
    FitInterruptedError
        After Ctrl-C.
    """
    function = METHODS[method]
    parameters = signature(function).parameters
    for name in options:
        if name not in parameters:
            raise ValueError(f"{name}: is not for --method {method}")
    sweeps = options.get("n_iter_max", parameters["n_iter_max"].default)
    with Progress(sweeps * options.get("n_restarts", 1)) as progress:
        try:
            return function(X, rank, callback=progress, **options)
        except KeyboardInterrupt:
            raise FitInterruptedError(progress.best) from None


def describe(model: CPModel, path: Path | None = None) -> str:
    """Return a line on how a fit ended, and where its model went."""
    seconds = model.times[-1] if model.times else 0.0
    end = "converged" if model.converged else "stopped"
    where = f"; wrote {path}" if path else ""
    measures = "".join(f", {name} {series[-1]:.6g}" for name, series in model.measures.items())
    how = f"{end} after {model.n_iter} sweeps, {seconds:.2f} s"
    return f"rank {model.rank}: fit {model.fit:.6f}{measures}, {how}{where}"
