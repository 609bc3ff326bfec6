"""Programs that are not Python packages: run on a written ``.tns`` file, by the times that they print.

Paths to them come from the command line. ``--alto`` names the folder of a build of IntelLabs/ALTO with its
programs ``cpd64`` and ``cpd128``, ``--splatt`` the program of a build of ShadenSmith/splatt. Neither counts
reading the file; ALTO does not count zeroing the output either, and gpualto does.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.harness import Contestant, OwnTime, UnavailableError, measure
from bench.tensors import Entries
from gpualto import AltoEncoding, Tensor, write

_ITERATIONS = 6
"""Repetitions within a run; the first warms up."""

_ALTO_MODES = 5

Figures = Callable[[float], dict[str, float]]


@dataclass(frozen=True)
class Job:
    """What a program is asked to do."""

    file: Path
    shape: tuple[int, ...]
    rank: int
    threads: int


@contextmanager
def written(entries: Entries, wanted: bool) -> Iterator[Path]:
    """Write nonzeros to a file for as long as programs read it; nothing is written if none does."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "tensor.tns")
        if wanted:
            write(path, Tensor.from_coo(entries.coords, entries.values, entries.shape))
        yield path


def alto_mttkrp(folder: Path, job: Job) -> OwnTime:
    """Return ALTO's seconds for the MTTKRP of all modes."""
    text = _run_alto(folder, job, "-m", str(_ITERATIONS), "-p")
    return OwnTime(_numbers(text, r"ALTO runtime:\s+([\d.]+)")[0] / _ITERATIONS)


def alto_sweep(folder: Path, job: Job) -> OwnTime:
    """Return ALTO's seconds for a sweep of CP-ALS."""
    text = _run_alto(folder, job, "-m", str(_ITERATIONS), "-e", "1e-30")
    return OwnTime(median(_numbers(text, r"time\(for MTTKRP\):\s+([\d.]+)")[1:]))


def splatt_mttkrp(program: Path, job: Job) -> OwnTime:
    """Return SPLATT's seconds for the MTTKRP of all modes, with a CSF for each mode."""
    text = _run_splatt(program, job)
    modes = range(1, len(job.shape) + 1)
    return OwnTime(sum(median(_numbers(text, rf"MTTKRP mode {m}:\s+avg: ([\d.]+)s")[1:]) for m in modes))


def splatt_sweep(program: Path, job: Job) -> OwnTime:
    """Return SPLATT's seconds for a sweep of CP-ALS, with a CSF for each mode."""
    return OwnTime(median(_numbers(_run_splatt(program, job), r"its =\s+\d+ \(([\d.]+)s\)")[1:]))


def repeated(work: Callable[[], object]) -> OwnTime:
    """Do work as often as the programs do, in a row, and return the median after the first time."""
    return OwnTime(measure({"": work}, _ITERATIONS - 1)[""].median)


def external(
    name: str, run: Callable[[Path, Job], OwnTime], program: Path, job: Job, figures: Figures
) -> Contestant:
    """Run a program once to see whether it works; that run counts as the first that is timed."""
    done = [run(program, job)]
    return Contestant(name, lambda: done.pop() if done else run(program, job), figures=figures)


def _run_alto(folder: Path, job: Job, *arguments: str) -> str:
    if len(job.shape) > _ALTO_MODES:
        raise UnavailableError(f"not run: takes at most {_ALTO_MODES} modes")
    program = folder / ("cpd64" if AltoEncoding(job.shape).nbits <= 64 else "cpd128")
    return _run(job, str(program), "-i", str(job.file), "--rank", str(job.rank), *arguments)


def _run_splatt(program: Path, job: Job) -> str:
    options = ["--csf=all", "--nowrite", "-v", "-v", "--tol=0", "--seed=1"]
    counts = ["-i", str(_ITERATIONS), "-r", str(job.rank), "-t", str(job.threads)]
    return _run(job, str(program), "cpd", *options, *counts, str(job.file))


def _run(job: Job, *command: str) -> str:
    threads = {name: str(job.threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    try:
        env = {**os.environ, **threads}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(f"fails: {error}") from error
    return done.stdout


def _numbers(text: str, pattern: str) -> list[float]:
    found = [float(number) for number in re.findall(pattern, text)]
    if not found:
        raise UnavailableError(f"prints no line like {pattern!r}")
    return found
