"""Named ranges: on a profiler's time line by NVTX where it is installed, and in a table of one's own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

_active: Profile | None = None


@dataclass
class Profile:
    """Seconds spent in, and number of visits to, each named range; ranges do not nest in what is counted."""

    seconds: dict[str, float] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, seconds: float) -> None:
        """Count one visit."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.visits[name] = self.visits.get(name, 0) + 1

    def __str__(self) -> str:
        """Return a table, the longest first."""
        total = sum(self.seconds.values()) or 1.0
        width = max(map(len, self.seconds), default=0)
        lines = [
            f"{name:<{width}}  {seconds:9.3f} s  {seconds / total:6.1%}  {self.visits[name]:7,} times"
            for name, seconds in sorted(self.seconds.items(), key=lambda item: -item[1])
        ]
        return "\n".join(lines)


@contextmanager
def profiled() -> Iterator[Profile]:
    """Collect the times of all ranges that are entered meanwhile.

    Examples
    --------
    >>> with profiled() as profile, annotate("work"):
    ...     pass
    >>> profile.visits
    {'work': 1}
    """
    global _active  # noqa: PLW0603
    before, _active = _active, Profile()
    try:
        yield _active
    finally:
        _active = before


@contextmanager
def annotate(name: str) -> Iterator[None]:
    """Show the body under `name` in NVIDIA's profilers, and count its time where `profiled` listens."""
    nvtx = _nvtx()
    if nvtx is not None:
        nvtx.push_range(name, domain="gpualto")
    began = time.perf_counter()
    try:
        yield
    finally:
        if _active is not None:
            _active.add(name, time.perf_counter() - began)
        if nvtx is not None:
            nvtx.pop_range(domain="gpualto")


@cache
def _nvtx() -> Any:
    try:
        import nvtx  # absent on macOS, and on GPU machines that have no wheels
    except ImportError:
        return None
    return nvtx
