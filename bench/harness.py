"""The contest: several ways to do the same work, checked against each other, then timed in alternation.

On a machine whose speed drifts, ratios mean something only between runs that alternate (A B A B). So every
contestant runs once in each round, and a ratio is one of medians over the rounds of a single run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from gpualto._arrays import Array, blocks
from gpualto._optional import MissingPackageError

_MOST_OF_MESSAGE = 100


class UnavailableError(Exception):
    """A peer cannot take part; the message says why."""


class OwnTime(float):
    """Seconds that the work measured itself: returned by a run, they count in place of the time it took."""


@dataclass(frozen=True)
class Timing:
    """Seconds that each timed run took."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.seconds)

    @property
    def minimum(self) -> float:
        """The fastest one."""
        return min(self.seconds)


@dataclass(frozen=True, eq=False)
class Contestant:
    """One way to do the work, that has done it once already: checked, and warm.

    Parameters
    ----------
    name : str
    run : callable
        What is timed.
    difference : float, optional
        How far its result is from that of the reference; None where there is nothing to compare, because
        it is the reference or a part of its work.
    tolerance : float
        The largest difference with which it counts as the same work.
    figures : callable
        What to report for a number of seconds, by name.
    share : float
        How much of the work it does. Its times are reported as if it had done all of it.
    """

    name: str
    run: Callable[[], object]
    difference: float | None = None
    tolerance: float = 0.0
    figures: Callable[[float], dict[str, float]] = lambda seconds: {"ms": 1e3 * seconds}
    share: float = 1.0


@dataclass(frozen=True)
class Result:
    """What came out for one contestant: its times, or a note that says why there are none.

    `ratio` is its median over that of the first contestant: above one is slower.
    """

    name: str
    timing: Timing | None = None
    ratio: float | None = None
    difference: float | None = None
    figures: dict[str, float] = field(default_factory=dict)
    note: str = ""
    wrong: bool = False

    def record(self) -> dict[str, Any]:
        """Return the result for a JSON file."""
        return {
            "name": self.name,
            **self.figures,
            "ratio": self.ratio,
            "difference": None if self.wrong else self.difference,
            "seconds": list(self.timing.seconds) if self.timing else [],
            "note": self.note,
        }


def contest(
    ours: Sequence[Contestant],
    peers: Mapping[str, Callable[[], Contestant]],
    repeats: int,
    budget: float = math.inf,
) -> list[Result]:
    """Let contestants do the same work in alternation.

    Parameters
    ----------
    ours : sequence of Contestant
        The first one is what the others are compared with.
    peers : mapping of callables
        By name, what makes a peer ready. A peer that is not installed, fails, or has another result
        is not timed; its result says so.
    repeats : int
        Rounds.
    budget : float
        Seconds after which a contestant runs no more; it runs once at least.
    """
    excluded: list[Result] = []
    ready = list(ours)
    for name, prepare in peers.items():
        try:
            ready.append(prepare())
        except MissingPackageError:
            excluded.append(Result(name, note="not installed"))
        except UnavailableError as error:
            excluded.append(Result(name, note=str(error)))
        except Exception as error:  # a peer's failure is a result, not ours to stop for
            message = " ".join(str(error).split())[:_MOST_OF_MESSAGE]
            excluded.append(Result(name, note=f"fails: {type(error).__name__}: {message}"))
    right = [entry for entry in ready if entry is ours[0] or _is_right(entry)]
    wrong = [
        Result(entry.name, difference=entry.difference, note="not timed: another result", wrong=True)
        for entry in ready
        if entry not in right
    ]
    timings = measure({entry.name: entry.run for entry in right}, repeats, warmups=0, budget=budget)
    reference = timings[ours[0].name].median
    return [*(_result(entry, timings[entry.name], reference) for entry in right), *wrong, *excluded]


def measure(
    runs: Mapping[str, Callable[[], object]],
    repeats: int,
    *,
    warmups: int = 1,
    budget: float = math.inf,
) -> dict[str, Timing]:
    """Time functions in alternation, each once a round.

    Examples
    --------
    >>> timings = measure({"small": lambda: sum(range(10)), "large": lambda: sum(range(1000))}, repeats=3)
    >>> len(timings["large"].seconds)
    3
    """
    for _ in range(warmups):
        for run in runs.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            if sum(seconds[name]) <= budget:
                seconds[name].append(_time(run))
    return {name: Timing(tuple(times)) for name, times in seconds.items()}


def relative_difference(actual: Array, desired: Array) -> float:
    """Return the largest difference of two arrays relative to the largest entry of the second.

    Without a copy of either; infinite where the shapes differ, NaN where an entry is.
    """
    if actual.shape != desired.shape:
        return math.inf
    difference = largest = 0.0
    for block in blocks(len(desired)):
        piece = np.asarray(desired[block], np.float64)
        # Maxima of NumPy, unlike those of Python, keep a NaN.
        difference = float(np.maximum(difference, abs(actual[block] - piece).max(initial=0)))
        largest = float(np.maximum(largest, abs(piece).max(initial=0)))
    return difference / largest if largest else difference


def _time(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - began
    # The result is kept until here: freeing it is not part of the work.
    return float(result) if isinstance(result, OwnTime) else seconds


def _is_right(entry: Contestant) -> bool:
    return entry.difference is None or entry.difference <= entry.tolerance


def _result(entry: Contestant, timing: Timing, reference: float) -> Result:
    whole = timing.median / entry.share
    return Result(entry.name, timing, whole / reference, entry.difference, entry.figures(whole))
