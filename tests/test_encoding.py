import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualto import AltoEncoding
from tests.cases import case
from tests.oracle import shapes_of_width

PAPER_SHAPE = (4, 8, 2)
PAPER_COORDS = np.array([(1, 0, 0), (3, 1, 1), (0, 3, 0), (2, 2, 1), (3, 4, 0), (1, 6, 1)]).T
WIDTHS = [31, 32, 33, 63, 64, 65, 72, 127, 128, 129, 190]


def as_integers(index):
    """Return linear indices as Python integers, the words put together."""
    rows = zip(*(word.tolist() for word in index), strict=True)
    return [sum(word << 64 * number for number, word in enumerate(row)) for row in rows]


def linearize_one(encoding, coordinates):
    """Return a linear index bit by bit, by the rule of the paper."""
    positions, position = {}, 0
    order = sorted(range(encoding.ndim), key=lambda n: (encoding.shape[n] - 1).bit_length())
    for bit in range(64):
        for mode in order:
            if bit < (encoding.shape[mode] - 1).bit_length():
                positions[mode, bit] = position
                position += 1
    return sum((coordinates[mode] >> bit & 1) << place for (mode, bit), place in positions.items())


def some_coordinates(shape, seed, count=20):
    """Return random coordinates, the first and the last cell among them."""
    rng = np.random.default_rng(seed)
    rows = [[0, length - 1, *rng.integers(0, length, count).tolist()] for length in shape]
    return np.array(rows, np.int64)


def test_the_example_of_the_paper():
    encoding = AltoEncoding(PAPER_SHAPE)
    assert encoding.masks == (0xA, 0x34, 0x1)
    assert encoding.nbits == 6
    assert encoding.layout == "j2 j1 i1 j0 i0 k0"
    (index,) = encoding.linearize(PAPER_COORDS)
    assert index.dtype == np.uint32
    assert index.tolist() == [2, 15, 20, 25, 42, 51]
    np.testing.assert_array_equal(encoding.delinearize((index,)), PAPER_COORDS)


def test_it_prints_masks_bits_words_and_layout():
    assert str(AltoEncoding(PAPER_SHAPE)).splitlines() == [
        "4 x 8 x 2: 6 bits in uint32",
        "  j2 j1 i1 j0 i0 k0",
        "  mode 0 = i  length 4  bits 2  mask 0x0a",
        "  mode 1 = j  length 8  bits 3  mask 0x34",
        "  mode 2 = k  length 2  bits 1  mask 0x01",
    ]


@pytest.mark.parametrize(
    ("nbits", "words"),
    [
        (1, ["uint32"]),
        (32, ["uint32"]),
        (33, ["uint64"]),
        (64, ["uint64"]),
        (65, ["uint64", "uint8"]),
        (72, ["uint64", "uint8"]),
        (73, ["uint64", "uint16"]),
        (97, ["uint64", "uint64"]),
        (96, ["uint64", "uint32"]),
        (128, ["uint64", "uint64"]),
        (129, ["uint64", "uint64", "uint8"]),
        (190, ["uint64", "uint64", "uint64"]),
    ],
)
def test_the_index_takes_the_fewest_bytes_in_words(nbits, words):
    encoding = AltoEncoding([2] * nbits)
    assert [str(word) for word in encoding.words] == words
    assert encoding.index_nbytes == sum(np.dtype(word).itemsize for word in words)


@pytest.mark.parametrize("nbits", WIDTHS)
@settings(max_examples=25)
@given(data=st.data())
def test_round_trip_at_every_width(nbits, data):
    encoding = AltoEncoding(data.draw(shapes_of_width(nbits)))
    coords = some_coordinates(encoding.shape, data.draw(st.integers(0, 2**32)))
    index = encoding.linearize(coords)
    assert encoding.nbits == nbits
    assert tuple(word.dtype for word in index) == encoding.words
    np.testing.assert_array_equal(encoding.delinearize(index), coords)
    assert as_integers(index) == [linearize_one(encoding, column) for column in coords.T.tolist()]


@settings(max_examples=100)
@given(data=st.data())
def test_masks_are_disjoint_and_fill_the_index(data):
    encoding = AltoEncoding(data.draw(shapes_of_width(data.draw(st.integers(1, 200)))))
    assert sum(encoding.masks) == (1 << encoding.nbits) - 1
    assert tuple(mask.bit_count() for mask in encoding.masks) == encoding.bits_per_mode


@settings(max_examples=50)
@given(data=st.data())
def test_the_order_of_each_mode_is_kept_along_itself(data):
    """With the other coordinates fixed, a larger coordinate has a larger index."""
    encoding = AltoEncoding(data.draw(shapes_of_width(data.draw(st.sampled_from(WIDTHS)))))
    mode = data.draw(st.integers(0, encoding.ndim - 1))
    pair = some_coordinates(encoding.shape, 0, count=0)[:, :1].repeat(2, axis=1)
    pair[mode] = sorted(data.draw(st.tuples(*[st.integers(0, encoding.shape[mode] - 1)] * 2)))
    low, high = as_integers(encoding.linearize(pair))
    assert low <= high
    assert (low == high) == (pair[mode, 0] == pair[mode, 1])


@pytest.mark.parametrize("shape", [(1,), (1, 1, 1), (1, 5, 1), (0, 3), (2**63, 2)])
def test_modes_of_length_one_and_extreme_lengths(shape):
    encoding = AltoEncoding(shape)
    coords = np.array([[max(length - 1, 0)] for length in shape])[:, : all(shape)]
    index = encoding.linearize(coords)
    np.testing.assert_array_equal(encoding.delinearize(index), coords)
    assert encoding.bits_per_mode == tuple(max(length - 1, 0).bit_length() for length in shape)


def test_63_64_and_65_bits_round_trip():
    inputs, expected = case("bits-boundary")
    for shape, nbits in zip(inputs["shapes"], expected["bits"], strict=True):
        encoding = AltoEncoding(shape)
        assert encoding.nbits == nbits
        last = np.array([[length - 1, length - 1] for length in shape])
        last[-1, 1] = 0
        np.testing.assert_array_equal(encoding.delinearize(encoding.linearize(last)), last)
        assert as_integers(encoding.linearize(last))[0] == 2**nbits - 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("step", [1, 3, -1])
def test_coordinates_of_any_integer_type_and_stride(dtype, step):
    rng = np.random.default_rng(0)
    wide = rng.integers(0, [[100], [3], [120]], (3, 90)).astype(dtype)
    coords = wide[:, ::step]
    encoding = AltoEncoding((100, 3, 120))
    np.testing.assert_array_equal(encoding.delinearize(encoding.linearize(coords)), coords)
    np.testing.assert_array_equal(encoding.delinearize(encoding.linearize(tuple(coords))), coords)


def test_more_nonzeros_than_a_block():
    coords = np.stack([np.arange(100_000) % 1000, np.arange(100_000)])
    encoding = AltoEncoding((1000, 100_000))
    np.testing.assert_array_equal(encoding.delinearize(encoding.linearize(coords)), coords)


def test_coordinates_out_of_bounds_name_mode_position_and_value():
    with pytest.raises(ValueError, match="mode 1 has the coordinate 8 at position 2"):
        AltoEncoding(PAPER_SHAPE).linearize([[0, 1, 2], [0, 7, 8], [0, 1, 0]])


def test_the_wrong_number_of_modes_or_words_is_refused():
    encoding = AltoEncoding(PAPER_SHAPE)
    with pytest.raises(ValueError, match="2 modes were given for a shape of 3"):
        encoding.linearize([[0], [0]])
    with pytest.raises(ValueError, match="2 words were given, this encoding has 1"):
        encoding.delinearize((np.zeros(1, np.uint64),) * 2)


def test_one_word_needs_no_tuple():
    assert AltoEncoding((4,)).delinearize(np.array([3], np.uint32)).tolist() == [[3]]


def test_equal_shapes_are_equal_encodings():
    assert AltoEncoding([4, 8]) == AltoEncoding((4, 8))
    assert len({AltoEncoding([4, 8]), AltoEncoding((4, 8)), AltoEncoding((8, 4))}) == 2


def test_many_modes_are_named_by_number():
    assert AltoEncoding([2] * 20).layout.split()[0] == "d19:0"
