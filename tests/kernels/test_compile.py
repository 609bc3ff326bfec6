"""What the CUDA kernels compile to, on machines without a GPU too."""

import sys

import pytest

from bench import compile as nvrtc
from bench.compile import RANKS, SHAPES, CompileError, compile_all, compile_program, compile_tensor, instances

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NVRTC is tested on Linux")

# The most that NVRTC 13.5 uses, rounded up to a multiple of 8.
REGISTERS = {
    "linearize": 56,
    "delinearize": 64,
    "segment_intervals": 72,
    "invert_gram": 80,
    "sum_runs": 64,
    "mttkrp_atomic": 72,
    "mttkrp_staged": 72,
    "mttkrp_deterministic": 112,
    "sum_carries": 48,
    "model_values": 64,
}
REGISTERS_AT_ODD_RANKS = {
    "mttkrp_atomic": 88,
    "mttkrp_staged": 96,
    "mttkrp_deterministic": 104,
    "sum_carries": 56,
    "model_values": 80,
}
SHARED_BYTES = 16 * 1024
TESTED_ARCHITECTURES = (80, 90, 100)


@pytest.fixture(scope="module")
def kernels():
    """Return all instances for all tested architectures."""
    return compile_all(SHAPES, TESTED_ARCHITECTURES)


@pytest.fixture(scope="module")
def common(kernels):
    """Return those whose rank, if they have one, is one of the usual ones."""
    return [kernel for kernel in kernels if kernel.instance in instances(len(SHAPES[kernel.tensor]), RANKS)]


def test_usual_ranks_need_no_local_memory(common):
    over = [kernel for kernel in common if kernel.stack_bytes or kernel.spill_bytes]
    assert not over, nvrtc.format_kernels(over)


def test_registers_are_within_their_budgets(kernels, common):
    usual = set(common)
    over = [
        kernel
        for kernel in kernels
        if kernel.registers > (REGISTERS if kernel in usual else REGISTERS_AT_ODD_RANKS)[kernel.name]
    ]
    assert not over, nvrtc.format_kernels(over)


def test_static_shared_memory_leaves_room_for_several_blocks(kernels):
    over = [kernel for kernel in kernels if kernel.shared_bytes > SHARED_BYTES]
    assert not over, nvrtc.format_kernels(over)


def test_an_error_names_its_line():
    with pytest.raises(CompileError, match=r"gpualto.cu\(2\): error"):
        compile_program("\nnonsense", [], 90)


def test_a_warning_is_an_error(monkeypatch):
    monkeypatch.setattr(nvrtc, "translation_unit", lambda *_: "__global__ void f() { int unused; }")
    monkeypatch.setattr(nvrtc, "instances", lambda *_: [])
    with pytest.raises(CompileError, match=r"nips on sm_90:\n.*warning.*unused"):
        compile_tensor("nips", 90)


def test_a_missing_compiler_is_an_error_that_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(nvrtc.site, "getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.setattr(nvrtc.site, "getusersitepackages", lambda: str(tmp_path))
    nvrtc._nvrtc.cache_clear()
    with pytest.raises(CompileError, match="pip install nvidia-cuda-nvrtc"):
        nvrtc.version()
