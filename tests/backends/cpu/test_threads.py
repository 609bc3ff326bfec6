import subprocess
import sys
import time

import numpy as np
import pytest

from gpualto.backends.cpu import kernels, threads


@pytest.fixture(params=[1, 3])
def workers(request, monkeypatch):
    monkeypatch.setattr(threads, "count", lambda: request.param)
    return request.param


def test_results_come_in_order(workers):
    assert threads.run(lambda a, b: a - b, [(n, 1) for n in range(7)]) == [-1, 0, 1, 2, 3, 4, 5]


def test_a_failure_waits_for_the_others(monkeypatch):
    monkeypatch.setattr(threads, "count", lambda: 3)
    ended = []

    def work(number):
        if number == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        threads.run(work, [(0,), (1,), (2,)])
    assert sorted(ended) == [1, 2]


def test_ranges_cover_everything_once(workers):
    for size in (0, 1, 5, 1000):
        ranges = threads.split(size, least=1)
        assert [number for start, stop in ranges for number in range(start, stop)] == list(range(size))
        assert len(ranges) == max(min(workers, size), 1)
    assert len(threads.split(1000, least=2000)) == 1


def test_without_a_place_on_disk_loops_are_compiled_all_the_same(monkeypatch):
    asked = []

    def njit(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(kernels, "njit", njit)
    assert kernels.compiled(len) is len
    assert asked == [{"nogil": True, "cache": True}, {"nogil": True}]


def test_compiled_code_is_found_on_disk_by_the_next_process(tmp_path):
    script = "\n".join(
        [
            "import numpy as np, gpualto",
            "from gpualto.backends.cpu import kernels",
            "X = gpualto.datasets.flights()",
            "gpualto.mttkrp(X, [np.ones((n, 3)) for n in X.shape], 0)",
            "kernel = kernels.mttkrp_kernel(24, 24, np.dtype(np.float64))",
            "print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))",
        ]
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [["0", "1"], ["1", "0"]]


def test_factors_that_are_not_aligned_are_copied():
    from gpualto.backends import cpu

    raw = np.zeros(8 * 16 + 1, np.uint8)
    odd = raw[1:].view(np.float64).reshape(2, 8)
    assert cpu.as_rows(odd, np.dtype(np.float64), nnz=1) is not odd
