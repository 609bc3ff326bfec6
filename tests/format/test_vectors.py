"""Arrays of every format as other implementations make them; `vectors.json` says where each entry is from."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpualto.format import Format, FormatError, build, convert, decode, entries

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())

CAUSES = {
    "(i, i) -> (i : dense)": "dimension i is repeated",
    "(i, j) -> (i : dense)": "dimension j is unused",
    "(i) -> (j : dense)": "unknown dimension j",
    "(i) -> (i / 4 : compressed)": "division without modulo",
    "(i) -> (i % 4 : dense)": "modulo without division",
    "(i) -> (i % 4 : dense, i / 4 : compressed)": "modulo before division",
    "(i) -> (i / 4 : compressed, i % 2 : dense)": "the modulo differs from the divisor",
    "(i) -> (i / 0 : compressed, i % 0 : dense)": "must be positive, got 0",
    "(i) -> (i / 4 : dense, i / 2 : dense, i % 2 : dense)": "i / 4 is stored twice",
    "(i, j) -> (i : compressed, j : range)": "range without a sum or difference",
    "(i, j) -> (i : range, j-i : compressed)": "the range stands before its sum or difference",
    "(i, j) -> (i : dense, j : singleton)": "the parent, a dense level, can have none or several",
    "(i) -> (i : singleton)": "the parent, a root, can have none or several",
    "(i) -> (i-i : compressed, i : range)": "both sides of i-i are about one dimension",
    "(i, j) -> (j-i : dense, i : range)": "j-i can be negative",
    "(i, j) -> (j-i : compressed, i : range, j : dense)": "j is stored twice",
    "(i, j) -> (i : dense(nonunique), j : compressed)": "dense takes no properties",
}


def names(vectors):
    return [vector["name"] for vector in vectors]


def built(vector):
    format = Format(vector["format"])
    values = np.array(vector["values_in"], float)
    coords = np.array(vector["coords"], np.int64).reshape(values.size, format.ndim).T
    return build(format, list(coords), values, vector["extents"])


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=names(VECTORS["vectors"]))
def test_arrays(vector):
    X = built(vector)
    for level in range(len(X.format.levels)):
        pos, crd = vector["pos"][level], vector["crd"][level]
        if vector["name"] == "empty DCSR" and level == 1:
            assert pos == []  # its maker's; ours begins with 0 under no parent too, as `about` says
            pos = [0]
        assert X.pos(level).tolist() == pos
        assert X.crd(level).tolist() == crd
    assert X.values.tolist() == vector["values"]


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=names(VECTORS["vectors"]))
def test_entries_are_what_was_given(vector):
    coords, values = entries(built(vector))
    given = {tuple(c): v for c, v in zip(vector["coords"], vector["values_in"], strict=True)}
    read = dict(zip(map(tuple, coords.T.tolist()), values.tolist(), strict=True))
    assert read == {c: v for c, v in given.items() if v != 0 or c in read}


@pytest.mark.parametrize("vector", VECTORS["vectors"][1:], ids=names(VECTORS["vectors"][1:]))
def test_through_coordinates_and_back(vector):
    """All but the scalar, which comes first and has one format."""
    X = built(vector)
    names = ", ".join(X.format.names)
    first, *others = X.format.names
    kind = "compressed(nonunique)" if others else "compressed"
    levels = ", ".join([f"{first} : {kind}", *(f"{name} : singleton" for name in others)])
    back = convert(convert(X, Format(f"({names}) -> ({levels})")), X.format)
    for level in range(len(X.format.levels)):
        np.testing.assert_array_equal(back.pos(level), X.pos(level))
        np.testing.assert_array_equal(back.crd(level), X.crd(level))
    np.testing.assert_array_equal(back.values, X.values)


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=names(VECTORS["vectors"]))
def test_positions_outside_the_tensor_are_told_from_the_others(vector):
    X = built(vector)
    coords, stored = decode(X, np.arange(X.values.size))
    assert not X.values[~stored].any()
    for mode, length in enumerate(X.shape):
        assert (coords[mode] >= 0).all()
        assert (coords[mode] < max(length, 1)).all()
    cells = list(map(tuple, coords[:, stored].T.tolist()))
    assert len(set(cells)) == len(cells)


@pytest.mark.parametrize("text", [vector["format"] for vector in VECTORS["invalid"] + VECTORS["unsound"]])
def test_unsound_formats_are_refused_with_their_cause(text):
    with pytest.raises(FormatError) as error:
        Format(text)
    assert CAUSES[text] in error.value.problem
    assert str(error.value).splitlines()[1] == f"  {text}"


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=names(VECTORS["vectors"]))
def test_printing_gives_back_the_text(vector):
    assert str(Format(vector["format"])) == vector["format"]
