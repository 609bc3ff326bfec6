from __future__ import annotations

import math

import numpy as np
import pytest

import gpualto
from bench.tensors import SPECS, Spec, draw, load
from gpualto import AltoEncoding, Tensor

SMALL = Spec("small", (50, 400, 7), (2.0, 1.0, 3.0), 5000)


def test_the_exponents_that_other_figures_were_measured_with() -> None:
    assert {name: SPECS[name].skew for name in ("nips", "uber", "nell-2", "darpa", "flickr")} == {
        "nips": (2, 2, 2.5, 1.2),
        "uber": (1.2, 1.3, 2, 2),
        "nell-2": (2.5, 2.5, 2.5),
        "darpa": (4, 4, 1.3),
        "flickr": (2.5, 1.5, 2.5, 1.5),
    }


@pytest.mark.parametrize("name", ["uber", "chicago", "enron", "nips"])
def test_draws_are_as_many_as_asked_for_distinct_and_in_bounds(name: str) -> None:
    spec = SPECS[name]
    coords, values = draw(spec, 20_000)
    assert len(np.unique(np.stack(coords), axis=1).T) == values.size == 20_000
    for coordinate, length in zip(coords, spec.shape, strict=True):
        assert coordinate.min() >= 0
        assert coordinate.max() < length
    assert values.min() > 0
    assert values.max() <= 1


def test_an_index_of_two_words_has_no_duplicates() -> None:
    lengths = (2**17 + 1, 2**18, 2**18, 2**17 + 1)
    spec = Spec("wide", lengths, (30.0,) * 4, 20_000)  # so skewed that most draws repeat
    assert len(AltoEncoding(spec.shape).words) == 2
    coords, _ = draw(spec)
    assert len(np.unique(np.stack(coords), axis=1).T) == spec.nnz


def test_the_last_cells_of_a_small_shape_are_found() -> None:
    spec = Spec("full", (6, 5, 4), (2.0, 1.0, 1.5), 120)
    X = Tensor.from_coo(*draw(spec), spec.shape, duplicates="error")
    assert X.nnz == X.size


def test_more_nonzeros_than_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="nnz: small has 140000 cells, fewer than 140001"):
        draw(SMALL, 140_001)


def test_a_name_is_a_seed() -> None:
    first, again = draw(SMALL), draw(SMALL)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    other = draw(Spec("other", SMALL.shape, SMALL.skew, SMALL.nnz))
    assert not np.array_equal(first[0], other[0])


def test_labels_do_not_depend_on_the_number_of_nonzeros() -> None:
    few, many = (draw(SPECS["nips"], nnz)[0][0] for nnz in (2000, 20_000))
    assert np.bincount(few).argmax() == np.bincount(many).argmax()


@pytest.mark.parametrize("mode", [0, 1])
def test_the_skew_is_the_one_stated(mode: int) -> None:
    # The share of a label is that of u with floor(u**a * I) equal to its rank in popularity.
    # The third mode is long, so that hardly any draw repeats.
    spec = Spec("skewed", (20, 30, 10**6), (2.0, 1.0, 1.0), 100_000)
    length, exponent = spec.shape[mode], spec.skew[mode]
    coords, _ = draw(spec)
    counts = np.sort(np.bincount(coords[mode], minlength=length))[::-1]
    expected = np.diff((np.arange(length + 1) / length) ** (1 / exponent)) * spec.nnz
    assert np.abs(counts - expected).max() < 6 * math.sqrt(expected.max())


def test_popular_labels_lie_anywhere_and_nonzeros_in_no_order() -> None:
    coords, _ = draw(SPECS["nips"], 20_000)
    popular = np.argsort(-np.bincount(coords[0]))[:100]
    assert 800 < popular.mean() < 1700  # of 2482
    index = AltoEncoding(SPECS["nips"].shape).linearize(coords)[0]
    assert 0.4 < (np.diff(index.astype(np.int64)) > 0).mean() < 0.6


def test_values_take_the_type_asked_for() -> None:
    assert draw(SMALL, dtype=np.float32)[1].dtype == np.float32


def test_a_file_is_loaded_by_its_path(tmp_path: pytest.TempPathFactory) -> None:
    X = Tensor.from_coo(*draw(SMALL), SMALL.shape)
    path = f"{tmp_path}/small.tns"
    gpualto.write(path, X)
    entries = load(path)
    assert Tensor.from_coo(entries.coords, entries.values, entries.shape) == X
    assert not np.array_equal(np.stack(entries.coords), X.coords)
