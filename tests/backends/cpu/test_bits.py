import numpy as np
import pytest

from gpualto import AltoEncoding
from gpualto.backends.cpu import bits, kernels
from tests.test_encoding import some_coordinates

SHAPES = {
    6: (4, 8, 2),
    31: (2**10, 2**20, 2),
    32: (2**10, 2**20, 4),
    33: (2**10, 2**20, 5),
    63: (2**32, 2**31),
    64: (2**32, 2**32),
    65: (2**33, 2**32),
    127: (2**60, 2**60, 2**7),
    128: (2**60, 2**60, 2**8),
    129: (2**60, 2**60, 2**9),
    190: (2**50, 2**50, 2**50, 2**40),
}


@pytest.mark.parametrize("bmi2", [True, False])
@pytest.mark.parametrize("nbits", SHAPES)
def test_coordinates_unpack_as_the_encoding_says(nbits, bmi2):
    if bmi2 and not bits.has_fast_bmi2():
        pytest.skip("this CPU has no fast BMI2; the shifts that it uses are tested beside this")
    encoding = AltoEncoding(SHAPES[nbits])
    assert encoding.nbits == nbits
    expected = some_coordinates(encoding.shape, nbits, count=100)
    index = encoding.linearize(expected)
    coords = np.full(expected.shape, -1)
    layout = bits.layout_of(encoding, list(range(encoding.ndim)), bmi2)
    kernels.unpack(index, layout, coords, 0, expected.shape[1])
    np.testing.assert_array_equal(coords, expected)


def test_modes_come_in_the_order_asked_for():
    encoding = AltoEncoding((4, 8, 2))
    layout = bits.layout_of(encoding, [2, 0, 1])
    assert [int(row[0]) for row in layout.masks] == [0x1, 0xA, 0x34]


def test_the_choice_is_that_of_the_cpu(monkeypatch):
    encoding = AltoEncoding((4, 8, 2))
    for fast, kind in ((True, bits.Bmi2), (False, bits.Steps)):
        monkeypatch.setattr(bits, "has_fast_bmi2", lambda fast=fast: fast)
        assert type(bits.layout_of(encoding, [0])) is kind


@pytest.mark.parametrize(
    ("features", "name", "fast"),
    [({"bmi2": True}, "znver4", True), ({"bmi2": True}, "znver2", False), ({}, "apple-m1", False)],
)
def test_microcode_is_not_fast(monkeypatch, features, name, fast):
    bits.has_fast_bmi2.cache_clear()
    monkeypatch.setattr(bits.llvmlite.binding, "get_host_cpu_features", lambda: features)
    monkeypatch.setattr(bits.llvmlite.binding, "get_host_cpu_name", lambda: name)
    assert bits.has_fast_bmi2() is fast
    bits.has_fast_bmi2.cache_clear()
