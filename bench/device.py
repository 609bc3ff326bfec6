"""All that needs a GPU, in under 8 minutes: whether it is right, and how fast beside the card's limits.

Needs CuPy and a device. Tensors are drawn on the device, with the shapes and numbers of nonzeros of the ALTO
paper where they fit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import cycle, product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import gpualto
from bench.device_limits import Limits, measure_limits, seconds
from bench.harness import UnavailableError
from bench.report import format_table
from bench.tensors import SPECS, Spec
from gpualto._arrays import Array
from gpualto.backends import Fill
from gpualto.backends.cuda.construction import linearize
from gpualto.backends.cuda.plan import STRATEGIES, plan_mode, prepare
from gpualto.backends.cuda.sorting import argsort
from gpualto.io.files import replacing

PAPER_NNZ = {
    "nips": 3_101_609, "uber": 3_309_490, "nell-2": 76_879_419, "enron": 54_202_099,
    "darpa": 28_436_033, "flickr": 112_890_310, "deli": 140_126_181, "nell-1": 143_599_552,
}  # fmt: skip
RANKS = (16, 32)
DTYPES: tuple[Any, ...] = (np.dtype(np.float32), np.dtype(np.float64))
PEER_BYTES = 40 * 2**30
"""Peers that would take more are left out."""

SWEEPS = 5

CHECKED_SHAPES: list[tuple[int, ...]] = [(300, 20, 1000), (50, 60, 70, 8), (2**14,) * 5]
"""Linear indices of 28, 21 and 70 bits."""

CHECKED_RANKS = (7, 16, 64)

Run = Callable[[], Any]


@dataclass
class Report:
    """What came out, as a file will have it."""

    device: dict[str, Any]
    wrong: list[str] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    construction: list[dict[str, Any]] = field(default_factory=list)
    mttkrp: list[dict[str, Any]] = field(default_factory=list)
    cp_als: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all parts and return an exit status: 1 if a result was wrong, 2 without a device."""
    options = _parse(arguments)
    try:
        import cupy
    except ImportError:
        print('CuPy is not installed: pip install "gpualto[cuda13]"', file=sys.stderr)
        return 2
    if not cupy.cuda.is_available():
        print("there is no CUDA device", file=sys.stderr)
        return 2
    deadline = time.monotonic() + options.seconds
    report = Report(describe(cupy))
    print(json.dumps(report.device), flush=True)
    seed = int(time.time()) if options.seed is None else options.seed
    report.wrong = list(check(cupy, seed, options.scale))
    print(f"seed {seed}: wrong: {report.wrong}", flush=True)
    size = max(int(2**32 * options.scale), 2**16)
    limits = measure_limits(cupy, size, max(int(2**24 * options.scale), 2**12), size // 16)
    report.limits = asdict(limits)
    print(limits, flush=True)
    for name in options.tensors:
        if time.monotonic() > deadline:
            report.left_out.append(f"{name}: no time left")
            continue
        try:
            nnz = max(int(PAPER_NNZ[name] * options.scale), 1000)
            measure_tensor(cupy, report, SPECS[name], nnz, limits)
        except cupy.cuda.memory.OutOfMemoryError as error:
            report.left_out.append(f"{name}: {error}")
        cupy.get_default_memory_pool().free_all_blocks()
        _write(options.json, report)
    print(format_report(report))
    _write(options.json, report)
    return int(bool(report.wrong))


def describe(cupy: ModuleType) -> dict[str, Any]:
    """Return the card and the software."""
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return {
        "name": properties["name"].decode(),
        "multiprocessors": properties["multiProcessorCount"],
        "memory_bytes": properties["totalGlobalMem"],
        "l2_bytes": properties["l2CacheSize"],
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "cupy": cupy.__version__,
        "gpualto": gpualto.__version__,
    }


# Is it right? -----------------------------------------------------------------------------------------------


def check(cupy: ModuleType, seed: int, scale: float) -> Iterator[str]:
    """Yield a line for each construction, and each MTTKRP by any strategy, that is not the reference's."""
    rng = np.random.default_rng(seed)
    nnz = max(int(60_000 * min(scale, 1)), 300)
    for shape, dtype in product(CHECKED_SHAPES, DTYPES):
        coords = [rng.integers(0, length, nnz) for length in shape]
        values: Array = rng.standard_normal(nnz).astype(dtype)
        X = gpualto.Tensor.from_coo(coords, values, shape)
        there = gpualto.Tensor.from_coo([cupy.asarray(c) for c in coords], cupy.asarray(values), shape)
        if not _equals(X, there.to_device("cpu")):
            yield f"construction of {shape}, {dtype}"
        for rank in CHECKED_RANKS:
            factors: list[Array] = [rng.standard_normal((n, rank)).astype(dtype) for n in shape]
            yield from _check_mttkrp(cupy, X, factors)


def _equals(X: gpualto.Tensor, other: gpualto.Tensor) -> bool:
    same = all(np.array_equal(a, b) for a, b in zip(X.index, other.index, strict=True))
    return same and np.allclose(X.values, other.values, rtol=1e-5)


def _check_mttkrp(cupy: ModuleType, X: gpualto.Tensor, factors: list[Array]) -> Iterator[str]:
    there = X.to_device("cuda")
    inputs = [cupy.asarray(factor) for factor in factors]
    rank = factors[0].shape[1]
    tolerance = 1e-3 if X.dtype == np.float32 else 1e-10
    for (mode, _, strategy), fill in plan_all(there, (rank,), STRATEGIES):
        out = cupy.full((X.shape[mode], rank), np.nan, X.dtype)
        fill(inputs, out)
        desired = X.mttkrp(factors, mode)
        if not np.allclose(out.get(), desired, rtol=tolerance, atol=tolerance * abs(desired).max()):
            yield f"{strategy} MTTKRP of mode {mode} of {X.shape}, {X.dtype}, rank {rank}"


def plan_all(
    X: gpualto.Tensor, ranks: Sequence[int], strategies: Sequence[str | None]
) -> list[tuple[tuple[int, int, str | None], Fill]]:
    """Return MTTKRPs by mode, rank and strategy, without those whose rows do not fit shared memory.

    Compiled on all cores: a kernel takes about a second.
    """
    jobs = list(product(range(X.ndim), ranks, strategies))
    _plan(X, *jobs[0])  # finds the intervals of segments, once for all
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        fills = pool.map(lambda job: _plan(X, *job), jobs)
    return [(job, fill) for job, fill in zip(jobs, fills, strict=True) if fill is not None]


def _plan(X: gpualto.Tensor, mode: int, rank: int, strategy: str | None) -> Fill | None:
    try:
        return prepare(plan_mode(X, mode, rank, X.dtype, strategy), X, rank, X.dtype)
    except ValueError:
        return None


# How fast is it? --------------------------------------------------------------------------------------------


def measure_tensor(cupy: ModuleType, report: Report, spec: Spec, nnz: int, limits: Limits) -> None:
    """Add construction, MTTKRP and CP-ALS of a tensor to the report, and print them as they come."""
    coords, values = draw(cupy, spec, nnz)
    times = time_construction(cupy, spec, coords, values)
    _add(report.construction, {"tensor": spec.name, "nnz": nnz, **times})
    double = gpualto.Tensor.from_coo(coords, values, spec.shape)
    del coords, values
    for dtype in DTYPES:
        X = double.astype(dtype)
        about = {"tensor": spec.name, "dtype": str(dtype)}
        for row in time_mttkrp(cupy, X, limits):
            _add(report.mttkrp, {**about, **row})
        _add(report.cp_als, {**about, "rank": RANKS[0], "ms_per_sweep": 1e3 * time_sweep(X)})


def draw(cupy: ModuleType, spec: Spec, nnz: int) -> tuple[list[Array], Array]:
    """Return coordinates and values as `bench.tensors.draw` does, on the device; some may be equal."""
    random = cupy.random.default_rng(len(spec.name))
    coords = []
    for length, exponent in zip(spec.shape, spec.skew, strict=True):
        popular = cupy.minimum((random.random(nnz) ** exponent * length).astype(np.int64), length - 1)
        labels = random.random(length).argsort()
        coords.append(labels[popular])
    return coords, 1.0 - random.random(nnz)


def time_construction(cupy: ModuleType, spec: Spec, coords: list[Array], values: Array) -> dict[str, float]:
    """Return milliseconds of packing, of sorting and of all of construction."""
    encoding = gpualto.AltoEncoding(spec.shape)
    index = linearize(encoding, tuple(coords))
    runs = {
        "linearize_ms": lambda: linearize(encoding, tuple(coords)),
        "sort_ms": lambda: argsort(encoding, index),
        "construct_ms": lambda: gpualto.Tensor.from_coo(coords, values, spec.shape),
    }
    return {name: 1e3 * seconds(cupy, run, rounds=3) for name, run in runs.items()}


def time_mttkrp(cupy: ModuleType, X: gpualto.Tensor, limits: Limits) -> Iterator[dict[str, Any]]:
    """Yield, by rank and mode, the time of the strategy that is chosen, of each one forced, and of peers."""
    plans = plan_all(X, RANKS, (None, *STRATEGIES))
    random = cupy.random.default_rng(0)
    for rank in RANKS:
        # Two sets of factors in turn, so that no run finds its own in a cache.
        sets = [[random.random((n, rank)).astype(X.dtype) for n in X.shape] for _ in range(2)]
        for (mode, _, strategy), fill in (plan for plan in plans if plan[0][1] == rank):
            out = cupy.empty((X.shape[mode], rank), X.dtype)
            inputs = cycle(sets)
            took = seconds(cupy, partial(lambda f, i, o: f(next(i), o), fill, inputs, out))
            chosen = plan_mode(X, mode, rank, X.dtype).strategy
            floor = floor_seconds(X, mode, rank, limits)
            row = {"rank": rank, "mode": mode, "by": strategy or f"gpualto ({chosen})", "ms": 1e3 * took}
            yield {**row, "share_of_floor": floor / took}
        for name, peer in PEERS.items():
            for mode in range(X.ndim):
                row = {"rank": rank, "mode": mode, "by": name}
                try:
                    run = peer(cupy, X, sets[0], mode)
                except UnavailableError as error:
                    yield {**row, "ms": None, "note": str(error)}
                    continue
                yield {**row, "ms": 1e3 * seconds(cupy, run, rounds=3)}


def floor_seconds(X: gpualto.Tensor, mode: int, rank: int, limits: Limits) -> float:
    """Return the time below which no MTTKRP by rows can be.

    The larger of two: what has to come from memory once (index, value, factors, output) at the speed of a
    copy, and the factor rows of each nonzero at the speed of the L2 cache.
    """
    row = rank * X.dtype.itemsize
    streamed = X.nbytes + row * sum(X.shape)
    rows = X.nnz * (X.ndim - 1) * row
    return max(streamed / limits.copy, rows / limits.cache)


def time_sweep(X: gpualto.Tensor) -> float:
    """Return the median time of a sweep of CP-ALS, which ends with a read of the fit."""
    times = [time.perf_counter()]
    gpualto.cp_als(
        X,
        RANKS[0],
        n_iter_max=SWEEPS,
        tol=0,
        random_state=0,
        callback=lambda _: times.append(time.perf_counter()),
    )
    return float(np.median(np.diff(times)[1:]))


# What a CuPy user has today ---------------------------------------------------------------------------------


def gather_and_scatter(cupy: ModuleType, X: gpualto.Tensor, factors: list[Array], mode: int) -> Run:
    """Gather factor rows, multiply, and add by ``cupy.add.at``: a row of memory for each nonzero."""
    rank = factors[0].shape[1]
    if 3 * X.nnz * rank * X.dtype.itemsize > PEER_BYTES:
        raise UnavailableError("its rows take too much memory")
    coords = X.coords

    def run() -> Any:
        rows = cupy.repeat(X.values[:, np.newaxis], rank, axis=1)
        for n, factor in enumerate(factors):
            if n != mode:
                rows *= factor[coords[n]]
        out = cupy.zeros((X.shape[mode], rank), X.dtype)
        cupy.add.at(out, coords[mode], rows)
        return out

    return run


def unfold_and_multiply(cupy: ModuleType, X: gpualto.Tensor, factors: list[Array], mode: int) -> Run:
    """Multiply the unfolding, a ``cupyx`` CSR matrix, with the Khatri-Rao product, formed each time."""
    from cupyx.scipy.sparse import csr_matrix

    others = [n for n in range(X.ndim) if n != mode]
    rank, columns = factors[0].shape[1], math.prod(X.shape[n] for n in others)
    if columns >= 2**31 or 2 * columns * rank * X.dtype.itemsize > PEER_BYTES:
        raise UnavailableError("the Khatri-Rao product is too large")
    coords = X.coords
    place = coords[others[0]]
    for n in others[1:]:
        place = place * X.shape[n] + coords[n]
    matrix = csr_matrix((X.values, (coords[mode], place)), shape=(X.shape[mode], columns))

    def run() -> Any:
        product = factors[others[0]]
        for n in others[1:]:
            product = (product[:, np.newaxis] * factors[n][np.newaxis]).reshape(-1, rank)
        return matrix @ product

    return run


PEERS = {"gather, add.at": gather_and_scatter, "cuSPARSE of the unfolding": unfold_and_multiply}


# Reports ----------------------------------------------------------------------------------------------------


def format_report(report: Report) -> str:
    """Return a short table: all modes together, for each tensor, rank and type."""
    header = ["tensor", "type", "rank", "ms", "share of floor", *STRATEGIES, *PEERS, ""]
    rows = []
    for tensor, dtype, rank in dict.fromkeys((r["tensor"], r["dtype"], r["rank"]) for r in report.mttkrp):
        mine = [r for r in report.mttkrp if (r["tensor"], r["dtype"], r["rank"]) == (tensor, dtype, rank)]
        ours = [r for r in mine if r["by"].startswith("gpualto")]
        took = sum(r["ms"] for r in ours)
        floor = sum(r["ms"] * r["share_of_floor"] for r in ours)
        totals = [_total(mine, name, len(ours)) for name in (*STRATEGIES, *PEERS)]
        rows.append([tensor, dtype, str(rank), f"{took:.3g}", f"{floor / took:.2f}", *totals, ""])
    sweeps = [f"{r['tensor']} {r['dtype']}: {r['ms_per_sweep']:.3g} ms a sweep" for r in report.cp_als]
    lines = ["", format_table(header, rows), "", *sweeps, *(f"left out: {line}" for line in report.left_out)]
    return "\n".join(lines)


def _total(rows: list[dict[str, Any]], name: str, modes: int) -> str:
    times = [r["ms"] for r in rows if r["by"] == name and r["ms"] is not None]
    return f"{sum(times):.3g}" if len(times) == modes else "-"


def _add(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    rows.append(row)
    print(json.dumps(row), flush=True)


def _write(path: Path | None, report: Report) -> None:
    if path:
        with replacing(path) as file:
            file.write((json.dumps(asdict(report), indent=1) + "\n").encode())


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.device",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--tensors", nargs="+", choices=PAPER_NNZ, default=list(PAPER_NNZ), metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the nonzeros, and of all sizes")
    parser.add_argument("--seconds", type=float, default=400, help="after which no further tensor is begun")
    parser.add_argument("--seed", type=int, help="of the checks; by default the time")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures to a file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
