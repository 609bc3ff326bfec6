"""The CUDA C++ that is written for formats compiles for real architectures, without a GPU."""

import sys

import numpy as np
import pytest

import gpualto
from bench.compile import compile_program
from gpualto import formats
from gpualto.backends.cuda import formats as generated

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NVRTC is tested on Linux")

REGISTERS = 96


@pytest.mark.parametrize(
    "format",
    [
        formats.COO(3),
        formats.CSF(3),
        formats.HiCOO(3, 128),
        formats.Morton(3),
        formats.LCO(3),
        gpualto.Format("(i, j, k) -> (i : dense, k-j : compressed, j : range)"),
        gpualto.Format("(i, j, k) -> ((k-j)/2 : compressed, (k-j)%2 : dense, i : dense, j : delta(3))"),
    ],
    ids=str,
)
def test_compiles_without_spills_within_a_budget(format):
    rng = np.random.default_rng(0)
    X = gpualto.Tensor.from_coo([rng.integers(0, 50, 100) for _ in range(3)], np.ones(100), (2000, 300, 50))
    source = generated.source(X.to_format(format))
    names = [f"gpualto::mttkrp_format<Layout, Stored, 1, {T}, {T}, 16, 128>" for T in ("float", "double")]
    for architecture in (80, 90):
        log = compile_program(source, names, architecture).log
        assert "warning" not in log
        assert log.count("0 bytes spill stores") == 2
        registers = [int(part.split()[0]) for part in log.split("Used ")[1:]]
        assert len(registers) == 2
        assert max(registers) <= REGISTERS
