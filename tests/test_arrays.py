import numpy as np
import pytest

from gpualto import _arrays


def test_blocks_cover_the_range_once():
    slices = list(_arrays.blocks(10, size=4))
    assert slices == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert list(_arrays.blocks(0)) == []


@pytest.mark.parametrize("shape", [(), (2, -1), (2**63 + 1,)])
def test_a_shape_with_a_wrong_length_is_refused(shape):
    with pytest.raises(ValueError, match=r"^shape: "):
        _arrays.as_shape(shape)


def test_a_shape_of_other_than_integers_is_refused():
    with pytest.raises(TypeError, match=r"^shape: expected a sequence of integers"):
        _arrays.as_shape((2.5, 3))


@pytest.mark.parametrize(("mode", "expected"), [(0, 0), (2, 2), (-1, 2), (-3, 0), (np.int8(1), 1)])
def test_modes_count_from_either_end(mode, expected):
    assert _arrays.as_mode(mode, 3) == expected


@pytest.mark.parametrize("mode", [3, -4])
def test_a_mode_out_of_range_is_refused(mode):
    with pytest.raises(ValueError, match=r"^mode: "):
        _arrays.as_mode(mode, 3)


def test_a_mode_that_is_not_an_integer_is_refused():
    with pytest.raises(TypeError, match=r"^mode: "):
        _arrays.as_mode(1.0, 3)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.float16, np.float32),
        (np.int64, np.float64),
        (np.uint8, np.float64),
        (bool, np.float64),
    ],
)
def test_values_become_a_float_type_that_holds_them(dtype, expected):
    values = _arrays.as_values(np.array([0, 1], dtype))
    assert values.dtype == expected
    assert values.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.longdouble, object, "U3", "M8[s]"])
def test_values_of_other_types_are_refused(dtype):
    with pytest.raises(TypeError, match=r"^values: "):
        _arrays.as_values(np.zeros(2, dtype))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, -(2**63)])
def test_integers_that_would_be_rounded_are_refused(value):
    with pytest.raises(ValueError, match=rf"2\*\*53 \(here {value}\)"):
        _arrays.as_values(np.array([1, value]))


def test_the_largest_exact_integer_is_kept():
    assert _arrays.as_values(np.array([2**53, -(2**53)])).tolist() == [2.0**53, -(2.0**53)]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_coordinates_of_every_integer_type_are_checked_against_the_shape(dtype):
    good = _arrays.as_coordinates([np.array([0, 100], dtype)])
    _arrays.check_bounds(good, (101,))
    with pytest.raises(ValueError, match=r"mode 0 has the coordinate 100 at position 1, outside \[0, 100\)"):
        _arrays.check_bounds(good, (100,))


@pytest.mark.parametrize(("dtype", "value"), [(np.int8, -1), (np.int64, -(2**63)), (np.uint64, 2**64 - 1)])
def test_extreme_coordinates_are_not_wrapped(dtype, value):
    coords = _arrays.as_coordinates([np.array([0, 5, value], dtype)])
    for length in (6, 300, 2**63):
        with pytest.raises(ValueError, match=rf"coordinate {value} at position 2"):
            _arrays.check_bounds(coords, (length,))


def test_coordinates_that_are_not_integers_are_refused():
    with pytest.raises(TypeError, match="mode 1 must be of an integer type, got float64"):
        _arrays.as_coordinates([np.array([1]), np.array([1.0])])
    with pytest.raises(TypeError, match="mode 0 must be of an integer type, got bool"):
        _arrays.as_coordinates([np.array([True])])
