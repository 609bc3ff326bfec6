"""Named ranges on a profiler's time line, by NVTX where it is installed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def annotate(name: str) -> AbstractContextManager[Any]:
    """Return a context manager that shows its body under `name` in NVIDIA's profilers."""
    nvtx = _nvtx()
    return nullcontext() if nvtx is None else nvtx.annotate(name, domain="gpualto")


@cache
def _nvtx() -> Any:
    try:
        import nvtx  # absent on macOS, and on GPU machines that have no wheels
    except ImportError:
        return None
    return nvtx
