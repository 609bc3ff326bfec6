"""The harness runs right kernels rightly, and finds each planted fault."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.gpuhost import build
from tests.gpuhost.build import CompileError, compile_kernels
from tests.gpuhost.launch import KernelFault

SOURCE = Path(__file__).with_name("samples.cuh").read_text()
TEMPLATED = ["segmented_sum<float>", "segmented_sum<double>", "block_sum<float, 256>", "tree_sum<256>"]
TEMPLATED += ["scale_packs<float>", "scale_packs<double>"]
TEMPLATED += ["reverse<false>", "reverse<true>", "reverse_warps<false>", "reverse_warps<true>"]
OTHERS = re.findall(r"__global__ void (\w+)", re.sub(r"template <.*>\n.*", "", SOURCE))
EXPRESSIONS = [f"samples::{name}" for name in TEMPLATED + OTHERS]
SEEDS = [0, 1, 2, 77]
VOTES = np.dtype(
    [("peers", "u4"), ("odd", "u4")]
    + [(name, "i4") for name in ("sum", "smallest", "largest", "any_negative", "all_small")]
)


@pytest.fixture(scope="module", params=[False, True], ids=["unchecked", "checked"])
def library(request):
    return compile_kernels(SOURCE, EXPRESSIONS, checked=request.param)


@pytest.fixture(scope="module")
def unchecked():
    return compile_kernels(SOURCE, EXPRESSIONS)


@pytest.fixture(scope="module")
def checked():
    return compile_kernels(SOURCE, EXPRESSIONS, checked=True)


def run(library, name, grid, block, *arguments, **options):
    """Launch with arrays given as arrays: they are the memory, and their addresses the arguments."""
    arrays = {f"array{i}": given for i, given in enumerate(arguments) if isinstance(given, np.ndarray)}
    passed = [np.uint64(given.ctypes.data) if isinstance(given, np.ndarray) else given for given in arguments]
    library.launch(f"samples::{name}", (grid,), (block,), passed, **{"memory": arrays, **options})


# Right kernels.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_segmented_sum(library, dtype, seed):
    rng = np.random.default_rng(seed)
    keys = np.sort(rng.zipf(1.5, 1000) % 50).astype(np.int32)
    values = rng.standard_normal(1000).astype(dtype)
    sums = np.zeros(50, dtype)
    name = "float" if dtype is np.float32 else "double"
    run(library, f"segmented_sum<{name}>", 8, 128, keys, values, sums, np.int32(1000), seed=seed)
    np.testing.assert_allclose(
        sums, np.bincount(keys, values, 50), atol=1e-4 if dtype is np.float32 else 1e-12
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_block_sum(library, seed):
    values = np.random.default_rng(seed).random(5000, np.float32)
    total = np.zeros(1, np.float32)
    run(library, "block_sum<float, 256>", 5, 256, values, total, np.int32(5000), seed=seed)
    np.testing.assert_allclose(total, values.sum(dtype=float), rtol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_tree_sum(library, seed):
    values = np.random.default_rng(seed).random((6, 256), np.float32)
    sums = np.zeros(6, np.float32)
    run(library, "tree_sum<256>", 6, 256, values, sums, shared_bytes=1024, seed=seed)
    np.testing.assert_allclose(sums, values.sum(1), rtol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_votes(library, seed):
    keys = np.random.default_rng(seed).integers(-2, 5, 96).astype(np.int32)
    votes = np.zeros(96, VOTES)
    run(library, "vote", 1, 96, keys, votes, seed=seed)
    for i, key in enumerate(keys):
        lanes = keys[i // 32 * 32 :][:32]
        expected = (
            sum(1 << lane for lane in range(32) if lanes[lane] == key),
            sum(1 << lane for lane in range(32) if lanes[lane] % 2),
            *(lanes.sum(), lanes.min(), lanes.max(), (lanes < 0).any(), (lanes < 100).all()),
        )
        assert votes[i].tolist() == tuple(int(value) for value in expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_atomics(library, seed):
    smallest, largest, count = np.zeros(1, np.int32), np.zeros(1, np.uint32), np.zeros(1, np.uint64)
    total, pair, tickets = np.zeros(1), np.zeros(2, np.float32), np.zeros(129, np.int32)
    run(library, "atomics", 2, 64, smallest, largest, count, total, pair, tickets, seed=seed)
    assert (smallest[0], largest[0], count[0], total[0]) == (-127, 127, 128, 64.0)
    assert pair.tolist() == [128, 256]
    assert tickets.tolist() == [128, *range(128)]


@pytest.mark.parametrize("seed", SEEDS)
def test_compare_and_swap(library, seed):
    total = np.zeros(1)
    run(library, "add_by_swapping", 2, 64, total, seed=seed)
    assert total[0] == 128


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_packs(library, name, dtype, seed):
    values = aligned(64 * 16 // np.dtype(dtype).itemsize, dtype)
    values[:] = np.arange(values.size)
    scaled = aligned(values.size, dtype)
    run(library, f"scale_packs<{name}>", 2, 32, values, scaled, dtype(3), seed=seed)
    np.testing.assert_array_equal(scaled, 3 * values)


def aligned(size, dtype):
    """Return zeros that begin at a multiple of 16 bytes."""
    array = np.zeros(size + 16, dtype)
    return array[-array.ctypes.data % 16 // array.itemsize :][:size]


@pytest.mark.parametrize("seed", SEEDS)
def test_halves_of_a_warp(library, seed):
    results = np.zeros(32, np.int32)
    run(library, "halves", 1, 32, results, seed=seed)
    lanes = np.arange(32)
    values = np.where(lanes < 16, (lanes ^ 1) + (lanes ^ 3 ^ 1), lanes + 47 - lanes)
    np.testing.assert_array_equal(results, values + values[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_of_one_word_do_not_race(library, seed):
    written = np.zeros(64, np.uint8)
    run(library, "bytes", 1, 64, written, seed=seed)
    assert written.tolist() == [*range(63, -1, -1)]


@pytest.mark.parametrize("seed", SEEDS)
def test_two_dimensions(library, seed):
    seen = np.zeros((6, 10), np.int32)
    address, memory = np.uint64(seen.ctypes.data), {"seen": seen}
    library.launch("samples::coordinates", (2, 3), (5, 2), [address], seed=seed, memory=memory)
    y, x = np.indices((6, 10))
    np.testing.assert_array_equal(seen, 5000 + 100 * y + x)


def test_a_structure_is_passed_by_value(library):
    values, scaled = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    structure = np.dtype([("values", "u8"), ("factor", "f4"), ("count", "i4")])
    given = np.array((values.ctypes.data, 2, 39), structure)
    memory = {"values": values, "scaled": scaled}
    library.launch("samples::scale", (2,), (32,), [given, np.uint64(scaled.ctypes.data)], memory=memory)
    np.testing.assert_array_equal(scaled, [*range(0, 78, 2), 0])


def test_a_large_structure_is_passed_by_value(library):
    table = np.array((np.arange(600) * 7,), np.dtype([("values", "i4", 600)]))
    keys, found = np.arange(0, 320, 10, dtype=np.int32), np.zeros(32, np.int32)
    addresses = [np.uint64(array.ctypes.data) for array in (keys, found)]
    library.launch(
        "samples::look_up", (1,), (32,), [table, *addresses], memory={"keys": keys, "found": found}
    )
    np.testing.assert_array_equal(found, 7 * keys)


@pytest.mark.parametrize("seed", SEEDS)
def test_order_is_passed_on_within_a_warp(library, seed):
    seen = np.zeros(1, np.int32)
    run(library, "relay", 1, 32, seen, seed=seed)
    assert seen[0] == 7


def test_intrinsics(library):
    results, as_float = np.zeros(7, np.int32), np.full(1, 1.5, np.float32)
    run(library, "intrinsics", 1, 1, results, as_float)
    assert results.tolist() == [5, 4 + 34, 32 + 31 + 64 + 63, 0b1011 + 1, 3, 3 + 2 + 7, 127 + 1023]
    assert as_float[0] == 3


def test_launches_from_several_threads(library):
    def reverse(length):
        values = np.arange(128, dtype=np.int32) * length
        run(library, "reverse<true>", 1, 128, values, seed=length)
        return values

    with ThreadPoolExecutor(4) as workers:
        for length, values in enumerate(workers.map(reverse, range(40))):
            np.testing.assert_array_equal(values, np.arange(128)[::-1] * length)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lock(library, seed):
    lock, seen = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(library, "take_turns", 2, 64, lock, seen, seed=seed)
    assert seen[0] == 128


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["reverse", "reverse_warps"])
def test_reversal(library, name, seed):
    values = np.arange(128, dtype=np.int32)
    run(library, f"{name}<true>", 1, 128, values, seed=seed)
    expected = np.arange(128)[::-1] if name == "reverse" else np.arange(128).reshape(4, 32)[:, ::-1].ravel()
    np.testing.assert_array_equal(values, expected)


# Faults that any library finds.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "threads", "message"),
    [
        (
            "divergent_barrier",
            64,
            "divergent __syncthreads: thread .* is at kernels.cu:[0-9]*, thread .* is at",
        ),
        ("barrier_for_half", 64, "mismatched warp collectives"),
        (
            "waits_for_who_waits",
            32,
            "deadlock .* of block 0, 1 in __syncthreads .thread 0 .*, 31 in warp collectives .thread 1",
        ),
        ("different_masks", 32, "mismatched warp collectives: thread .* calls __syncwarp with mask"),
        ("not_in_own_mask", 32, "in which it is not named"),
    ],
)
def test_faults_of_meeting(library, name, threads, message, seed):
    with pytest.raises(KernelFault, match=message):
        run(library, name, 1, threads, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("different_collectives", "mismatched warp collectives: thread .* __(shfl|ballot)_sync"),
        (
            "shuffle_from_outside",
            "thread .* of block 0 calls __shfl_sync with mask 0x0000ffff and reads lane 20",
        ),
    ],
)
def test_faults_of_exchange(library, name, message, seed):
    with pytest.raises(KernelFault, match=message):
        run(library, name, 1, 32, np.zeros(32, np.int32), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_exited_lane_in_a_mask(library, seed):
    result = np.zeros(32, np.int32)
    run(library, "exits_early", 1, 32, np.int32(32), result, seed=seed)
    with pytest.raises(KernelFault, match="which names lane [0-9]*, which has exited"):
        run(library, "exits_early", 1, 32, np.int32(20), result, seed=seed)


def test_waiting_for_another_block(unchecked):
    with pytest.raises(KernelFault, match="block 0 makes atomic operations without end"):
        run(unchecked, "wait_for_other_block", 2, 1, np.zeros(1, np.int32))


def test_missing_barrier_shows_in_results(unchecked):
    for seed in range(10):
        values = np.arange(128, dtype=np.int32)
        run(unchecked, "reverse<false>", 1, 128, values, seed=seed)
        assert values.tolist() != [*range(127, -1, -1)]


def test_unwritten_shared_memory(library):
    floats, doubles, integers = np.zeros(32, np.float32), np.zeros(32), np.zeros(32, np.int32)
    run(library, "read_unwritten", 1, 32, floats, doubles, integers, shared_bytes=128)
    assert np.isnan(floats).all()
    assert np.isnan(doubles).all()
    assert (integers > 2**30).all()


def test_dynamic_shared_memory_too_short(library):
    values, sums = np.zeros(256, np.float32), np.zeros(1, np.float32)
    with pytest.raises(KernelFault, match="(dynamic shared memory|machine refuses)"):
        run(library, "tree_sum<256>", 1, 256, values, sums, shared_bytes=1008)


def test_wild_pointer_and_division_by_zero(unchecked):
    with pytest.raises(KernelFault, match="machine refuses at address 0x10 by thread 0 of block 0"):
        unchecked.launch("samples::wild_pointer", (1,), (32,), [np.uint64(16)])
    with pytest.raises(KernelFault, match="division by zero"):
        run(unchecked, "divide", 1, 1, np.ones(1, np.int32), np.int32(0))


def test_a_vector_that_is_not_aligned(unchecked):
    values, scaled = aligned(300, np.float32)[1:257], aligned(256, np.float32)
    with pytest.raises(KernelFault, match="not aligned"):
        run(unchecked, "scale_packs<float>", 2, 32, values, scaled, np.float32(3))


# Faults that the checker finds.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "grid", "block", "message"),
    [
        ("reverse<false>", 1, 128, "race in shared variables"),
        ("reverse_warps<false>", 1, 128, "race in shared variables"),
        ("rotate_twice", 1, 32, "race in shared variables"),
        ("add_without_atomic", 1, 2, "race in global memory, array array0"),
        ("add_without_atomic", 2, 1, "race in global memory, array array0"),
        ("both_blocks_write", 2, 32, "write by thread 0 of block [01] .*then write by thread 0 of block"),
        ("clear_and_add", 2, 32, "race in global memory"),
        ("shared_counter", 1, 64, "race in shared variables"),
        ("exchange_halves", 1, 32, "race in shared variables"),
    ],
)
def test_races(checked, name, grid, block, message, seed):
    with pytest.raises(KernelFault, match=message):
        run(checked, name, grid, block, np.zeros(128, np.int32), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_read_among_atomics(checked, seed):
    with pytest.raises(KernelFault, match="race in global memory, array array0, at byte 0: (atomic|read) by"):
        run(checked, "read_among_atomics", 1, 64, np.zeros(1, np.int32), np.zeros(64, np.int32), seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_block_overwrites_what_others_read(checked, seed):
    value, seen = np.zeros(1, np.int32), np.zeros(128, np.int32)
    run(checked, "overwrite_after_reading", 1, 64, value, seen, seed=seed)
    with pytest.raises(KernelFault, match="race in global memory, array array0, at byte 0"):
        run(checked, "overwrite_after_reading", 2, 64, value, seen, seed=seed)


def test_a_race_names_both_lines(checked):
    lines = SOURCE.splitlines()
    first = lines.index("__global__ void both_blocks_write(int* value) {") + 2
    with pytest.raises(KernelFault, match=rf"block 0 \(kernels.cu:{first}\), then .* \(kernels.cu:{first}\)"):
        run(checked, "both_blocks_write", 2, 32, np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("offset_from", "offset_to", "message"),
    [
        (1, 0, "out of bounds: read of 4 bytes at .* by thread 31 of block 0; .* array0, of 128 .* byte 128"),
        (
            0,
            1,
            "out of bounds: write of 4 bytes at .* by thread 31 of block 0; .* array1, of 128 .* byte 128",
        ),
        (-1, 0, "out of bounds: read of 4 bytes at .* by thread 0 of block 0; .* array0, of 128 .* byte -4"),
        (10**9, 0, "out of bounds: read"),
    ],
)
def test_out_of_bounds(checked, offset_from, offset_to, message):
    given, taken = np.zeros(32, np.float32), np.zeros(32, np.float32)
    run(checked, "copy", 1, 32, given, taken, np.int64(0), np.int64(0))
    with pytest.raises(KernelFault, match=message):
        run(checked, "copy", 1, 32, given, taken, np.int64(offset_from), np.int64(offset_to))


def test_a_pack_out_of_bounds_or_misaligned(checked):
    given, taken = aligned(5, np.float32), aligned(4, np.float32)
    run(checked, "copy_pack", 1, 1, given, taken, np.int32(0))
    with pytest.raises(KernelFault, match="misaligned read of 16 bytes"):
        run(checked, "copy_pack", 1, 1, given, taken, np.int32(1))
    with pytest.raises(KernelFault, match="out of bounds: read of 16 bytes .* byte 16"):
        run(checked, "copy_pack", 1, 1, given, taken, np.int32(4))


def test_copies_of_the_c_library(checked):
    given, taken = np.zeros(50, np.uint8), np.zeros(50, np.uint8)
    run(checked, "copy_bytes", 1, 1, given, taken, np.int32(50))
    with pytest.raises(KernelFault, match="out of bounds: read of 51 bytes"):
        run(checked, "copy_bytes", 1, 1, given, taken, np.int32(51))
    with pytest.raises(KernelFault, match="race"):
        run(checked, "copy_bytes", 1, 2, given, taken, np.int32(50))


def test_an_unwritten_index_is_not_followed(checked):
    values, found = np.zeros(32, np.int32), np.zeros(32, np.int32)
    with pytest.raises(KernelFault, match="out of bounds: read of 4 bytes at .* by thread 31"):
        run(checked, "follow_unwritten_index", 1, 32, values, found)


def test_read_only_arrays(checked):
    given, taken = np.zeros(32, np.float32), np.zeros(32, np.float32)
    taken.flags.writeable = False
    with pytest.raises(KernelFault, match="read-only global memory, array array1"):
        run(checked, "copy", 1, 32, given, taken, np.int64(0), np.int64(0))


def test_without_memory_only_shared_memory_is_checked(checked):
    values = np.zeros(128, np.int32)
    run(checked, "both_blocks_write", 2, 32, values, memory=None)
    with pytest.raises(KernelFault, match="race in shared"):
        run(checked, "reverse<false>", 1, 128, values, memory=None)


def test_a_launch_after_a_fault_is_a_clean_one(checked):
    values = np.arange(128, dtype=np.int32)
    with pytest.raises(KernelFault):
        run(checked, "reverse<false>", 1, 128, values)
    values = np.arange(128, dtype=np.int32)
    run(checked, "reverse<true>", 1, 128, values)
    assert values.tolist() == [*range(127, -1, -1)]


# Launches and compilations that are refused.


def test_wrong_arguments(unchecked):
    values = np.zeros(1, np.int32)
    with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
        run(unchecked, "add_without_atomic", 1, 1, values, np.int32(1))
    with pytest.raises(TypeError, match="argument 1 has 8 bytes .int64., the kernel's parameter 4"):
        run(unchecked, "divide", 1, 1, values, np.int64(1))
    with pytest.raises(TypeError, match="argument 1 has to be a NumPy scalar or array, not int"):
        run(unchecked, "divide", 1, 1, values, 1)


def test_wrong_sizes(unchecked):
    for grid, block in [((0,), (1,)), ((1,), (1025,)), ((1,), (0, 1)), ((1, 1, 1, 1), (1,))]:
        with pytest.raises(ValueError, match="(grid|block) is"):
            unchecked.launch("samples::not_in_own_mask", grid, block, [])


def test_shared_memory_limits(unchecked):
    assert unchecked.static_shared_bytes("samples::reverse<true>") == 512
    assert unchecked.static_shared_bytes("samples::vote") == 0
    value = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="512 . 100 bytes of shared memory, above 600"):
        run(unchecked, "reverse<true>", 1, 128, value, shared_bytes=100, shared_limit=600)
    with pytest.raises(ValueError, match="53248 bytes of shared variables"):
        run(unchecked, "large_shared", 1, 1, value)


def test_overlapping_and_strided_memory(checked):
    values = np.zeros(64, np.int32)
    with pytest.raises(ValueError, match="overlap"):
        checked.launch("samples::not_in_own_mask", (1,), (1,), [], memory={"a": values, "b": values[1:]})
    with pytest.raises(ValueError, match="contiguous"):
        checked.launch("samples::not_in_own_mask", (1,), (1,), [], memory={"a": values[::2]})


def test_unknown_kernel(unchecked):
    with pytest.raises(KeyError, match="was not compiled"):
        unchecked.launch("samples::nothing", (1,), (1,), [])


def test_compiler_errors():
    with pytest.raises(CompileError, match="kernels.cu:1:.*error"):
        compile_kernels("__global__ void broken() { return 1; }", ["broken"])
    with pytest.raises(CompileError, match="unused variable"):
        compile_kernels("template <int n> __global__ void warned() { int unused; }", ["warned<1>"])
    with pytest.raises(
        CompileError, match="GPUALTO_HOST_ENTRY.missing.*\n(.*\n)*.*error: .missing. was not declared"
    ):
        compile_kernels("__global__ void present() {}", ["missing"])


def test_include_folders(tmp_path):
    (tmp_path / "factor.cuh").write_text("constexpr int factor = 3;")
    source = '#include "factor.cuh"\n__global__ void give(int* value) { *value = factor; }'
    value = np.zeros(1, np.int32)
    arguments = [np.uint64(value.ctypes.data)]
    compile_kernels(source, ["give"], include=[tmp_path]).launch("give", (1,), (1,), arguments)
    assert value[0] == 3
    (tmp_path / "factor.cuh").write_text("constexpr int factor = 4;")
    compile_kernels(source, ["give"], include=[tmp_path]).launch("give", (1,), (1,), arguments)
    assert value[0] == 4


def test_missing_compiler(monkeypatch):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    build._compiler_version.cache_clear()
    with pytest.raises(CompileError, match=r"needs the compiler g\+\+"):
        compile_kernels(SOURCE, EXPRESSIONS)


def test_kept_libraries_are_not_compiled_again(monkeypatch, unchecked):
    def refuse(*arguments, **options):
        pytest.fail("compiled again")

    monkeypatch.setattr(build, "_run_compiler", refuse)
    compile_kernels(SOURCE, EXPRESSIONS)
