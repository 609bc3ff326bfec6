"""How many components: fit, core consistency and split-half match for several ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpualto._arrays import array_module
from gpualto.decomposition.completion import HELD_OUT_ERROR, cp_complete, parts
from gpualto.decomposition.halves import Split, halves_of, match_of_halves, what_to_split
from gpualto.decomposition.initial import as_generator
from gpualto.decomposition.methods import Method, method_of
from gpualto.decomposition.model import CPModel, require_cp_model
from gpualto.decomposition.running import check_positive
from gpualto.decomposition.words import amount
from gpualto.labels import check_order
from gpualto.ops.ttm_chain import ttm_chain
from gpualto.tensor import Tensor, require_tensor

_HELD_OUT_SHARE = 0.1
_MOST_CORE_ENTRIES = 1 << 22
_LOWEST_PERCENT = -100
"""Core consistencies below are not told apart in print."""


@dataclass(frozen=True)
class RankScan:
    """What a scan of ranks found, an entry a rank.

    Parameters
    ----------
    ranks : tuple of int
    fits : tuple of float
    core_consistencies : tuple of float
        In percent: see `core_consistency`; nan where the core would be too large.
    match_scores : tuple of float
        Split-half factor match scores in [0, 1]; nan without splits.
    models : tuple of CPModel
    """

    ranks: tuple[int, ...]
    fits: tuple[float, ...]
    core_consistencies: tuple[float, ...]
    match_scores: tuple[float, ...]
    models: tuple[CPModel, ...]

    @property
    def held_out_errors(self) -> tuple[float, ...]:
        """Root mean square errors at entries that were held out, for `cp_complete`; nan of other methods."""
        return tuple(model.measures.get(HELD_OUT_ERROR, (math.nan,))[-1] for model in self.models)

    def __str__(self) -> str:
        """Return a table."""
        is_complete = any(map(math.isfinite, self.held_out_errors))
        title = HELD_OUT_ERROR if is_complete else "core consistency"
        numbers = map(amount, self.held_out_errors) if is_complete else map(_percent, self.core_consistencies)
        rows = zip(self.ranks, self.fits, numbers, self.match_scores, strict=True)
        lines = [f"rank     fit  {title:>16}  split-half match"]
        lines += [f"{r:>4}  {fit:.4f}  {number:>16}  {_score(match):>16}" for r, fit, number, match in rows]
        return "\n".join(lines)


def _percent(core: float) -> str:
    if math.isnan(core):
        return "-"
    return f"below {_LOWEST_PERCENT} %" if core < _LOWEST_PERCENT else f"{core:.0f} %"


def _score(match: float) -> str:
    return "-" if math.isnan(match) else f"{match:.2f}"


def rank_scan(
    X: Tensor,
    ranks: Sequence[int],
    *,
    method: Method | str = "als",
    n_splits: int = 1,
    split: Split = None,
    n_restarts: int = 3,
    random_state: Any = None,
    progress: bool = True,
    callback: Callable[[RankScan], object] | None = None,
    **options: Any,
) -> RankScan:
    """Fit models of several ranks, and measure what speaks for each.

    The fit only rises with the rank. Core consistency falls when components no longer stand for themselves;
    the split-half match when they are not found again in other data.

    Parameters
    ----------
    X : Tensor
    ranks : sequence of int
    method : {"als", "nn", "apr", "complete", "opt"} or callable
        That of the model which the rank is for: `cp_apr` for counts and so on.
    n_splits : int
        How often the data are split into random halves; 0 leaves the match out.
    split : int, "counts" or "entries", optional
        What is split: the indices of a mode, and the two models are compared in all other modes; or the
        counts, each event by itself, which leaves two independent tensors of the same expectation; or, for
        `cp_complete`, the stored entries. By default the entries for `cp_complete`, else the counts where all
        values are counts, else the longest mode.
    n_restarts : int
        Random starts of every fit.
    random_state : int, Generator or RandomState, optional
    progress : bool
        Whether a bar is drawn on standard error, if that is a terminal.
    callback : callable, optional
        Called after each rank with what was found so far; a true result stops.
    options
        Passed to `method`.

    Returns
    -------
    RankScan
        Print it, or draw it by `gpualto.plot.plot_rank_scan`.

    Raises
    ------
    ValueError
        If there are no ranks, one is not positive, there is no such method, or what is to be split cannot be.

    Notes
    -----
    Core consistency is left out for `cp_complete`: it would take for zero what is unknown. The error at
    entries held out stands in its place: a tenth of them, or what `held_out` says, the same for all ranks.

    References
    ----------
    Bro, Kiers: A new efficient method for determining the number of components in PARAFAC models.
    J. Chemometrics 17(5), 2003. Neufeld, Dharamshi, Gao, Witten: Data thinning for convolution-closed
    distributions. JMLR 25, 2024, on splitting counts.

    Examples
    --------
    >>> from gpualto import datasets
    >>> scan = rank_scan(datasets.flights(), [1, 2], random_state=0)
    >>> scan.ranks, [round(fit, 3) for fit in scan.fits]
    ((1, 2), [0.105, 0.157])
    """
    require_tensor(X)
    if not isinstance(ranks, (Sequence, np.ndarray)):
        raise TypeError(f"ranks: expected a sequence of integers, got {ranks!r}")
    if n_splits != 0:
        check_positive("n_splits", n_splits)
    if len(ranks) == 0:
        raise ValueError("ranks: there are none")
    for rank in ranks:
        check_positive("ranks", rank)
    generator = as_generator(random_state)
    function = method_of(method)
    is_complete = _fills_gaps(function)
    if is_complete:
        X, options = _held_out(X, function, generator, options)
    halves: list[tuple[Tensor, Tensor]] = []
    mode = None
    if n_splits:
        what = what_to_split(X, split, is_complete)
        mode = what if isinstance(what, int) else None
        halves = [halves_of(X, what, generator) for _ in range(n_splits)]

    def fit(part: Tensor, rank: int) -> CPModel:
        return function(part, rank, n_restarts=n_restarts, random_state=generator, **options)

    scan = RankScan((), (), (), (), ())
    for rank in _with_progress(ranks, progress):
        model = fit(X, rank)
        core = math.nan if is_complete else core_consistency(X, model)
        scores = [match_of_halves(fit(one, rank), fit(other, rank), mode) for one, other in halves]
        match = float(np.mean(scores)) if scores else math.nan
        scan = RankScan(
            (*scan.ranks, int(rank)),
            (*scan.fits, float(model.fit or 0.0)),
            (*scan.core_consistencies, core),
            (*scan.match_scores, match),
            (*scan.models, model),
        )
        if callback is not None and callback(scan):
            break
    return scan


def _held_out(
    X: Tensor, method: Method, generator: Any, options: dict[str, Any]
) -> tuple[Tensor, dict[str, Any]]:
    """Return the entries to fit to, and options that hold out the same others at every rank."""
    given = {**getattr(method, "keywords", {}), **options}  # those of a functools.partial too
    share = given.get("held_out", _HELD_OUT_SHARE)
    if isinstance(share, Tensor) or share == 0:
        return X, options
    fitted, held_out = parts(X, share, generator)
    return fitted, {**options, "held_out": held_out}


def _fills_gaps(method: Method) -> bool:
    """Return whether a method takes what is not stored for unknown."""
    return getattr(method, "func", method) is cp_complete  # also of a functools.partial


def core_consistency(X: Tensor, model: CPModel) -> float:
    """Return how far the components of a model stand for themselves, in percent: CORCONDIA.

    The core that fits the factors best by least squares is compared with that of a CP model, which has ones
    on its diagonal and zeros elsewhere. 100 says that they agree; below about 50, and when negative,
    components mix.

    Parameters
    ----------
    X : Tensor
    model : CPModel

    Returns
    -------
    float
        nan where the core would have more than four million entries.

    References
    ----------
    Bro, Kiers: A new efficient method for determining the number of components in PARAFAC models.
    J. Chemometrics 17(5), 2003, equation 6.

    Examples
    --------
    >>> from gpualto import cp_als, datasets
    >>> X = datasets.flights()
    >>> round(core_consistency(X, cp_als(X, rank=1, random_state=0)))
    100
    """
    require_tensor(X)
    require_cp_model(model)
    check_order(X.labels, model.labels)
    rank, ndim = model.rank, model.ndim
    if rank**ndim > _MOST_CORE_ENTRIES:
        return math.nan
    xp = array_module(X.values)
    shares = model.normalize()
    scaled = [factor * shares.weights ** (1 / ndim) for factor in shares.factors]
    inverses = [xp.linalg.pinv(factor.astype(np.float64)) for factor in scaled]
    first = ttm_chain(X, [None, *(inverse.T for inverse in inverses[1:])], 0)
    core = (inverses[0] @ first).reshape((rank,) * ndim)
    diagonal = (xp.arange(rank),) * ndim
    core[diagonal] -= 1
    return 100 * (1 - float(xp.square(core).sum()) / rank)


def _with_progress(ranks: Sequence[int], progress: bool) -> Any:
    if not progress:
        return ranks
    from tqdm import tqdm

    return tqdm(ranks, desc="ranks", disable=None, leave=False)
