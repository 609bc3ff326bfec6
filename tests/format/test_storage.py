"""Any format holds any tensor, and any other can be made of it."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import gpualto
from gpualto.format import Format, build, convert, decode, entries, named
from tests.format.formats import formats

SLOW = settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@st.composite
def tensors(draw, ndim):
    """Return coordinates, nonzero values and a shape."""
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=ndim, max_size=ndim)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    dense = rng.integers(1, 99, shape) * (rng.random(shape) < draw(st.sampled_from([0, 0.1, 0.5, 1.0])))
    coords = np.array(dense.nonzero())
    order = rng.permutation(coords.shape[1])
    return coords[:, order], dense[tuple(coords[:, order])].astype(float), shape


def dense_of(coords, values, shape):
    dense = np.zeros(shape)
    dense[tuple(coords)] = values
    return dense


def with_room(make, *arguments):
    """Call a function; another example has to do where a structured level has too few places."""
    try:
        return make(*arguments)
    except ValueError as error:
        if "structured" not in str(error):
            raise
        reject()


@st.composite
def problems(draw):
    ndim = draw(st.integers(1, 3))
    return draw(formats(ndim)), draw(formats(ndim)), *draw(tensors(ndim))


@SLOW
@given(problems())
def test_build_convert_and_read_back(problem):
    format, other, coords, values, shape = problem
    dense = dense_of(coords, values, shape)
    X = with_room(build, format, coords, values, shape)
    Y = with_room(convert, X, other)
    for tensor in (X, Y, convert(Y, format)):
        read_coords, read_values = entries(tensor)
        assert read_values.size == values.size
        np.testing.assert_array_equal(dense_of(read_coords, read_values, shape), dense)


@SLOW
@given(problems())
def test_positions_are_cells_or_hold_zero(problem):
    format, _, coords, values, shape = problem
    X = with_room(build, format, coords, values, shape)
    read, stored = decode(X, np.arange(X.values.size))
    assert not X.values[~stored].any()
    cells = read[:, stored]
    assert np.unique(cells, axis=1).shape == cells.shape
    assert ((cells >= 0) & (cells < np.array(shape)[:, np.newaxis])).all()


def test_entries_are_counted_and_positions_too():
    X = build("(i, j) -> (j-i : compressed, i : range)", [[0, 1], [1, 2]], [5.0, 6.0], (3, 3))
    assert (X.nnz, X.nse) == (2, 3)
    assert build(named.COO(), [[0, 1], [1, 2]], [5.0, 6.0], (3, 3)).nnz == 2


def test_what_takes_alto_only_says_how_to_get_there():
    X = build(named.CSR(), [[0, 1], [1, 2]], [5.0, 6.0], (3, 3))
    with pytest.raises(TypeError, match=r"takes ALTO only.* pass X.to_format\(gpualto.formats.ALTO\(2\)\)"):
        gpualto.cp_als(X, 2)


class TestExplicitZeros:
    coords, values = [[0, 1, 2], [1, 0, 2]], np.array([0.0, 2.0, 0.0])

    @pytest.mark.parametrize("format", [named.COO(), named.CSR(), named.ALTO(2), named.HiCOO(2, 2)])
    def test_are_kept_where_entries_are_known(self, format):
        X = build(format, self.coords, self.values, (3, 3))
        assert entries(X)[1].size == 3
        assert entries(convert(X, named.DCSC()))[1].size == 3

    def test_are_places_like_others_where_all_cells_have_one(self):
        X = build(named.Dense(2), self.coords, self.values, (3, 3))
        assert entries(X)[1].tolist() == [2.0]


class TestLinearIndicesOfManyBits:
    shape = (2**30, 2**29, 2**28)

    @pytest.mark.parametrize(
        "format",
        [
            named.ALTO(3),
            named.Morton(3),
            named.LCO(3),
            named.BLCO(3, 32),
            named.BLCO(3, 64),
            named.HiCOO(3, 2**16),
            named.HiCOO(3, 2),
            named.CSF(3),
        ],
        ids=str,
    )
    def test_are_read_back(self, format):
        rng = np.random.default_rng(0)
        coords = np.array([rng.integers(0, length, 50) for length in self.shape])
        X = build(format, coords, np.arange(1.0, 51.0), self.shape)
        read, values = entries(X)
        order = np.argsort(values)
        np.testing.assert_array_equal(read[:, order], coords)
        again = convert(convert(X, named.COO(3)), format)
        np.testing.assert_array_equal(again.values, X.values)

    def test_a_divisor_that_cannot_be(self):
        format = Format("(i, j, k) -> (alto(i, j, k)/3 : compressed, alto(i, j, k)%3 : compressed)")
        with pytest.raises(ValueError, match="3 is no power of two"):
            build(format, np.zeros((3, 1), int), [1.0], self.shape)


class TestWrongInput:
    def test_another_number_of_modes(self):
        with pytest.raises(ValueError, match="has 2 modes, the shape .* has 3"):
            build(named.CSR(), np.zeros((3, 0), int), [], (1, 2, 3))
        X = build(named.CSR(), [[0], [1]], [1.0], (2, 2))
        with pytest.raises(ValueError, match="has 3 modes, the tensor has 2"):
            convert(X, named.CSF(3))

    def test_out_of_bounds(self):
        with pytest.raises(ValueError, match="mode 1 has the coordinate 5 at position 0"):
            build(named.CSR(), [[0], [5]], [1.0], (2, 2))

    def test_a_coordinate_twice(self):
        with pytest.raises(ValueError, match="a coordinate is repeated"):
            build(named.CSR(), [[1, 0, 1], [1, 0, 1]], [1.0, 2.0, 3.0], (2, 2))

    def test_values_of_another_length(self):
        with pytest.raises(ValueError, match="values: 2 values for 1 coordinates"):
            build(named.CSR(), [[0], [1]], [1.0, 2.0], (2, 2))

    def test_more_coordinates_than_places(self):
        format = Format("(i, j) -> (i : dense, j : structured(2))")
        with pytest.raises(ValueError, match=r"a parent needs 3 places and structured\(2\) has 2"):
            build(format, [[0, 0, 0], [0, 1, 2]], [1.0, 2.0, 3.0], (1, 4))

    def test_more_places_than_can_be_counted(self):
        with pytest.raises(ValueError, match="compress a level"):
            build(named.Dense(3), np.zeros((3, 1), int), [1.0], (2**30, 2**30, 2**30))


@pytest.mark.parametrize(
    ("format", "types"),
    [(named.HiCOO(3), ["int16", "int8", "int8", "int8"]), (named.COO(3), ["int16", "int32", "int64"])],
)
def test_coordinates_take_the_narrowest_type(format, types):
    shape = (1000, 70_000, 2**40) if format == named.COO(3) else (2000, 1500, 500)
    X = build(format, np.zeros((3, 1), int), [1.0], shape)
    assert [str(X.crd(level).dtype) for level in range(len(types))] == types


class TestStoredTensors:
    def stored(self, format=None):
        return build(format or named.CSR(), [[0, 1], [1, 2]], [5.0, 6.0], (3, 3))

    def test_are_equal_where_format_and_arrays_are(self):
        X = self.stored()
        assert self.stored() == X
        assert pickle.loads(pickle.dumps(X)) == X
        assert X != 2 * X
        assert self.stored(named.DCSR()) != X
        assert X.to_format(named.ALTO(2)) != X
        with pytest.raises(TypeError, match="unhashable"):
            hash(X)

    def test_a_level_that_is_not_there(self):
        with pytest.raises(IndexError, match=r"level: 2 is outside \[0, 2\)"):
            self.stored().pos(2)

    def test_types(self):
        assert self.stored().astype(np.float32).dtype == np.float32

    def test_large_coordinates_are_drawn_to_the_last_digit(self):
        X = build(named.LCO(2), [[2**40], [3]], [1.0], (2**41, 4))
        assert str(2**42 + 3) in X.describe()

    def test_memory_that_is_not_there_names_the_level(self):
        with pytest.raises(MemoryError, match=r"format: j : delta\(3\) in the shape"):
            build("(i, j) -> (i : compressed, j : delta(3))", [[0], [2**50]], [1.0], (1, 2**51))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (named.CSR, r"CSR makes a format; call it, as in formats.CSR\(\)"),
        ("CSR", "gpualto.formats has names"),
    ],
)
def test_names_in_place_of_formats(wrong, problem):
    X = gpualto.Tensor.from_coo([[0], [1]], [1.0], (2, 2))
    with pytest.raises((TypeError, ValueError), match=problem):
        X.to_format(wrong)


class TestCoordinatesThatNoLevelHolds:
    @pytest.mark.parametrize(
        ("text", "shape"),
        [
            ("(i, j) -> (alto(i, j) : delta(8))", (2**40, 2**40)),
            ("(i, j) -> (alto(i, j) : structured(1))", (2**40, 2**40)),
            ("(i, j) -> (alto(i, j) : dense)", (2**40, 2**40)),
            ("(i, j, k) -> (i : compressed, alto(j, k) : dense)", (2, 2**40, 2**40)),
            ("(i) -> (i : structured(3))", (2**63,)),
            ("(i, j) -> (i+j : compressed, j : compressed)", (2**63, 2**63)),
        ],
    )
    @pytest.mark.parametrize("nnz", [0, 2])
    def test_are_refused_before_anything_is_stored(self, text, shape, nnz):
        coords = [np.array([1, 0][:nnz], np.int64)] * len(shape)
        with pytest.raises(
            ValueError, match="^format: .* has coordinates up to [0-9]* in the shape .* less than 2"
        ):
            build(text, coords, np.ones(nnz), shape)

    def test_places_are_counted_before_memory_is_asked_for(self):
        with pytest.raises(ValueError, match=r"i : structured\(.*\) in the shape \(4,\) needs [0-9]* bytes"):
            build("(i) -> (i : structured(2^70))", [[1]], np.ones(1), (4,))
        with pytest.raises(
            (ValueError, MemoryError), match=r"^format: .*in the shape \(2147483648, 2147483648\)"
        ):
            build(named.Dense(2), [[1], [1]], np.ones(1), (2**31, 2**31))

    @pytest.mark.parametrize("shape", [(1, 2**32, 2**32), (1, 2**24, 2**24, 2**16), (2**33, 1, 2**32)])
    def test_modes_of_length_one_take_no_room_in_sort_keys(self, shape):
        rng = np.random.default_rng(0)
        coords = np.array([rng.integers(0, length, 9) for length in shape])
        for format in (named.COO(len(shape)), named.CSF(len(shape))):
            read, values = entries(build(format, coords, np.arange(9.0), shape))
            np.testing.assert_array_equal(read[:, np.argsort(values)], coords)

    @pytest.mark.parametrize("text", ["(i) -> (lin(i) : compressed)", "(i) -> (i : compressed)"])
    def test_the_longest_mode(self, text):
        X = build(text, [[2**63 - 1, 5]], np.array([1.0, 2.0]), (2**63,))
        assert entries(X)[0].tolist() == [[5, 2**63 - 1]]
