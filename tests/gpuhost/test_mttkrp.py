"""The MTTKRP kernels against the reference: every order, word count, kind of rank and type, at several seeds."""

import math
import mmap

import numpy as np
import pytest

from gpualto.backends.cuda.columns import columns_of
from gpualto.partition import partition
from tests.gpuhost.build import KernelFault
from tests.gpuhost.device import Kernels, addresses, c_name, poisoned, words_of
from tests.oracle import random_factors, random_tensor

SHAPES = {
    1: (50,),
    2: (5, 40),
    3: (7, 1, 300),
    4: (30, 20, 9, 4),
    5: (3, 4, 5, 6, 7),
    6: (2**13, 2**12, 2**11, 2**10, 2**11, 2**9),  # 66 bits: a word of 8 bits on top
    7: (2**20, 2**20, 2**20, 5, 2**20, 2**20, 2**19),  # 122 bits: two full words
    8: (2, 3, 2, 3, 2, 3, 2, 3),
}
"""By order. Modes whose factor would be large stay out of the way: see `narrow`."""

RANKS = [1, 7, 8, 16, 33, 64]
SEEDS = [0, 1, 2, 3]
THREADS = 64
PIECE = 16

MAP_NORESERVE = 0x4000  # of Linux; mmap has no name for it

TYPES = [np.float32, np.float64]


def narrow(shape, length=60):
    """Return a tensor of a shape whose nonzeros lie in the first rows of each mode, so that factors are small."""
    return tuple(min(size, length) for size in shape)


class Problem:
    """A tensor, factors that are large enough, and the answer."""

    def __init__(self, shape, nnz, rank, dtype, seed=0):
        rng = np.random.default_rng(seed)
        inner = narrow(shape)
        X = random_tensor(seed, inner, nnz)
        self.X = type(X).from_coo(X.coords, rng.standard_normal(X.nnz).astype(dtype), shape)
        self.factors = random_factors(seed, inner, rank, dtype)
        self.rank, self.dtype = rank, np.dtype(dtype)
        self.columns = columns_of(rank, self.dtype)
        self.rows = inner
        self.small = type(X).from_coo(self.X.coords, self.X.values.astype(np.float64), inner)

    def answer(self, mode):
        return self.small.mttkrp([f.astype(np.float64) for f in self.factors], mode)

    def output(self, mode):
        return np.zeros((self.rows[mode], self.rank), self.dtype)

    def memory(self, out):
        factors = {f"factor {mode}": factor for mode, factor in enumerate(self.factors)}
        return {**words_of(self.X), "values": self.X.values, **factors, "out": out}

    def check(self, out, mode):
        tolerance = 1e-4 if self.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(out, self.answer(mode), rtol=tolerance, atol=tolerance * 10)


class LargeProblem(Problem):
    """A mode of 2**24 rows of 160 numbers, of which few are touched: offsets beyond 32 bits, in bytes and numbers."""

    SHAPE = (2**24, 20, 9)

    def __init__(self, nnz, rank, dtype):
        rng = np.random.default_rng(nnz)
        super().__init__((60, *self.SHAPE[1:]), nnz, rank, dtype)
        self.touched = np.sort(2**24 - 1 - rng.choice(2**22, 60, replace=False))
        self.touched[:2] = 0, 2**23
        coords = self.X.coords
        self.X = type(self.X).from_coo([self.touched[coords[0]], *coords[1:]], self.X.values, self.SHAPE)
        self.rows = self.SHAPE
        compact = self.factors[0]
        self.factors = [reserved((2**24, rank), dtype), *self.factors[1:]]
        self.factors[0][self.touched] = compact
        self.compact = [compact, *self.factors[1:]]

    def output(self, mode):
        return reserved((self.rows[mode], self.rank), self.dtype)

    def answer(self, mode):
        return self.small.mttkrp([f.astype(np.float64) for f in self.compact], mode)

    def check(self, out, mode):
        super().check(out[self.touched] if mode == 0 else out, mode)


def reserved(shape, dtype):
    """Return zeros that take memory only where they are touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, nbytes, flags=flags), dtype).reshape(shape)


def run_atomic(kernels, problem, mode, seed=0):
    out = problem.output(mode)
    T = c_name(problem.dtype)
    kernels.launch(
        f"mttkrp_atomic<Layout, {mode}, {T}, {T}, {problem.rank}, {THREADS}>",
        (2, problem.columns.panels),
        THREADS,
        [addresses(*problem.X.index), *addresses(problem.X.values), np.int64(problem.X.nnz),
         addresses(*problem.factors), *addresses(out)],
        problem.memory(out),
        seed=seed,
    )  # fmt: skip
    return out


def run_staged(kernels, problem, mode, seed=0, spared=0):
    out = problem.output(mode)
    T = c_name(problem.dtype)
    parts = partition(problem.X, 3)
    if parts.nsegments == 0:
        return out
    low = parts.low[:, mode]
    rows = parts.high[:, mode] - low + 1
    segments = np.stack([parts.bounds[:-1], parts.bounds[1:], low, rows], axis=1)
    columns = problem.columns
    kernels.launch(
        f"mttkrp_staged<Layout, {mode}, {T}, {T}, {problem.rank}, {THREADS}>",
        (len(segments), columns.panels),
        THREADS,
        [addresses(*problem.X.index), *addresses(problem.X.values), *addresses(segments),
         addresses(*problem.factors), *addresses(out)],
        {**problem.memory(out), "segments": segments},
        shared_bytes=int(rows.max()) * columns.panel_width * problem.dtype.itemsize - spared,
        seed=seed,
    )  # fmt: skip
    return out


def run_deterministic(kernels, problem, mode, seed=0):
    out = problem.output(mode)
    T, X = c_name(problem.dtype), problem.X
    order = np.argsort(X.coords[mode], kind="stable").astype(np.uint32)
    columns = problem.columns
    expression = f"mttkrp_deterministic<Layout, {mode}, {T}, {T}, {problem.rank}, unsigned, {THREADS}>"
    given = [addresses(*X.index), *addresses(X.values, order)]
    factors, memory = [addresses(*problem.factors)], {**problem.memory(out), "order": order}
    count = X.nnz
    while True:
        pieces = math.ceil(count / PIECE)
        carry_rows = poisoned(2 * pieces, np.int64)
        carries = poisoned((2 * pieces, problem.rank), problem.dtype)
        grid = (max(math.ceil(pieces * columns.lanes / THREADS), 1), columns.panels)
        kernels.launch(
            expression,
            grid,
            THREADS,
            [*given, np.int64(count), np.int32(PIECE), *factors, *addresses(out, carry_rows, carries)],
            {**memory, "carry rows": carry_rows, "carries": carries},
            seed=seed,
        )
        if pieces <= 1:
            return out
        expression = f"sum_carries<{T}, {problem.rank}, {THREADS}>"
        given, factors = [*addresses(carry_rows, carries)], []
        memory = {"rows before": carry_rows, "sums before": carries, "out": out}
        count = 2 * pieces


RUNS = {"atomic": run_atomic, "staged": run_staged, "deterministic": run_deterministic}


def kernels_for(problem, checked=False):
    sources = ["mttkrp_atomic.cu", "mttkrp_staged.cu", "mttkrp_deterministic.cu"]
    return Kernels(sources, problem.X.encoding, checked)


@pytest.mark.parametrize("strategy", RUNS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", SHAPES)
def test_every_order_and_word_count(order, dtype, strategy):
    problem = Problem(SHAPES[order], 333, 8, dtype, seed=order)
    kernels = kernels_for(problem)
    mode = order // 2
    for seed in SEEDS:
        problem.check(RUNS[strategy](kernels, problem, mode, seed), mode)


@pytest.mark.parametrize("strategy", RUNS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rank", [*RANKS, 160, 300])
def test_every_kind_of_rank(rank, dtype, strategy):
    problem = Problem(SHAPES[4], 200, rank, dtype, seed=rank)
    kernels = kernels_for(problem)
    for seed in SEEDS:
        problem.check(RUNS[strategy](kernels, problem, 1, seed), 1)


@pytest.mark.parametrize("strategy", RUNS)
@pytest.mark.parametrize("mode", range(4))
def test_every_mode(mode, strategy):
    problem = Problem(SHAPES[4], 500, 16, np.float32, seed=mode)
    problem.check(RUNS[strategy](kernels_for(problem), problem, mode), mode)


@pytest.mark.parametrize("strategy", RUNS)
@pytest.mark.parametrize("nnz", [1, 2, 31, 32, 33, 64, 65, 128])
def test_ragged_tails(nnz, strategy):
    problem = Problem((7, 500, 9), nnz, 8, np.float64, seed=nnz)
    kernels = kernels_for(problem)
    for mode in range(3):
        problem.check(RUNS[strategy](kernels, problem, mode, seed=nnz), mode)


@pytest.mark.parametrize("strategy", RUNS)
@pytest.mark.parametrize(("shape", "rank"), [(SHAPES[4], 16), (SHAPES[6], 7), (SHAPES[3], 300)])
@pytest.mark.parametrize("seed", [0, 5])
def test_no_race_and_no_access_out_of_bounds(shape, rank, seed, strategy):
    problem = Problem(shape, 150, rank, np.float32, seed=rank)
    kernels = kernels_for(problem, checked=True)
    problem.check(RUNS[strategy](kernels, problem, 0, seed), 0)


def test_an_infinite_factor_row_reaches_only_the_rows_that_use_it():
    problem = Problem((7, 60, 9), 33, 8, np.float64)
    problem.factors[1][problem.X.coords[1][-1]] = np.inf
    with np.errstate(invalid="ignore"):
        desired = problem.answer(0)
    for run in RUNS.values():
        out = run(kernels_for(problem), problem, 0)
        np.testing.assert_array_equal(np.isfinite(out), np.isfinite(desired))


@pytest.mark.parametrize("dtype", TYPES)
def test_deterministic_is_the_same_bits_whatever_the_schedule(dtype):
    problem = Problem((4, 50, 60), 1000, 8, dtype)
    kernels = kernels_for(problem)
    results = [run_deterministic(kernels, problem, 0, seed) for seed in range(6)]
    assert all(result.tobytes() == results[0].tobytes() for result in results)


@pytest.mark.parametrize("strategy", RUNS)
@pytest.mark.parametrize("mode", [0, 1])
def test_offsets_beyond_32_bits(mode, strategy):
    problem = LargeProblem(300, 160, np.float32)
    if strategy == "staged" and mode == 0:  # a segment of one row each: the rows between would not fit
        problem.X = problem.X.select(problem.X.coords[0] == problem.touched[-1])
        problem.small = problem.small.select(problem.small.coords[0] == 59)
    problem.check(RUNS[strategy](kernels_for(problem), problem, mode), mode)


class TestPlantedFaults:
    """Each fault, put into a kernel, is found; without it the same launch passes (see above)."""

    def launch(self, monkeypatch, run, original, fault, **options):
        from tests.gpuhost import device

        text = device.translation_unit("mttkrp_atomic.cu", "mttkrp_staged.cu", "mttkrp_deterministic.cu")
        assert original in text
        monkeypatch.setattr(device, "translation_unit", lambda *_: text.replace(original, fault, 1))
        problem = Problem(SHAPES[4], 300, 16, np.float32)
        with pytest.raises(KernelFault) as found:
            run(kernels_for(problem, checked=True), problem, 3, **options)
        return str(found.value)

    def test_missing_block_barrier(self, monkeypatch):
        original = "staged[n] = 0;\n  __syncthreads();"
        assert "race" in self.launch(monkeypatch, run_staged, original, "staged[n] = 0;", seed=1)

    def test_missing_warp_barrier(self, monkeypatch):
        original = "tile.values[place] = value;\n  }\n  __syncwarp();"
        fault = original.replace("  __syncwarp();", "")
        message = self.launch(monkeypatch, run_atomic, original, fault, seed=1)
        assert "race" in message or "out of bounds" in message  # by a poisoned index

    def test_plain_addition_in_place_of_an_atomic(self, monkeypatch):
        original = "atomicAdd(target + n, vector.at[n]);"
        assert "race" in self.launch(monkeypatch, run_atomic, original, "target[n] += vector.at[n];", seed=1)

    def test_shared_memory_that_is_too_short(self, monkeypatch):
        message = self.launch(monkeypatch, run_staged, "staged[n] = 0;", "staged[n] = 0.f;", spared=64)
        assert "shared" in message

    def test_a_position_beyond_the_nonzeros(self, monkeypatch):
        original = "if (lane < count) {\n    index"
        message = self.launch(monkeypatch, run_atomic, original, "if (lane <= count) {\n    index")
        assert "word 0" in message or "out of bounds" in message
