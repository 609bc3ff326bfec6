import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import gpualto
from gpualto import CPModel, Tensor
from tests.oracle import random_factors, small_tensors


class TestModels:
    def test_a_row_for_each_entry_that_gives_the_factors_back(self):
        labels = {"who": ["ann", "bob", "eve"], "day": None}
        model = CPModel([2.0, 1.0], random_factors(0, (3, 4), 2), labels)
        table = pd.DataFrame(model.to_table())
        assert table.columns.tolist() == ["component", "mode", "label", "index", "weight"]
        for mode, (name, factor) in enumerate(zip(labels, model.factors, strict=True)):
            part = table[table["mode"] == name].pivot(index="index", columns="component", values="weight")
            np.testing.assert_array_equal(part, factor)
            expected = [model.labels[mode].text(index) for index in range(len(factor))]
            rows = table[(table["mode"] == name) & (table["component"] == 2)]
            assert rows["label"].tolist() == expected

    def test_other_packages_take_it(self):
        columns = CPModel(None, random_factors(0, (3, 4), 2)).to_table()
        assert pl.DataFrame(columns).height == pa.table(columns).num_rows == 14


class TestTensors:
    @given(small_tensors())
    def test_a_row_for_each_nonzero(self, X):
        table = pd.DataFrame(X.to_table())
        assert len(table) == X.nnz
        names = [f"mode {mode}" for mode in range(X.ndim)]
        assert table.columns.tolist() == [*names, "value"]
        again = Tensor.from_coo([table[name].to_numpy() for name in names], table["value"], X.shape)
        assert again == X

    def test_labels_go_out_and_come_back(self):
        X = gpualto.datasets.flights()
        again = Tensor.from_dataframe(X.to_table("count"), [item.name for item in X.labels], "count")
        assert again == X
        assert again.labels == X.labels

    def test_columns_have_to_differ(self):
        X = Tensor.from_coo([[0], [0]], [1.0], labels={"value": None, "b": None})
        assert list(X.to_table("count")) == ["value", "b", "count"]
        with pytest.raises(ValueError, match="value: the columns value, b, value have to differ"):
            X.to_table()


def test_labels_of_any_text_come_through_and_take_room_once():
    long = "x" * 20_000
    X = Tensor.from_coo(
        [np.arange(2000) % 3, np.arange(2000)], np.ones(2000), labels=[["a\0", "b", long], None]
    )
    column = X.to_table()["mode 0"]
    assert set(column) == {"a\0", "b", long}
    assert column.nbytes == 8 * 2000
    assert set(pd.DataFrame(X.to_table())["mode 0"]) == {"a\0", "b", long}
