"""Tables in files, against what pandas writes and reads."""

import numpy as np
import pandas as pd
import pytest

import gpualto
from gpualto import Tensor, read_table
from gpualto.io import DataFileError

FRAME = pd.DataFrame({"carrier": ["UA", "AA", "UA"], "hour": [7, 15, 7], "count": [3.0, 1.5, 2.0]})
WRITERS = {
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".csv.gz": lambda path: FRAME.to_csv(path, index=False),
    ".csv.bz2": lambda path: FRAME.to_csv(path, index=False),
    ".tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    ".tsv.xz": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    ".parquet": FRAME.to_parquet,
    ".CSV": lambda path: FRAME.to_csv(path, index=False),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_suffix_gives_the_same_tensor(tmp_path, suffix):
    WRITERS[suffix](tmp_path / f"a{suffix}")
    X = read_table(tmp_path / f"a{suffix}", ["carrier", "hour"], "count")
    assert X.labels[0].entries == ("AA", "UA")
    assert X.todense().tolist() == [[0, 1.5], [5, 0]]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_what_is_written_is_read_again(tmp_path, suffix):
    X = gpualto.datasets.flights()
    gpualto.write(tmp_path / f"a{suffix}", X)
    again = read_table(tmp_path / f"a{suffix}", ["carrier", "dest", "hour", "month"], "value")
    assert again == X
    assert again.labels == X.labels
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]


def test_text_is_taken_as_it_stands(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        '"a, b",when\n"x\ny",2013-01-05\n"null","2013-02-01"\n"NA",2013-02-01\n', encoding="utf-8"
    )
    X = read_table(path, ["a, b", gpualto.bins.time("when", "month")])
    assert X.labels[0].entries == ("NA", "null", "x\ny")
    assert X.labels[1].entries == ("2013-01", "2013-02")


@pytest.mark.parametrize("missing", ['""', "", "NA"])
def test_nothing_between_quotes_is_no_value(tmp_path, missing):
    path = tmp_path / "a.csv"
    path.write_text(f'"who","n"\n"ann",1\n{missing},2\n"NA",3\n"bob",{missing}\n', encoding="utf-8")
    with pytest.raises(DataFileError, match="column 'who': rows without a value .*: 1, the first row 1"):
        read_table(path, ["who"])
    X = read_table(path, ["who"], "n", missing="drop")
    assert X.labels[0].entries == ("NA", "ann")
    assert X.values.tolist() == [3, 1]


def test_times_with_an_offset_are_the_same_by_file_and_by_frame(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("when\n2024-05-03T23:30:00-05:00\n2024-05-03T23:30:00+02:00\n")
    modes = [gpualto.bins.time("when", "hour")]
    for X in (read_table(path, modes), Tensor.from_dataframe(pd.read_csv(path), modes)):
        assert X.labels[0].entries == ("2024-05-03 23h",)


def test_columns_with_both_kinds_of_no_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('k,n,id\na,10,18446744073709551617\nb,"",18446744073709551618\nc,NA,""\nd,7,3\n')
    X = read_table(path, ["k"], "n", missing="drop")
    assert X.values.tolist() == [10, 7]
    assert read_table(path, ["n"], missing="drop").labels[0].entries == ("7", "10")
    ids = read_table(path, ["id"], missing="drop").labels[0].entries
    assert ids == ("3", "18446744073709551617", "18446744073709551618")


@pytest.mark.parametrize("other", ["1.5", "1" * 40, " 7"])
def test_long_integers_among_others_are_kept_apart(tmp_path, other):
    path = tmp_path / "a.csv"
    path.write_text(f"id\n18446744073709551617\n18446744073709551618\n{other}\n")
    assert len(read_table(path, ["id"]).labels[0].entries) == 3


def test_integers_keep_their_digits(tmp_path):
    path = tmp_path / "a.csv"
    numbers = [12345678901234567892, 12345678901234567890, 9, 12345678901234567891, 10**30]
    path.write_text(
        "id,v,w\n" + "".join(f"{number},1e300,{number}\n" for number in numbers), encoding="utf-8"
    )
    X = read_table(path, ["id"], "v")
    assert X.labels[0].entries == tuple(map(str, sorted(numbers)))
    assert X.values.tolist() == [1e300] * 5
    with pytest.raises(DataFileError, match=r"column 'w': 12345678901234567892 in row 0 .* no exact float64"):
        read_table(path, ["id"], "w")


def test_what_a_file_that_is_no_csv_may_be(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"user;n\nann;1\n")
    with pytest.raises(DataFileError, match="column 'user': .*; the columns seem to be separated by ';'"):
        read_table(path, ["user"])
    path.write_bytes("café,n\nZoë,1\n".encode("latin-1").replace(b"caf\xe9", b"cafe"))
    with pytest.raises(DataFileError, match="column 'cafe': is not UTF-8 text; save the file as UTF-8"):
        read_table(path, ["cafe"])


def test_only_the_columns_that_are_needed_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\nx,1,2\ny,oops,3\n")
    assert read_table(path, ["a"], "c").values.tolist() == [2, 3]
    with pytest.raises(
        DataFileError, match=r"a\.csv: column 'b': expected numbers, got text such as 'oops' in row 1"
    ):
        read_table(path, ["a"], "b")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"a,b\n1,2\n3\n", r"a\.csv: CSV parse error: Expected 2 columns, got 1"),
        ("a.csv", b"", r"a\.csv: Empty CSV file"),
        ("a.csv", b"a,b\n", r"a\.csv: the table has no rows"),
        ("a.csv", b"c,d\n1,2\n", r"a\.csv: column 'a': not in the table, which has c, d"),
        ("a.csv", b"a,a\n1,2\n", r"a\.csv: column 'a': is there 2 times"),
        ("a.csv", b"a,b\n,2\n", r"a\.csv: column 'a': rows without a value"),
        ("a.csv.gz", b"a,b\n1,2\n", r"a\.csv\.gz: damaged \.gz file"),
        ("a.parquet", b"nothing of the kind", r"a\.parquet: .*magic bytes"),
        ("a.csv", b"a,b\n\xff,2\n", r"a\.csv: "),
    ],
)
def test_damaged_files_are_named_with_the_reason(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=message):
        read_table(tmp_path / name, ["a"])


def test_names_that_are_no_tables(tmp_path):
    with pytest.raises(ValueError, match=r"does not end in \.csv, \.tsv \(also compressed\) or \.parquet"):
        read_table("a.xlsx", ["a"])
    with pytest.raises(ValueError, match=r"a table is read by gpualto\.read_table"):
        gpualto.read("a.csv")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "missing.csv", ["a"])
    with pytest.raises(ValueError, match="columns value, value have to differ"):
        gpualto.write(tmp_path / "a.csv", Tensor.from_coo([[0]], [1.0], labels={"value": None}))
    assert list(tmp_path.iterdir()) == []


def test_parquet_keeps_types_and_categories(tmp_path):
    sizes = pd.Categorical(["L", "S"], ["S", "M", "L"], ordered=True)
    pd.DataFrame({"size": sizes, "v": np.array([1, 2], np.float32)}).to_parquet(tmp_path / "a.parquet")
    X = read_table(tmp_path / "a.parquet", ["size"], "v")
    assert X.labels[0].entries == ("S", "M", "L")
    assert X.dtype == np.float32
