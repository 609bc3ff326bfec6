"""The device's bit gathering, compiled for the host and held against the encoding."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from gpualto.kernels import source

from gpualto import AltoEncoding

SHAPES = [
    (4, 8, 2),
    (2482, 2862, 14036, 17),
    (2**32, 2**31, 2),
    (1, 7, 1),
    (22476, 22476, 23776223),
    (2,) * 64,
]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Return the functions of index.cuh for the masks of every mode of every shape."""
    compiler = shutil.which("g++")
    assert compiler, "these tests need g++"
    folder = tmp_path_factory.mktemp("index")
    (folder / "index.cuh").write_text(source("index.cuh"))
    lines = ['#include "index.cuh"', 'extern "C" {']
    for number, shape in enumerate(SHAPES):
        for mode, mask in enumerate(AltoEncoding(shape).masks):
            for function in ("gather_bits", "scatter_bits"):
                lines.append(
                    f"unsigned long long {function}_{number}_{mode}(unsigned long long x) "
                    f"{{ return gpualto::{function}<{mask}ull>(x); }}"
                )
    (folder / "host.cpp").write_text("\n".join([*lines, "}"]))
    flags = ["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run([compiler, *flags, "host.cpp", "-o", "host.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "host.so"))

    def function(name):
        found = library[name]
        found.argtypes, found.restype = [ctypes.c_uint64], ctypes.c_uint64
        return found

    return function


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_gather_and_scatter_are_the_encoding(host, number):
    encoding = AltoEncoding(SHAPES[number])
    assert len(encoding.words) == 1
    rng = np.random.default_rng(number)
    coords = np.array([[0, length - 1, *rng.integers(0, length, 20)] for length in encoding.shape])
    (index,) = encoding.linearize(coords)
    for position, word in enumerate(index.tolist()):
        for mode in range(encoding.ndim):
            assert host(f"gather_bits_{number}_{mode}")(word) == coords[mode, position]
        pieces = [
            host(f"scatter_bits_{number}_{mode}")(int(coords[mode, position]))
            for mode in range(encoding.ndim)
        ]
        assert sum(pieces) == word
