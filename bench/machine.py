"""The machine that a benchmark runs on: what it is, and how fast it copies."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from gpualto.partition import segment_bounds

COPY_BYTES = 512 * 2**20
"""Size of the array that is copied: beyond any cache."""

_COPIES = 7

_PACKAGES = (
    "gpualto", "numpy", "scipy", "numba", "pyarrow", "cupy-cuda12x", "cupy-cuda13x",
    "pyttb", "tensorly", "sparse", "pandas", "polars",
)  # fmt: skip

_BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Machine:
    """What a figure depends on besides the code."""

    cpu: str
    cores: int
    memory_bytes: int
    system: str
    python: str
    packages: dict[str, str]
    blas: str
    blas_threads: str
    numba_threads: str
    load_average: float | None
    copy_bytes_per_second: float

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        load = "unknown" if self.load_average is None else f"{self.load_average:.2f}"
        memory = f"{self.memory_bytes / 2**30:.0f} GiB"
        return "\n".join(
            [
                f"machine  {self.cpu}, {self.cores} cores, {memory}; {self.system}",
                f"software Python {self.python}, {packages}",
                f"threads  BLAS ({self.blas}): {self.blas_threads}; Numba: {self.numba_threads}",
                f"load     {load} at the start",
                f"copy     {self.copy_bytes_per_second / 1e9:.1f} GB/s read + written, by all cores",
            ]
        )


def inspect_machine() -> Machine:
    """Describe this machine and measure its copy bandwidth."""
    return Machine(
        cpu=_cpu_model(),
        cores=_cores(),
        memory_bytes=memory_bytes(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: number for name in _PACKAGES if (number := _version(name))},
        blas=_blas(),
        blas_threads=_threads(_BLAS_VARIABLES),
        numba_threads=_threads(("NUMBA_NUM_THREADS",)),
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        copy_bytes_per_second=copy_bandwidth(COPY_BYTES, _cores()),
    )


def copy_bandwidth(nbytes: int, nthreads: int) -> float:
    """Return the bytes read and written per second when threads copy parts of an array to another one.

    The median of several copies, as for whatever is held against it.
    """
    source = np.ones(nbytes // 8)
    target = np.zeros_like(source)
    parts = [slice(start, stop) for start, stop in pairwise(segment_bounds(source.size, nthreads))]
    seconds = []
    with ThreadPoolExecutor(nthreads) as pool:
        for _ in range(_COPIES):
            began = time.perf_counter()
            for _ in pool.map(lambda part: np.copyto(target[part], source[part]), parts):
                pass
            seconds.append(time.perf_counter() - began)
    return 2 * source.nbytes / median(seconds)


def memory_bytes() -> int:
    """Return the size of the main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_model() -> str:
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> str:
    """Return name and version of the BLAS that NumPy was built with."""
    config: dict[str, dict[str, dict[str, str]]] = np.show_config(mode="dicts")  # type: ignore[assignment]
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _threads(variables: Sequence[str]) -> str:
    """Return what the environment asks for; without that, these packages take as many threads as cores."""
    asked = [f"{name}={os.environ[name]}" for name in variables if name in os.environ]
    return ", ".join(asked) or f"{_cores()}, the default"
