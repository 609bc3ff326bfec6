"""Code that is written for a format: by hypothesis as Python, for the common formats compiled."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualto
from gpualto import formats
from gpualto.backends.cpu import generated
from gpualto.format.source import UnwritableError, arrays_of, write_decoder
from tests.format.formats import formats as random_formats
from tests.format.test_storage import SLOW, with_room
from tests.oracle import dense_mttkrp, random_factors, random_tensor

SHAPE = (40, 50, 30)
FORMATS = [
    formats.COO(3),
    formats.CSF(3, (2, 0, 1)),
    formats.HiCOO(3, 8),
    formats.Morton(3),
    formats.LCO(3),
    gpualto.Format("(i, j, k) -> (i : dense, k-j : compressed, j : range)"),
    gpualto.Format("(i, j, k) -> (k : dense, i/3 : compressed, i%3 : dense, j : delta(1))"),
]


def gather(word, mask):
    """Gather bits, in Python."""
    places = [bit for bit in range(64) if int(mask) >> bit & 1]
    return np.uint64(sum((int(word) >> bit & 1) << n for n, bit in enumerate(places)))


def entries_by_source(X, start, stop):
    """Run the code for mode 0 as it is, on some positions, and return what it would add."""
    found = {}

    def add_product(rows, value, bases, coords, stride, width):
        assert rows == coords[0] * stride
        cell = tuple(map(int, coords))
        assert cell not in found
        found[cell] = value

    text = generated.mttkrp_source(X.format, X.shape, 0, 8, 8, False)
    scope = {"U": np.uint64, "I": np.int64, "number": float, "gather": gather, "add_product": add_product}
    scope["parent_of"] = lambda pos, place: np.uint64(np.searchsorted(pos, int(place), side="right") - 1)
    exec(text.replace("range(start, stop)", "map(U, range(start, stop))"), scope)
    with np.errstate(over="ignore"):
        scope["kernel"](
            X.values,
            tuple(arrays_of(X, write_decoder(X.format, X.shape, generated.PYTHON))),
            np.uint64(start),
            np.uint64(stop),
            (),
            np.uint64(0),
        )
    return found


NAMED = [
    function for name, function in vars(formats).items() if inspect.isfunction(function) and name[0].isupper()
]


@pytest.mark.parametrize("make", NAMED)
def test_named_formats(make):
    parameters = inspect.signature(make).parameters
    arguments = [3] if "ndim" in parameters else [2, 2][: len(parameters)]
    format = make(*arguments)
    X = random_tensor(0, (6, 4, 8)[: format.ndim], 20).to_format(format)
    stored = X if isinstance(X, gpualto.StoredTensor) else X._stored()
    coords, values = X.entries()
    desired = dict(zip(map(tuple, coords.T.tolist()), values.tolist(), strict=True))
    assert entries_by_source(stored, 0, stored.nse) == desired


@st.composite
def problems(draw):
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=ndim, max_size=ndim)))
    X = random_tensor(draw(st.integers(0, 999)), shape, draw(st.integers(1, 30)))
    return with_room(X.to_format, draw(random_formats(ndim))), draw(st.floats(0, 1))


@settings(SLOW, max_examples=200)
@given(problems())
def test_any_two_runs_of_positions_have_all_entries(problem):
    X, share = problem
    if isinstance(X, gpualto.Tensor):
        X = X._stored()
    cut = int(share * X.nse)
    first, second = entries_by_source(X, 0, cut), entries_by_source(X, cut, X.nse)
    assert not set(first) & set(second)
    coords, values = X.entries()
    desired = dict(zip(map(tuple, coords.T.tolist()), values.tolist(), strict=True))
    assert {**first, **second} == desired


class TestLinearIndicesOfManyBits:
    shape = (2**30, 2**29, 2**28)

    @pytest.mark.parametrize(
        "format", [formats.Morton(3), formats.LCO(3), formats.HiCOO(3, 2**16), formats.CSF(3)], ids=str
    )
    def test_are_decoded(self, format):
        rng = np.random.default_rng(0)
        coords = [rng.integers(0, length, 40) for length in self.shape]
        X = gpualto.Tensor.from_coo(coords, np.arange(1.0, 41.0), self.shape).to_format(format)
        cells = map(tuple, np.array(coords).T.tolist())
        assert entries_by_source(X, 0, 40) == dict(zip(cells, np.arange(1.0, 41.0), strict=True))

    def test_no_code_is_written_where_they_are_cut(self):
        format = formats.BLCO(3, 32)
        with pytest.raises(UnwritableError):
            write_decoder(format, self.shape, generated.PYTHON)
        X = gpualto.Tensor.from_coo([[5], [6], [7]], [2.0], self.shape).to_format(format)
        assert "by the reference" in generated.explain(X, 0)
        assert "def mttkrp" in gpualto.source("mttkrp", X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_compiled(format, dtype):
    X = random_tensor(0, SHAPE, 2000, dtype).to_format(format)
    factors = random_factors(0, SHAPE, 5, dtype)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    desired = dense_mttkrp(X.todense(), factors, 1)
    np.testing.assert_allclose(X.mttkrp(factors, 1), desired, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shared", [False, True])
def test_several_threads(monkeypatch, shared):
    monkeypatch.setattr(generated.threads, "count", lambda: 3)
    monkeypatch.setattr(generated, "_POSITIONS_PER_SEGMENT", 100)
    monkeypatch.setattr(generated, "_PRIVATE_ROWS_PER_POSITION", 0 if shared else 1)
    X = random_tensor(0, SHAPE, 2000).to_format(formats.CSF(3))
    assert ("atomically" in generated.explain(X, 0)) == shared
    factors = random_factors(0, SHAPE, 5)
    np.testing.assert_allclose(X.mttkrp(factors, 0), dense_mttkrp(X.todense(), factors, 0))


def test_deterministic_whatever_the_number_of_threads(monkeypatch):
    X = random_tensor(0, SHAPE, 2000).to_format(formats.CSF(3))
    factors = random_factors(0, SHAPE, 5)
    monkeypatch.setattr(generated, "_POSITIONS_PER_SEGMENT", 100)
    results = []
    for count in (1, 3):
        monkeypatch.setattr(generated.threads, "count", lambda count=count: count)
        results.append(X.mttkrp(factors, 0, deterministic=True).tobytes())
    assert results[0] == results[1]


def test_rows_of_several_panels():
    X = random_tensor(0, (4, 5), 12).to_format(formats.CSR())
    factors = random_factors(0, (4, 5), 300)
    np.testing.assert_allclose(X.mttkrp(factors, 0), dense_mttkrp(X.todense(), factors, 0))


def test_bits_without_the_instruction():
    for word, mask in [
        (0, 0),
        (0b101010, 0x34),
        (2**64 - 1, 0x8000_0000_0000_0001),
        (0xDEADBEEF, 0xF0F0F0F0),
    ]:
        assert generated._gather(np.uint64(word), np.uint64(mask)) == gather(word, mask)


def test_the_source_can_be_read():
    X = random_tensor(0, SHAPE, 20)
    text = gpualto.source("mttkrp", X.to_format(formats.CSF(3)), mode=1, rank=8)
    assert "add_product(rows + x1 * U(64), number(values[position]), bases, coords, 64, 64)" in text
    assert "mttkrp_kernel" in gpualto.source("mttkrp", X)
