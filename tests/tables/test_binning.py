"""Bins, against what pandas makes of the same times and numbers."""

import datetime
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualto import Tensor, bins

times = st.lists(
    st.datetimes(datetime.datetime(1969, 12, 1), datetime.datetime(2031, 2, 3)), min_size=1, max_size=30
)


def one_mode(column, make, *arguments, **options):
    """Return the labels, and how many rows each has."""
    X = Tensor.from_dataframe({"a": column}, [make("a", *arguments, **options)])
    return X.labels[0].entries, X.todense().tolist()


class TestTime:
    @pytest.mark.parametrize(
        ("by", "label"),
        [
            ("year", lambda t: f"{t:%Y}"),
            ("quarter", lambda t: f"{t.year}-Q{t.quarter}"),
            ("month", lambda t: f"{t:%Y-%m}"),
            ("week", lambda t: f"{t.isocalendar().year}-W{t.isocalendar().week:02}"),
            ("day", lambda t: f"{t:%Y-%m-%d}"),
            ("hour", lambda t: f"{t:%Y-%m-%d %H}h"),
        ],
    )
    @given(times)
    def test_spans_stand_in_the_order_of_time(self, by, label, times):
        series = pd.Series(pd.to_datetime(times))
        expected = series.map(label).value_counts().sort_index()
        labels, counts = one_mode(series, bins.time, by)
        assert labels == tuple(expected.index)
        assert counts == expected.tolist()

    @pytest.mark.parametrize(
        ("by", "first", "label"),
        [
            ("month of year", ("Jan", "Feb"), lambda t: f"{t:%b}"),
            ("weekday", ("Mon", "Tue"), lambda t: f"{t:%a}"),
            ("hour-of-day", ("00h", "01h"), lambda t: f"{t:%H}h"),
        ],
    )
    @given(times)
    def test_what_returns_is_there_as_a_whole(self, by, first, label, times):
        series = pd.Series(pd.to_datetime(times))
        labels, counts = one_mode(series, bins.time, by)
        assert labels[:2] == first
        assert len(labels) == {"month of year": 12, "weekday": 7, "hour-of-day": 24}[by]
        assert counts == [sum(label(t) == name for t in series) for name in labels]

    def test_zones_are_kept(self):
        utc = pd.to_datetime(["2013-01-01 03:00", "2013-07-01 03:00"]).tz_localize("UTC")
        there = utc.tz_convert("America/New_York")
        labels, counts = one_mode(there, bins.time, "hour of day")
        assert [label for label, count in zip(labels, counts, strict=True) if count] == ["22h", "23h"]
        assert one_mode(there, bins.time, "day")[0] == ("2012-12-31", "2013-06-30")

    def test_dates_have_days_and_no_hours(self):
        days = [datetime.date(2013, 1, 5), datetime.date(2012, 2, 29)]
        assert one_mode(days, bins.time, "day")[0] == ("2012-02-29", "2013-01-05")
        with pytest.raises(ValueError, match="column 'a': dates have no hour of day"):
            one_mode(days, bins.time, "hour of day")

    def test_the_name_of_the_mode_says_the_span(self):
        days = {"when": [datetime.date(2013, 1, 5)]}
        X = Tensor.from_dataframe(days, [bins.time("when", "month"), bins.time("when", "weekday")])
        assert [item.name for item in X.labels] == ["when by month", "when by weekday"]
        X = Tensor.from_dataframe(days, [bins.time("when", "month", name="month")])
        assert X.labels[0].name == "month"
        assert bins.number("a", 2, name="b").name == bins.number("a", edges=[0, 1], name="b").name == "b"

    def test_texts_in_iso_form_are_times(self):
        texts = ["2013-01-05 07:10", "2013-03-01T08:00:00", "2012-12-31"]
        assert one_mode(texts, bins.time, "month")[0] == ("2012-12", "2013-01", "2013-03")
        assert one_mode(pd.Series(texts), bins.time, "month")[0] == ("2012-12", "2013-01", "2013-03")

    @pytest.mark.parametrize("row", [0, 1, 17, 98, 99])
    def test_a_text_that_is_no_time_is_found(self, row):
        texts = ["2013-01-05"] * 100
        texts[row] = "tomorrow"
        with pytest.raises(
            ValueError, match=rf"column 'a': row {row} \(from 0\) holds 'tomorrow', which is no time"
        ):
            one_mode(texts, bins.time, "day")

    def test_what_is_no_time_is_refused_with_a_remedy(self):
        with pytest.raises(ValueError, match=r"column 'a': bins of time .* pandas\.to_datetime\(df\['a'\]\)"):
            one_mode([1.5], bins.time, "day")
        with pytest.raises(ValueError, match="by: expected one of year, quarter, .*, got 'century'"):
            bins.time("a", "century")


class TestNumber:
    @given(
        st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50),
        st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6, unique=True),
    )
    def test_every_number_is_in_its_interval(self, numbers, inner):
        edges = [-np.inf, *sorted(inner), np.inf]
        labels, counts = one_mode(numbers, bins.number, edges=edges)
        assert counts == [sum(low <= n < high for n in numbers) for low, high in pairwise(edges)]
        assert len(labels) == len(edges) - 1

    @given(st.lists(st.integers(-50, 50) | st.floats(-50, 50), min_size=1, max_size=60), st.integers(1, 7))
    def test_quantiles_are_numbers_of_the_column_and_all_rows_are_in_a_bin(self, numbers, count):
        numbers = np.array(numbers, float)
        labels, counts = one_mode(numbers, bins.number, count)
        assert sum(counts) == len(numbers)
        assert 1 <= len(labels) <= count
        edges = [float(end) for label in labels for end in label[1:-1].split(", ")]
        assert set(edges) <= set(numbers)
        assert (min(edges), max(edges)) == (numbers.min(), numbers.max())

    def test_distinct_numbers_are_shared_out_evenly(self):
        assert one_mode(np.arange(100), bins.number, 4) == (
            ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 99]"),
            [25, 25, 25, 25],
        )

    def test_a_number_that_fills_more_than_a_bin_leaves_fewer(self):
        assert one_mode([0] * 9 + [1, 2], bins.number, 4) == (("[0, 2]",), [11])
        assert one_mode([3.5], bins.number, 5) == (("[3.5, 3.5]",), [1])

    def test_the_last_edge_belongs_to_the_last_interval_and_empty_ones_are_kept(self):
        assert one_mode([0, 10, 30], bins.number, edges=[0, 10, 20, 30]) == (
            ("[0, 10)", "[10, 20)", "[20, 30]"),
            [1, 1, 1],
        )
        assert one_mode([0], bins.number, edges=[0, 1, 2])[1] == [1, 0]

    def test_numbers_outside_the_edges_are_not_dropped(self):
        message = r"column 'a': values outside the edges 0 to 1: 2, the first, 1.5, in row 1 \(from 0\)"
        with pytest.raises(ValueError, match=message):
            one_mode([0.5, 1.5, -3.0], bins.number, edges=[0, 1])

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            ((), {}, "count, edges: pass one of them"),
            ((3,), {"edges": [0, 1]}, "count, edges: pass one of them"),
            ((0,), {}, "count: expected a number of bins of at least 1, got 0"),
            ((True,), {}, "count: expected a number of bins"),
            ((), {"edges": [0]}, "edges: expected two or more increasing numbers"),
            ((), {"edges": [0, 0]}, "edges: expected two or more increasing numbers"),
            ((), {"edges": [0, float("nan")]}, "edges: expected two or more increasing numbers"),
        ],
    )
    def test_bins_that_are_none(self, arguments, options, message):
        with pytest.raises(ValueError, match=message):
            bins.number("a", *arguments, **options)

    def test_text_has_no_numbers(self):
        with pytest.raises(ValueError, match="column 'a': expected numbers, got text such as 'x' in row 0"):
            one_mode(["x"], bins.number, 2)


def test_texts_are_dates_or_times_with_or_without_a_zone():
    zoned = Tensor.from_dataframe(
        {"t": ["2013-01-01T23:30:00Z", "2013-01-01T23:30:00-02:00"]}, [bins.time("t", "day")]
    )
    assert zoned.labels[0].entries == ("2013-01-01",)
    with pytest.raises(ValueError, match="column 't': dates have no hour of day"):
        Tensor.from_dataframe({"t": ["2013-01-01", "2013-02-01"]}, [bins.time("t", "hour of day")])


def test_edges_are_those_of_the_numbers_type():
    column = {"n": np.array([0.0, 0.1], np.float32)}
    assert Tensor.from_dataframe(column, [bins.number("n", edges=[0, 0.1])]).todense().tolist() == [2]


def test_edges_between_numbers_of_32_bits():
    column = {"n": np.array([16777216, 16777218], np.float32)}
    X = Tensor.from_dataframe(column, [bins.number("n", edges=[16777215, 16777217, 16777219])])
    assert X.labels[0].entries == ("[16777215, 16777217)", "[16777217, 16777219]")
    assert X.todense().tolist() == [1, 1]
    small = {"n": np.array([0.1, 0.3], np.float32)}
    for edges in ([0.1, 0.2, 0.3], [0.1, 0.2, 1e300]):
        assert Tensor.from_dataframe(small, [bins.number("n", edges=edges)]).todense().tolist() == [1, 1]


@pytest.mark.parametrize("zone", ["", "Z", "+02:00", " -0530", "+02"])
def test_texts_show_the_clock_of_their_zone(zone):
    texts = [f"2013-01-05T00:10:00{zone}", f"2013-01-05 23:50{zone}"]
    X = Tensor.from_dataframe({"t": texts}, [bins.time("t", "hour")])
    assert X.labels[0].entries == ("2013-01-05 00h", "2013-01-05 23h")


def test_what_is_no_span_of_time():
    with pytest.raises(ValueError, match="by: expected one of year, .* got 5"):
        bins.time("t", 5)


@pytest.mark.parametrize("by", ["year", "quarter", "month", "week", "day", "hour"])
def test_the_first_and_the_last_nanosecond_of_all(by):
    times = pd.Series([pd.Timestamp.min, pd.Timestamp("1969-12-31 23:59:59.5"), pd.Timestamp.max])
    X = Tensor.from_dataframe({"t": times}, [bins.time("t", by)])
    assert [label[:4] for label in X.labels[0].entries] in (
        ["1677", "1969", "2262"],
        ["1677", "1970", "2262"],
    )
    assert by != "hour" or X.labels[0].entries[1] == "1969-12-31 23h"
