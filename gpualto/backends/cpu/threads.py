"""The threads that compiled code runs on: as many as Numba is told to use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Any

import numba


def count() -> int:
    """Return the number of threads: ``numba.get_num_threads()``."""
    return int(numba.get_num_threads())


def run(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], kept: object = None) -> list[Any]:
    """Call a function once for each tuple of arguments, at the same time, and return the results in order.

    The function has to let go of the interpreter's lock, as compiled code and NumPy's loops do.

    Parameters
    ----------
    function : callable
    arguments : sequence of tuples
    kept : object
        What the arguments point to by address. It lives until every call has ended, and so does this one:
        after Ctrl-C as well, no thread is left behind writing to memory that is gone.
    """
    workers = count()
    if len(arguments) == 1 or workers == 1:
        return [function(*items) for items in arguments]
    calls = [_pool(workers).submit(_call, function, items, kept) for items in arguments]
    try:
        return [call.result() for call in calls]
    finally:
        wait(calls)


def _call(function: Callable[..., Any], items: tuple[Any, ...], kept: object) -> Any:
    return function(*items)


def split(size: int, least: int = 1 << 16) -> list[tuple[int, int]]:
    """Return equal ranges, one a thread, fewer where they would be shorter than `least`."""
    pieces = max(min(count(), size // least), 1)
    bounds = [size * piece // pieces for piece in range(pieces + 1)]
    return list(pairwise(bounds))


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="gpualto")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
