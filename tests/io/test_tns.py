import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import Tensor, read, write
from gpualto.io import tns_bulk
from gpualto.io.files import DataFileError
from gpualto.io.tns import read_tns
from gpualto.testing import assert_tensors_equal
from tests.cases import DATA, case, data_file
from tests.oracle import random_tensor, small_tensors


@pytest.fixture
def file(tmp_path):
    """Return a function that makes a file of some text."""

    def make(text, name="x.tns"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


@pytest.fixture(params=["arrow", "numpy", "lines"])
def parser(request, monkeypatch):
    """Run a test with each way to parse a body; all have to agree."""
    if request.param == "numpy":
        monkeypatch.setattr(tns_bulk, "_parse_with_arrow", tns_bulk._parse_with_numpy)
    if request.param == "lines":

        def refuse(body, ndim):
            raise tns_bulk.NotCleanError

        monkeypatch.setattr(tns_bulk, "parse", refuse)
    return request.param


def assert_holds(X, expected):
    """Check a tensor against coordinates, one row a nonzero, values and shape."""
    got = dict(zip(map(tuple, X.coords.T.tolist()), X.values.tolist(), strict=True))
    assert got == dict(zip(map(tuple, expected["coords0"]), expected["vals"], strict=True))
    assert X.shape == tuple(expected["shape"])


class TestIndexBase:
    def test_it_is_one_by_default_and_zero_on_request(self, file, parser):
        given, expected = case("tns-base")
        assert_holds(read(file(given["file"])), expected)
        assert_holds(read(file(given["file0"]), index_base=0), expected)

    def test_a_zero_in_a_file_counted_from_one_is_refused(self, file, parser):
        given, expected = case("tns-zero-in-1based")
        message = "line 1: mode 0: the index 0 is below the index base 1; use index base 0"
        with pytest.raises(DataFileError, match=message):
            read(file(given["file"]))
        assert_holds(read(file(given["file"]), index_base=0), expected["index_base=0"])

    def test_auto_is_one_guess_for_the_whole_file(self, file, parser):
        given, expected = case("tns-mixed-base")
        for base in ("auto", 0):
            X = read(file(given["file"]), index_base=base)
            assert (sorted(X.coords.T.tolist()), list(X.shape)) == (
                expected["index_base=0"]["coords0"],
                expected["index_base=0"]["shape"],
            )
        assert read(file("1 2 3.0\n"), index_base="auto").shape == (1, 2)
        assert read(file("sptensor\n2\n2 2\n0\n"), index_base="auto").nnz == 0

    @pytest.mark.parametrize("name", ["file_a", "file_b", "file_c", "file_d"])
    def test_the_word_of_the_header_decides(self, file, name, parser):
        given, expected = case("tns-header-base")
        path = file(given[name])
        if name == "file_a":
            with pytest.raises(DataFileError, match="line 5: mode 0: the index 0 is below the index base 1"):
                read(path)
            assert_holds(read(path, index_base=0), expected["all_four"])
        else:
            assert_holds(read(path), expected["all_four"])

    def test_a_word_in_the_header_against_the_argument(self, file):
        with pytest.raises(ValueError, match="0 was given, and the header of .* says that it is 1"):
            read(file(case("tns-header-base")[0]["file_c"]), index_base=0)

    @pytest.mark.parametrize("base", [2, "1", None, -1])
    def test_other_bases_are_refused(self, file, base):
        with pytest.raises(ValueError, match='^index_base: expected 0, 1 or "auto"'):
            read(file("1 1 1.0\n"), index_base=base)

    def test_a_file_that_mixes_bases(self):
        with pytest.raises(DataFileError, match=r"splatt-small4_zeroidx\.tns: line 2: mode 3: the index 0"):
            read(DATA / "splatt-small4_zeroidx.tns")


class TestShape:
    def test_an_index_beyond_the_header_names_the_place(self, file, parser):
        with pytest.raises(DataFileError, match="line 6: mode 1: the index 3 is beyond the length 2"):
            read(file(case("tns-bounds")[0]["file"]))

    def test_empty_trailing_slices_come_back(self, tmp_path, parser):
        given, expected = case("tns-roundtrip-shape")
        path = tmp_path / "x.tns"
        write(path, Tensor.from_coo(np.array(given["coords0"]).T, given["vals"], given["shape"]))
        assert list(read(path).shape) == expected["own file"]
        bare = tmp_path / "bare.tns"
        bare.write_text("".join(line for line in path.read_text().splitlines(True) if line[0] != "#"))
        assert list(read(bare).shape) == expected["bare"]
        assert list(read(bare, shape=(3, 5, 6)).shape) == expected["with shape"]
        with pytest.raises(DataFileError, match="mode 1: the index . is beyond the length 1"):
            read(bare, shape=(3, 1, 6))

    def test_an_argument_goes_before_the_header(self, file):
        assert read(file("# dims: 2 2\n1 1 1.0\n"), shape=(5, 6)).shape == (5, 6)

    def test_an_argument_of_other_modes_is_refused(self, file, parser):
        with pytest.raises(DataFileError, match="line 1: expected 3 indices and a value, got 3 fields"):
            read(file("1 1 1.0\n"), shape=(5, 6, 7))

    def test_order_and_dims_on_two_lines(self, file, parser):
        given, expected = case("tns-parti-header")
        assert_holds(read(file(given["file"])), expected)

    def test_a_tensor_of_one_mode(self, file, parser):
        assert read(file("3 1.5\n1 2\n")).todense().tolist() == [2.0, 0.0, 1.5]


class TestHeader:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("tensor\n3\n", "line 1: holds a 'tensor', expected 'sptensor'"),
            ("# a\nktensor\n", "line 2: holds a 'ktensor'"),
            ("sptensor base-7\n", "line 1: after 'sptensor' expected nothing, .* got 'base-7'"),
            ("sptensor\n", "the header ends before the number of modes"),
            ("sptensor\n2\n3 4 5\n", "line 3: expected the length of each mode, 2 integers, got '3 4 5'"),
            ("sptensor\n2\n3 4\nx\n", "line 4: expected the number of nonzeros, 1 integer, got 'x'"),
            ("sptensor\n0\n\n0\n", "line 4: expected the length of each mode, 0 integers, got '0'"),
            ("3\n4 2\n1 1 1 1.0\n", "line 2: expected the length of each mode, 3 integers, got '4 2'"),
            ("3\n", "the header ends before the length of each mode"),
        ],
    )
    def test_one_that_does_not_go_on_as_it_should(self, file, text, message):
        with pytest.raises(DataFileError, match=message):
            read(file(text))

    @pytest.mark.parametrize("lines", ["", "1 1 1.0\n1 2 1.0\n"])
    def test_the_number_of_nonzeros_is_checked(self, file, lines):
        with pytest.raises(DataFileError, match=f"declares 1 nonzeros, the file has {len(lines) // 8}"):
            read(file("sptensor\n2\n3 4\n1\n" + lines))

    def test_only_a_comment_of_integers_declares_a_shape(self, file):
        assert read(file("# dims: about 3 4\n1 1 1.0\n")).shape == (1, 1)
        assert read(file("%dims: 3 4\n1 1 1.0\n")).shape == (3, 4)


class TestText:
    def test_one_line_no_line_and_exact_indices(self, file, parser):
        given, expected = case("tns-one-nonzero")
        one = read(file(given["file_one"]))
        assert (one.coords.T.tolist(), list(one.shape)) == (
            expected["one"]["coords0"],
            expected["one"]["shape"],
        )
        none = read(file(given["file_none"]))
        assert (none.nnz, list(none.shape)) == (expected["none"]["nnz"], expected["none"]["shape"])
        assert read(file(given["file_big"])).coords.T.tolist() == expected["big"]["coords0"]

    @pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
    def test_nothing_needs_a_shape(self, file, text, parser):
        with pytest.raises(DataFileError, match="has no nonzeros and declares no shape"):
            read(file(text))
        assert read(file(text), shape=(2, 3)).shape == (2, 3)

    @pytest.mark.parametrize("suffix", [".tns", ".tns.gz", ".tns.bz2", ".tns.xz", ".TNS", ".tns.GZ"])
    @pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
    @pytest.mark.parametrize("ending", [b"", b"\r\n"])
    def test_comments_blanks_tabs_line_ends_and_compression(self, file, suffix, bom, ending, parser):
        given, expected = case("tns-dirty")
        text = bom + given["file"].encode().rstrip() + ending
        packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
        packed = packers.get(suffix.lower()[4:], bytes)(text)
        assert_holds(read(file(packed, f"x{suffix}")), expected)

    @pytest.mark.parametrize(
        "text",
        [
            "1 1 5 # five\n",
            "% a\n1 1 5\n",
            "1 1 +5\n",
            "+1 01 5.\n",
            "\t1\t \t1  5\t\n",
            "1 1 5e0\r1 2 0\r",
            "1\v1\f5\n",
            "  1 1 .5E+1",
        ],
    )
    def test_ways_to_write_five(self, file, text, parser):
        assert read(file(text))[0, 0] == 5.0

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1 1 1.0\n1 1\n", "line 2: expected 2 indices and a value, got 2 fields"),
            ("1 1 1.0\n\n1 1 1 1.0\n", "line 3: expected 2 indices and a value, got 4 fields"),
            ("1 x 1.0\n", "line 1: mode 1: the index 'x' is not an integer"),
            ("1.0 1 1.0\n", "line 1: mode 0: the index '1.0' is not an integer"),
            ("1e3 1 1.0\n", "line 1: mode 0: the index '1e3' is not an integer"),
            ("1_0 1 1.0\n", "line 1: mode 0: the index '1_0' is not an integer"),
            ("1 -2 1.0\n", "line 1: mode 1: the index -2 is below the index base 1$"),
            ("-9223372036854775808 1 1\n", "line 1: mode 0: the index -9223372036854775808 is below"),
            ("9223372036854775809 1 1\n", r"mode 0: the index 9223372036854775809 is beyond 2\*\*63"),
            ("1 1 1,5\n", "line 1: the value '1,5' is not a number"),
            ("1 1 1.0D+3\n", r"line 1: the value '1\.0D\+3' is not a number"),
            ("1 1 1_0\n", "line 1: the value '1_0' is not a number"),
            (
                "1,1,1.0\n",
                "line 1: expected 1 indices and a value, got 1 fields; they are separated by blanks, not by commas",
            ),
            (b"\x00\x01\x02\n1 1 1.0\n", "line 1: expected"),
        ],
    )
    def test_every_refusal_names_file_line_and_mode(self, file, text, message, parser):
        with pytest.raises(DataFileError, match=rf"x\.tns: .*{message}"):
            read(file(text))

    def test_the_largest_index(self, file, parser):
        assert read(file(f"{2**63} 1 1.0\n")).coords.tolist() == [[2**63 - 1], [0]]

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
    def test_values_not_finite_are_read(self, file, value, parser):
        np.testing.assert_array_equal(read(file(f"1 1 {value}\n")).values, [float(value)])

    def test_duplicates_follow_the_policy_and_name_the_file(self, file):
        path = file("1 1 1.0\n1 1 2.0\n")
        assert read(path).values.tolist() == [3.0]
        with pytest.raises(DataFileError, match=r"x\.tns: coords: 1 surplus entries"):
            read(path, duplicates="error")

    def test_the_parsers_agree_to_the_bit(self, monkeypatch):
        path = data_file("splatt-med5")
        arrow = read_tns(path)
        monkeypatch.setattr(tns_bulk, "_parse_with_arrow", tns_bulk._parse_with_numpy)
        numpy = read_tns(path)
        np.testing.assert_array_equal(arrow.coords, numpy.coords)
        assert arrow.values.tobytes() == numpy.values.tobytes()

    def test_without_arrow_numpy_parses(self, file, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
        assert read(file("1 2 3.5\n"))[0, 1] == 3.5


class TestWriting:
    @settings(max_examples=25)
    @given(
        X=small_tensors(), base=st.sampled_from([0, 1]), suffix=st.sampled_from(["", ".gz", ".xz", ".bz2"])
    )
    def test_round_trip(self, tmp_path_factory, X, base, suffix):
        path = tmp_path_factory.mktemp("out") / f"x.tns{suffix}"
        write(path, X, index_base=base)
        assert_tensors_equal(read(path, index_base=base), X)

    def test_float32_keeps_its_digits_and_no_more(self, tmp_path):
        X = Tensor.from_coo([[0, 1]], np.array([0.1, 1 / 3], np.float32))
        write(tmp_path / "x.tns", X)
        assert "\n1 0.1\n" in (tmp_path / "x.tns").read_text()
        assert_tensors_equal(read(tmp_path / "x.tns").astype(np.float32), X)

    def test_more_nonzeros_than_are_written_at_once(self, tmp_path):
        X = random_tensor(0, (300, 400, 2), 90_000)
        write(tmp_path / "x.tns", X)
        assert_tensors_equal(read(tmp_path / "x.tns"), X)

    def test_the_largest_coordinate(self, tmp_path):
        X = Tensor.from_coo([[2**63 - 1]], [1.0])
        write(tmp_path / "x.tns", X)
        assert_tensors_equal(read(tmp_path / "x.tns"), X)

    @pytest.mark.parametrize("name", ["x.xlsx", "x", "x.gz", "x.tns.zip"])
    def test_other_suffixes_are_refused(self, tmp_path, name):
        with pytest.raises(ValueError, match=r"does not end in \.tns"):
            write(tmp_path / name, random_tensor(0, (2, 2), 2))
        with pytest.raises(ValueError, match=r"does not end in \.tns"):
            read(tmp_path / name)

    def test_other_bases_are_refused(self, tmp_path):
        with pytest.raises(ValueError, match="^index_base: expected 0 or 1"):
            write(tmp_path / "x.tns", random_tensor(0, (2, 2), 2), index_base=2)

    def test_nothing_is_left_of_a_write_that_fails(self, tmp_path, monkeypatch):
        path = tmp_path / "x.tns"
        path.write_text("1 1 5.0\n")

        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(gpualto.io.tns, "_lines_of", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write(path, random_tensor(0, (2, 2), 2))
        assert path.read_text() == "1 1 5.0\n"
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_damaged_compressed_file_is_named(file, suffix):
    packed = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix](b"1 1 1.0\n" * 99)
    for damaged in (packed[:-9], b"1 1 1.0\n"):
        with pytest.raises(DataFileError, match=rf"x\.tns{suffix}: damaged {suffix} file"):
            read(file(damaged, f"x.tns{suffix}"))


def test_a_missing_file_is_missing(tmp_path):
    for name in ("x.tns", "x.tns.gz", "x.npz"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / name)
