"""Linearize, delinearize and segment intervals against the encoding and the partition."""

import numpy as np
import pytest

from gpualto import AltoEncoding
from gpualto.partition import partition
from tests.gpuhost.device import Kernels, addresses, poisoned, words_of
from tests.gpuhost.test_mttkrp import SHAPES, narrow
from tests.oracle import random_tensor

THREADS = 64
NONE = 2**64 - 1
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
COLUMN = np.dtype([("data", "u8"), ("stride", "i8"), ("bytes", "i4"), ("is_signed", "i4")])


def linearize(encoding, coords, *, seed=0, checked=False):
    """Return the words, and the flag that names the first coordinate out of bounds."""
    nnz = coords[0].size
    words = tuple(poisoned(nnz, word) for word in encoding.words)
    flag = np.full(1, NONE, np.uint64)
    columns = np.array(
        [(c.ctypes.data, c.strides[0], c.itemsize, c.dtype.kind == "i") for c in coords], COLUMN
    )
    bases = {f"coordinates {mode}": c if c.base is None else c.base for mode, c in enumerate(coords)}
    Kernels(["linearize.cu"], encoding, checked).launch(
        f"linearize<Layout, {THREADS}>",
        (2,),
        THREADS,
        [columns, np.int64(nnz), addresses(*words), *addresses(flag)],
        {**{f"word {n}": word for n, word in enumerate(words)}, "flag": flag, **bases},
        seed=seed,
    )
    return words, int(flag[0])


def random_coordinates(shape, nnz, dtype=np.int64):
    rng = np.random.default_rng(nnz)
    return [rng.integers(0, length, nnz).astype(dtype) for length in narrow(shape, 2**31)]


class TestLinearize:
    @pytest.mark.parametrize("seed", [0, 1, 2, 3])
    @pytest.mark.parametrize("order", SHAPES)
    def test_equals_the_encoding(self, order, seed):
        encoding = AltoEncoding(SHAPES[order])
        coords = random_coordinates(SHAPES[order], 200)
        words, flag = linearize(encoding, coords, seed=seed)
        assert flag == NONE
        for actual, desired in zip(words, encoding.linearize(coords), strict=True):
            np.testing.assert_array_equal(actual, desired)

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_any_integer_type_and_stride(self, dtype):
        encoding = AltoEncoding((100, 90, 2))
        table = np.stack(random_coordinates((100, 90, 2), 77, dtype), axis=1)  # a row a nonzero
        columns = [table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()]
        strided = [np.repeat(column, 3) for column in columns]
        words, flag = linearize(encoding, [base[::3] for base in strided], checked=True)
        assert flag == NONE
        np.testing.assert_array_equal(words[0], encoding.linearize(columns)[0])

    @pytest.mark.parametrize(
        ("mode", "position", "value"), [(0, 70, -1), (1, 3, 90), (2, 199, 2), (1, 0, 2**62)]
    )
    def test_the_first_coordinate_out_of_bounds_is_named(self, mode, position, value):
        encoding = AltoEncoding((100, 90, 2))
        coords = random_coordinates((100, 90, 2), 200)
        coords[mode][position] = value
        coords[2][199] = 2  # a later mode that is wrong as well
        for seed in range(4):
            _, flag = linearize(encoding, coords, seed=seed)
            assert divmod(flag, 200) == (mode, position)

    def test_an_unsigned_coordinate_beyond_int64_is_out_of_bounds(self):
        coords = [np.array([0, 2**63 + 1], np.uint64), np.array([1, 1], np.uint64)]
        assert linearize(AltoEncoding((2**40, 2)), coords)[1] == 1

    def test_no_race(self):
        encoding = AltoEncoding(SHAPES[6])
        coords = random_coordinates(SHAPES[6], 130)
        coords[3][::7] = -5
        _, flag = linearize(encoding, coords, seed=4, checked=True)
        assert divmod(flag, 130) == (3, 0)


class TestDelinearize:
    @pytest.mark.parametrize("checked", [False, True])
    @pytest.mark.parametrize("order", SHAPES)
    def test_equals_the_encoding(self, order, checked):
        shape = SHAPES[order]
        encoding = AltoEncoding(shape)
        coords = np.array(random_coordinates(shape, 100))
        words = encoding.linearize(coords)
        out = poisoned((order, 100), np.int64)
        Kernels(["delinearize.cu"], encoding, checked).launch(
            f"delinearize<Layout, 0, {order}, long long, {THREADS}>",
            (1,),
            THREADS,
            [addresses(*words), np.int64(100), *addresses(out)],
            {**{f"word {n}": word for n, word in enumerate(words)}, "out": out},
        )
        np.testing.assert_array_equal(out, coords)

    def test_one_mode_to_a_narrow_type(self):
        encoding = AltoEncoding((100, 90, 2))
        coords = random_coordinates((100, 90, 2), 50)
        words = encoding.linearize(coords)
        out = poisoned(50, np.uint32)
        Kernels(["delinearize.cu"], encoding).launch(
            f"delinearize<Layout, 1, 1, unsigned, {THREADS}>",
            (1,),
            THREADS,
            [addresses(*words), np.int64(50), *addresses(out)],
            {"word": words[0], "out": out},
        )
        np.testing.assert_array_equal(out, coords[1])


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("nsegments", [1, 3, 7])
@pytest.mark.parametrize("order", [1, 3, 6, 7])
def test_segment_intervals_are_those_of_the_partition(order, nsegments, checked):
    inner = random_tensor(order, narrow(SHAPES[order]), 200)
    X = type(inner).from_coo(inner.coords, inner.values, SHAPES[order])
    desired = partition(X, nsegments)
    low, high = (poisoned((nsegments, order), np.int64) for _ in range(2))
    size, longer = divmod(X.nnz, nsegments)
    Kernels(["intervals.cu"], X.encoding, checked).launch(
        f"segment_intervals<Layout, {THREADS}>",
        (nsegments,),
        THREADS,
        [addresses(*X.index), np.int64(size), np.int64(longer), *addresses(low, high)],
        {**words_of(X), "low": low, "high": high},
        seed=nsegments,
    )
    np.testing.assert_array_equal(low, desired.low)
    np.testing.assert_array_equal(high, desired.high)
