"""Tensors of tables, against what pandas counts and sums."""

import datetime
import decimal
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualto
from gpualto import Tensor
from gpualto.labels import ModeLabels

FLIGHTS = {"carrier": ["UA", "AA", "UA", "AA"], "hour": [7, 15, 7, 9], "count": [3, 1, 2, -1]}


def as_frame(X, value="value"):
    """Return the entries of a tensor as a DataFrame with the labels in place of coordinates."""
    columns = {
        item.name: np.array(item.entries)[coordinate]
        for item, coordinate in zip(X.labels, X.coords, strict=True)
    }
    return pd.DataFrame({**columns, value: X.values}).sort_values(list(columns), ignore_index=True)


@pytest.mark.parametrize(
    "df",
    [
        FLIGHTS,
        pd.DataFrame(FLIGHTS),
        pd.DataFrame(FLIGHTS).convert_dtypes(),
        pl.DataFrame(FLIGHTS),
        pa.table(FLIGHTS),
        pa.concat_tables([pa.table(FLIGHTS).slice(0, 1), pa.table(FLIGHTS).slice(1)]),
        pa.RecordBatchReader.from_batches(pa.table(FLIGHTS).schema, pa.table(FLIGHTS).to_batches()),
        {name: np.array(column) for name, column in FLIGHTS.items()},
        {name: pd.Series(column) for name, column in FLIGHTS.items()},
        {name: pl.Series(column) for name, column in FLIGHTS.items()},
    ],
    ids=[
        "lists",
        "pandas",
        "nullable",
        "polars",
        "pyarrow",
        "chunks",
        "stream",
        "numpy",
        "series",
        "polars series",
    ],
)
def test_the_same_tensor_of_any_table(df):
    X = Tensor.from_dataframe(df, ["carrier", "hour"], "count")
    assert X.labels == (ModeLabels("carrier", ("AA", "UA")), ModeLabels("hour", ("7", "9", "15")))
    assert X.todense().tolist() == [[0, -1, 1], [5, 0, 0]]
    assert X.dtype == np.float64


class TestAgainstPandas:
    rows = st.lists(
        st.tuples(
            st.sampled_from(["b", "a", "ü", "Z", ""]),
            st.integers(-3, 12),
            st.floats(-1e6, 1e6, width=32) | st.just(-0.0),
            st.floats(-1e9, 1e9),
        ),
        min_size=1,
        max_size=60,
    )

    @given(rows)
    def test_rows_are_counted(self, rows):
        df = pd.DataFrame(rows, columns=["text", "integer", "float", "value"])
        X = Tensor.from_dataframe(df, ["text", "integer"])
        expected = pd.crosstab(df["text"], df["integer"])
        assert X.labels[0].entries == tuple(expected.index)
        assert X.labels[1].entries == tuple(map(str, expected.columns))
        np.testing.assert_array_equal(X.todense(), expected)

    @given(rows, st.sampled_from(["sum", "mean", "min", "max", "count"]))
    def test_rows_of_equal_coordinates_are_aggregated(self, rows, aggregate):
        df = pd.DataFrame(rows, columns=["text", "integer", "float", "value"])
        X = Tensor.from_dataframe(df, ["float", "integer", "text"], "value", aggregate=aggregate)
        expected = df.groupby(["float", "integer", "text"])["value"].agg(aggregate)
        assert X.nnz == len(expected)
        for mode, name in enumerate(["float", "integer", "text"]):
            distinct = sorted(set(df[name]))
            places = expected.index.get_level_values(name).map({key: n for n, key in enumerate(distinct)})
            assert len(X.labels[mode].entries) == len(distinct)
            order = np.lexsort(X.coords[::-1])
            np.testing.assert_array_equal(X.coords[mode, order], places)
        np.testing.assert_allclose(X.values[order], expected, rtol=1e-12, atol=1e-5)

    def test_sums_do_not_depend_on_threads(self):
        rng = np.random.default_rng(0)
        df = pa.table({"a": rng.integers(0, 3, 300_000), "v": rng.standard_normal(300_000)})
        first, second = (Tensor.from_dataframe(df, ["a"], "v") for _ in range(2))
        assert first == second


def test_flights_row_by_row_and_back():
    X = gpualto.datasets.flights()
    df = as_frame(X, "count").sample(frac=1, random_state=0)
    again = Tensor.from_dataframe(df, ["carrier", "dest", "hour", "month"], "count")
    assert again == X
    assert again.labels == X.labels


class TestOrder:
    @pytest.mark.parametrize(
        ("column", "entries"),
        [
            ([10, 9, -1], ("-1", "9", "10")),
            ([10.0, 9.0, 10.0], ("9", "10")),
            ([0.5, 2.0, 1e20, float("-inf")], ("-inf", "0.5", "2", "1e+20")),
            (np.array([0.1, 2.0], np.float32), ("0.1", "2")),
            (np.array([0.5, 2.0], np.float16), ("0.5", "2")),
            ([0.0, -0.0], ("0",)),
            ([True, False], ("False", "True")),
            (["b", "B", "a", ""], ("", "B", "a", "b")),
            ([decimal.Decimal("2.50"), decimal.Decimal("10.00")], ("2.50", "10.00")),
            ([datetime.date(2013, 2, 1), datetime.date(999, 1, 1)], ("0999-01-01", "2013-02-01")),
            (pd.to_datetime(["2013-02-01", "2012-12-31"]), ("2012-12-31", "2013-02-01")),
            (
                pd.to_datetime(["2013-02-01 00:00", "2012-12-31 07:30"]),
                ("2012-12-31 07:30:00", "2013-02-01 00:00:00"),
            ),
            (pd.to_datetime(["2013-02-01 00:00:00.25"]), ("2013-02-01 00:00:00.250",)),
            (pd.to_datetime(["2013-02-01 00:00:00.000000001"]), ("2013-02-01 00:00:00.000000001",)),
            (
                pd.to_datetime(["2013-02-01 07:00"]).tz_localize("America/New_York"),
                ("2013-02-01 07:00:00-0500",),
            ),
            ([datetime.time(7, 30), datetime.time(6)], ("06:00:00", "07:30:00")),
            (np.array(["2013-02", "2012-02"], "datetime64[D]"), ("2012-02-01", "2013-02-01")),
        ],
        ids=str,
    )
    def test_labels_stand_in_the_order_of_the_values(self, column, entries):
        X = Tensor.from_dataframe({"a": column}, ["a"])
        assert X.labels[0].entries == entries
        assert X.values.sum() == len(column)

    def test_ordered_categories_are_kept_with_those_that_no_row_has(self):
        sizes = pd.Categorical(["L", "S", "L"], ["S", "M", "L"], ordered=True)
        for df in (
            pd.DataFrame({"size": sizes}),
            pl.DataFrame({"size": pl.Series(["L", "S", "L"], dtype=pl.Enum(["S", "M", "L"]))}),
            pa.table({"size": pa.chunked_array([pa.array(sizes[:1]), pa.array(sizes[1:])])}),
        ):
            X = Tensor.from_dataframe(df, ["size"])
            assert X.labels[0].entries == ("S", "M", "L")
            assert X.todense().tolist() == [1, 0, 2]

    def test_other_categories_are_values_like_others(self):
        sizes = pd.Categorical(["L", "S", "L"], ["S", "M", "L"])
        for df in (
            pd.DataFrame({"size": sizes}),
            pl.DataFrame({"size": pl.Series(["L", "S", "L"], dtype=pl.Categorical)}),
        ):
            X = Tensor.from_dataframe(df, ["size"])
            assert X.labels[0].entries == ("L", "S")
            assert X.todense().tolist() == [2, 1]


class TestValues:
    @pytest.mark.parametrize(
        ("column", "dtype"),
        [
            ([True, False], np.float64),
            ([decimal.Decimal("1.00"), decimal.Decimal("0.00")], np.float64),
            (np.array([1, 0], np.uint8), np.float64),
            (np.array([1, 0], np.float16), np.float32),
            (np.array([1, 0], np.float32), np.float32),
        ],
    )
    def test_types(self, column, dtype):
        X = Tensor.from_dataframe({"a": [0, 1], "v": column}, ["a"], "v")
        assert X.dtype == dtype
        assert X.values.tolist() == [1, 0]

    def test_32_bits_are_summed_in_64(self):
        values = np.array([2**24, 1, 1], np.float32)
        assert Tensor.from_dataframe({"a": [0, 0, 0], "v": values}, ["a"], "v")[0] == 2**24 + 2

    def test_sums_of_zero_are_stored(self):
        X = Tensor.from_dataframe({"a": [0, 0, 1], "v": [1, -1, 2]}, ["a"], "v")
        assert (X.nnz, X.values.tolist()) == (2, [0, 2])

    def test_a_column_may_be_mode_and_value(self):
        assert Tensor.from_dataframe({"a": [2, 2]}, ["a"], "a")[0] == 4

    def test_the_largest_integers_are_exact(self):
        assert Tensor.from_dataframe({"a": [0], "v": [-(2**53)]}, ["a"], "v")[0] == -(2**53)


class TestErrors:
    def test_names_that_are_no_text(self):
        assert Tensor.from_dataframe({1: [1, 2]}, ["1"]).labels[0].entries == ("1", "2")

    @pytest.mark.parametrize("column", [5, "text", None])
    def test_what_is_no_column(self, column):
        with pytest.raises(ValueError, match="column 'a': expected an array or a list, got"):
            Tensor.from_dataframe({"a": column}, ["a"])

    def test_a_series_is_no_table(self):
        with pytest.raises(ValueError, match=r"^df: is a single column; .* reset_index\(\)"):
            Tensor.from_dataframe(pd.DataFrame({"a": [1, 1]}).groupby("a").size(), ["a"])

    def test_integers_that_arrow_has_no_type_for(self):
        with pytest.raises(ValueError, match="df: pyarrow cannot convert it"):
            Tensor.from_dataframe(pd.DataFrame({"a": [2**70, 1]}, dtype=object), ["a"])

    @pytest.mark.parametrize("number", [decimal.Decimal("9007199254740993"), 2**53 + 1, -(2**53) - 1])
    def test_integers_without_an_exact_float(self, number):
        with pytest.raises(ValueError, match="column 'v': -?9007199254740993 in row 1 .* no exact float64"):
            Tensor.from_dataframe(pd.DataFrame({"a": [0, 1], "v": [1, number]}, dtype=object), ["a"], "v")

    @pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT, pd.NA])
    def test_rows_without_a_value(self, missing):
        kinds = {None: ["a", None, None], pd.NaT: pd.to_datetime(["2013-01-01", None, None])}
        df = pd.DataFrame({"a": [1, 2, 3], "b": kinds.get(missing, [1.0, missing, missing])})
        if missing is pd.NA:
            df["b"] = df["b"].astype("Int64")
        for arguments in [(["a", "b"],), (["a"], "b")]:
            with pytest.raises(
                ValueError, match=r"column 'b': rows without a value .*: 2, the first row 1"
            ) as error:
                Tensor.from_dataframe(df, *arguments)
            assert 'missing="drop" leaves them out' in str(error.value)
        assert Tensor.from_dataframe(df, ["a", "b"], missing="drop").nnz == 1

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([1.0, float("nan")]),
            pa.array(["a", None]).dictionary_encode(),
            pa.DictionaryArray.from_arrays([0, None], ["a"], ordered=True),
            pa.DictionaryArray.from_arrays([0, 1], ["a", None], ordered=True),
            pa.array([None, None]),
            pd.Categorical(["a", None], ordered=True),
        ],
        ids=["nan", "dictionary", "ordered", "null category", "nothing", "categorical"],
    )
    def test_nulls_of_all_kinds(self, column):
        with pytest.raises(ValueError, match="column 'a': rows without a value"):
            Tensor.from_dataframe({"a": column}, ["a"])

    def test_rows_are_dropped_as_pandas_drops_them(self):
        rng = np.random.default_rng(0)
        df = pd.DataFrame(
            {"a": rng.choice(["x", "y", None], 90), "b": rng.choice([1.5, np.nan], 90), "c": None}
        )
        X = Tensor.from_dataframe(df, ["a"], "b", missing="drop")
        expected = df.dropna(subset=["a", "b"]).groupby("a")["b"].sum()
        assert dict(zip(X.labels[0].entries, X.todense(), strict=True)) == expected.to_dict()
        with pytest.raises(ValueError, match="df: every row is without a value in one of the columns a, c"):
            Tensor.from_dataframe(df, ["a", "c"], missing="drop")

    @pytest.mark.parametrize("df", [FLIGHTS, pd.DataFrame(FLIGHTS), pl.DataFrame(FLIGHTS)])
    def test_a_column_that_is_not_there(self, df):
        message = "column 'dest': not in the table, which has carrier, hour, count"
        with pytest.raises(ValueError, match=message):
            Tensor.from_dataframe(df, ["carrier", "dest"])
        with pytest.raises(ValueError, match=message):
            Tensor.from_dataframe(df, ["carrier"], "dest")

    def test_a_column_that_is_there_twice(self):
        with pytest.raises(ValueError, match="column 'a': is there 2 times"):
            Tensor.from_dataframe(pd.DataFrame([[1, 2]], columns=["a", "a"]), ["a"])
        with pytest.raises(ValueError, match="column 'a': is there 2 times"):
            Tensor.from_dataframe(pa.table([[1], [2]], names=["a", "a"]), ["a"])

    @pytest.mark.parametrize(
        ("modes", "options", "message"),
        [
            ([], {}, "modes: a tensor has at least one mode"),
            (["hour", "hour"], {}, "modes: 'hour' is there twice"),
            (["hour", gpualto.bins.number("hour", 2)], {}, "modes: 'hour' is there twice"),
            (["hour"], {"value": "carrier"}, "column 'carrier': expected numbers, got "),
            (["hour"], {"aggregate": "median"}, "aggregate: expected one of sum, count, mean, min, max"),
            (["hour"], {"missing": "keep"}, "missing: expected one of error, drop, got 'keep'"),
            (["hour"], {"aggregate": "mean"}, "value: aggregate='mean' needs a column of values"),
        ],
    )
    def test_arguments(self, modes, options, message):
        with pytest.raises(ValueError, match=message):
            Tensor.from_dataframe(FLIGHTS, modes, **options)

    def test_modes_that_are_no_list_of_columns(self):
        with pytest.raises(TypeError, match=r"write modes=\['hour'\]"):
            Tensor.from_dataframe(FLIGHTS, "hour")
        with pytest.raises(
            TypeError, match="modes: expected names of columns, or bins of gpualto.bins, got 3"
        ):
            Tensor.from_dataframe(FLIGHTS, ["hour", 3])

    @pytest.mark.parametrize("df", [3, object(), pl.LazyFrame(FLIGHTS), None], ids=str)
    def test_what_is_no_table(self, df):
        with pytest.raises(TypeError, match="df: expected a table of pandas"):
            Tensor.from_dataframe(df, ["hour"])

    def test_no_rows(self):
        with pytest.raises(ValueError, match="df: the table has no rows"):
            Tensor.from_dataframe(pd.DataFrame(FLIGHTS).head(0), ["hour"])

    @pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1, -(2**63)])
    def test_integers_that_float64_cannot_hold(self, large):
        with pytest.raises(ValueError, match=rf"column 'v': {large} in row 1 \(from 0\) is beyond 2\*\*53"):
            Tensor.from_dataframe({"a": [0, 0], "v": [1, large]}, ["a"], "v")

    def test_unsigned_integers_that_float64_cannot_hold(self):
        with pytest.raises(ValueError, match="is beyond 2"):
            Tensor.from_dataframe({"a": [0], "v": np.array([2**64 - 1], np.uint64)}, ["a"], "v")

    def test_columns_that_arrow_has_no_type_for(self):
        df = pd.DataFrame({"a": [1, "x"], "b": [1, 2]})
        assert Tensor.from_dataframe(df, ["b"]).nnz == 2
        with pytest.raises(ValueError, match="df: pyarrow cannot convert it: .*column a"):
            Tensor.from_dataframe(df, ["a"])
        with pytest.raises(ValueError, match="df: pyarrow cannot convert it: .*expected length 2"):
            Tensor.from_dataframe({"a": [1, 2], "b": [1]}, ["a", "b"])

    @pytest.mark.parametrize(
        "column",
        [
            pd.cut([1, 5], [0, 3, 6]),
            pd.period_range("2013-01", periods=2, freq="M"),
            pd.to_timedelta([1, 2], unit="h"),
            pa.array([[1], [2]]),
            pa.array([b"\xff", b""]),
        ],
        ids=["intervals", "periods", "durations", "lists", "bytes"],
    )
    def test_types_without_labels(self, column):
        df = pa.table({"a": column}) if isinstance(column, pa.Array) else pd.DataFrame({"a": column})
        with pytest.raises(ValueError, match=r"column 'a': .* makes no labels; turn it into text"):
            Tensor.from_dataframe(df, ["a"])

    def test_intervals_of_pandas_by_the_remedy(self):
        df = pd.DataFrame({"a": pd.cut([1, 50, 5], [0, 3, 6, 7, 60])})
        df["a"] = df["a"].cat.rename_categories(str)
        assert Tensor.from_dataframe(df, ["a"]).labels[0].entries == ("(0, 3]", "(3, 6]", "(6, 7]", "(7, 60]")

    def test_categories_that_repeat(self):
        column = pa.DictionaryArray.from_arrays([0, 1], ["a", "a"], ordered=True)
        with pytest.raises(ValueError, match="column 'a': categories repeat"):
            Tensor.from_dataframe({"a": column}, ["a"])

    def test_without_pyarrow_the_pip_command_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(ImportError, match=r'a table needs pyarrow, .*pip install "gpualto\[cpu\]"'):
            Tensor.from_dataframe(FLIGHTS, ["hour"])
