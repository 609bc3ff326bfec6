"""How many components: fit, core consistency and split-half match for several ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpualto._arrays import LARGEST_EXACT_INTEGER, array_module, as_mode, mover_to
from gpualto.decomposition.als import cp_als
from gpualto.decomposition.initial import as_generator
from gpualto.decomposition.model import CPModel
from gpualto.decomposition.running import check_positive
from gpualto.ops.ttm_chain import ttm_chain
from gpualto.tensor import Tensor, require_tensor

_MOST_CORE_ENTRIES = 1 << 22


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

    def __str__(self) -> str:
        """Return a table."""
        rows = zip(self.ranks, self.fits, self.core_consistencies, self.match_scores, strict=True)
        lines = ["rank     fit  core consistency  split-half match"]
        lines += [f"{r:>4}  {fit:.4f}  {core:>14.0f} %  {match:>16.2f}" for r, fit, core, match in rows]
        return "\n".join(lines)


Fit = Callable[..., CPModel]
"""`cp_als` or another method with its arguments."""


def rank_scan(
    X: Tensor,
    ranks: Sequence[int],
    *,
    method: Fit = cp_als,
    n_splits: int = 1,
    split: int | Literal["counts"] | None = None,
    n_restarts: int = 3,
    random_state: Any = None,
    progress: bool = True,
    **options: Any,
) -> RankScan:
    """Fit models of several ranks, and measure what speaks for each.

    The fit only rises with the rank. Core consistency falls when components no longer stand for themselves;
    the split-half match when they are not found again in other data.

    Parameters
    ----------
    X : Tensor
    ranks : sequence of int
    method : callable
        `cp_als`, `cp_nn`, `cp_apr`, `cp_complete` or `cp_opt`.
    n_splits : int
        How often the data are split into random halves; 0 leaves the match out.
    split : int or "counts", optional
        What is split: the indices of a mode, and the two models are compared in all other modes; or the
        counts, each event by itself, which leaves two independent tensors of the same expectation. By
        default the counts, where all values are counts, else the longest mode.
    n_restarts : int
        Random starts of every fit.
    random_state : int, Generator or RandomState, optional
    progress : bool
        Whether a bar is drawn on standard error, if that is a terminal.
    options
        Passed to `method`.

    Returns
    -------
    RankScan
        Print it, or draw it by `gpualto.plot.plot_rank_scan`.

    Raises
    ------
    ValueError
        If there are no ranks, one is not positive, the mode to be split has a single index, or the values to
        be split are not counts.

    References
    ----------
    Bro, Kiers: A new efficient method for determining the number of components in PARAFAC models.
    J. Chemometrics 17(5), 2003.

    Examples
    --------
    >>> from gpualto import datasets
    >>> scan = rank_scan(datasets.flights(), [1, 2], random_state=0)
    >>> scan.ranks, [round(fit, 3) for fit in scan.fits]
    ((1, 2), [0.105, 0.157])
    """
    require_tensor(X)
    if len(ranks) == 0:
        raise ValueError("ranks: there are none")
    for rank in ranks:
        check_positive("ranks", rank)
    generator = as_generator(random_state)
    mode = _what_to_split(X, split) if n_splits else None
    halves = [_halves(X, mode, generator) for _ in range(n_splits)]

    def fit(part: Tensor, rank: int) -> CPModel:
        return method(part, rank, n_restarts=n_restarts, random_state=generator, **options)

    models, cores, matches = [], [], []
    for rank in _with_progress(ranks, progress):
        models.append(fit(X, rank))
        cores.append(core_consistency(X, models[-1]))
        scores = [_match(fit(one, rank), fit(other, rank), mode) for one, other in halves]
        matches.append(float(np.mean(scores)) if scores else math.nan)
    fits = tuple(float(model.fit or 0.0) for model in models)
    return RankScan(tuple(map(int, ranks)), fits, tuple(cores), tuple(matches), tuple(models))


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


def _what_to_split(X: Tensor, split: int | str | None) -> int | None:
    """Return the mode whose indices are split, or None where counts are."""
    values = X.values
    are_counts = bool(
        ((values >= 0) & (values <= LARGEST_EXACT_INTEGER) & (values == np.floor(values))).all()
    )
    if split == "counts" and not are_counts:
        raise ValueError("split: the values are not all counts; split a mode instead")
    if split == "counts" or (split is None and are_counts):
        return None
    if isinstance(split, str):
        raise ValueError(f'split: expected a mode or "counts", got {split!r}')
    mode = int(np.argmax(X.shape)) if split is None else as_mode(split, X.ndim)
    if X.shape[mode] < 2 or X.ndim < 2:
        raise ValueError(f"split: mode {mode} of {X.shape[mode]} indices cannot be halved")
    return mode


def _halves(X: Tensor, mode: int | None, generator: Any) -> tuple[Tensor, Tensor]:
    """Return two tensors that share out the indices of a mode, or the counts, at random."""
    xp = array_module(X.values)
    if mode is None:
        counts = mover_to("cpu")(X.values).astype(np.int64)
        first = xp.asarray(generator.binomial(counts, 0.5).astype(X.dtype))
        return X.with_values(first).prune(), X.with_values(X.values - first).prune()
    order = generator.permutation(X.shape[mode])
    is_first = np.zeros(X.shape[mode], bool)
    is_first[order[: len(order) // 2]] = True
    chosen = xp.asarray(is_first)[X.coords[mode]]
    return X.select(chosen), X.select(~chosen)


def _match(one: CPModel, other: CPModel, split_mode: int | None) -> float:
    """Return the factor match score of two models in all modes but one that was split."""
    kept = [mode for mode in range(one.ndim) if mode != split_mode]
    left, right = (CPModel(m.weights, tuple(m.factors[mode] for mode in kept)) for m in (one, other))
    return left.score(right, weight_penalty=False)[0]


def _with_progress(ranks: Sequence[int], progress: bool) -> Any:
    if not progress:
        return ranks
    from tqdm import tqdm

    return tqdm(ranks, desc="ranks", disable=None, leave=False)
