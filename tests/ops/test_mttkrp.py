import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualto
from gpualto import CPModel, Tensor, formats, mttkrp
from tests.cases import case, case_tensor, factors_of
from tests.oracle import dense_mttkrp, random_factors, random_tensor, small_tensors


@given(small_tensors(), st.integers(1, 5), st.data())
def test_it_equals_the_dense_computation(X, rank, data):
    mode = data.draw(st.integers(-X.ndim, X.ndim - 1))
    factors = random_factors(data.draw(st.integers(0, 99)), X.shape, rank)
    result = mttkrp(X, factors, mode)
    assert result.flags.c_contiguous
    np.testing.assert_allclose(result, dense_mttkrp(X.todense(), factors, mode % X.ndim), atol=1e-10)


@pytest.mark.parametrize("mode", range(4))
def test_four_modes(mode):
    given, expected = case("mttkrp-4way")
    X = Tensor.from_dense(np.arange(1.0, 121).reshape(given["shape"], order="F"))
    result = X.mttkrp([np.ones((length, 2)) for length in X.shape], mode)
    for column in result.T:
        assert column.tolist() == expected["modes"][mode]


def test_more_nonzeros_than_a_chunk_and_any_order():
    X = random_tensor(1, (7, 300, 2, 11, 1, 5), 60_000)
    factors = random_factors(2, X.shape, 33)
    for mode in range(X.ndim):
        np.testing.assert_allclose(
            mttkrp(X, factors, mode), dense_mttkrp(X.todense(), factors, mode), rtol=1e-9, atol=1e-9
        )


def test_one_nonzero():
    given, expected = case("one-nonzero")
    X = case_tensor(given)
    for mode, product in enumerate(expected["mttkrp"]):
        assert mttkrp(X, factors_of(given), mode).tolist() == product


def test_a_list_of_factors_has_no_weights_and_a_model_has():
    given, expected = case("kr-weights")
    X, factors = case_tensor(given), factors_of(given)
    assert mttkrp(X, factors, given["mode"]).tolist() == expected["list_of_factors"]
    model = CPModel(given["weights"], factors)
    assert mttkrp(X, model, given["mode"]).tolist() == expected["with_weights"]


def view_variants(factor):
    """Yield views that are not what their base pointer and shape say."""
    rows, columns = factor.shape
    wide = np.full((rows, 2 * columns), np.nan)
    wide[:, ::2] = factor
    tall = np.full((rows + 9, columns), np.nan)
    tall[5 : 5 + rows] = factor
    yield np.asfortranarray(factor)
    yield wide[:, ::2]
    yield tall[5 : 5 + rows]
    yield factor[::-1].copy()[::-1]


@pytest.mark.parametrize("variant", range(4))
def test_factors_of_any_strides(variant):
    given, expected = case("noncontig")
    X = case_tensor(given)
    factors = [list(view_variants(factor))[variant] for factor in factors_of(given)]
    assert mttkrp(X, factors, 1).tolist() == expected["mttkrp_mode1"]


def test_a_factor_of_one_broadcast_row():
    X = random_tensor(3, (4, 5), 12)
    row = np.broadcast_to([2.0, 3.0], (5, 2))
    np.testing.assert_array_equal(mttkrp(X, [None, row], 0), mttkrp(X, [None, row.copy()], 0))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_types_promote_as_in_numpy(dtype):
    given, expected = case("mixed-dtype")
    X = case_tensor(given, np.float32)
    result = mttkrp(X, [factor.astype(dtype) for factor in factors_of(given)], 0)
    assert result.tolist() == expected["mttkrp_mode0"]
    assert result.dtype == (np.float32 if dtype == "float32" else np.float64)


def test_complex_numbers_are_refused():
    given, _ = case("complex")
    coords = np.array(given["coords0"]).T
    values = np.array(given["vals"]["re"]) + 1j * np.array(given["vals"]["im"])
    factors = [np.array(u["re"]) + 1j * np.array(u["im"]) for u in given["U"]]
    with pytest.raises(TypeError, match="values: complex numbers are not supported, got complex128"):
        Tensor.from_coo(coords, values, given["shape"])
    X = Tensor.from_coo(coords, values.real, given["shape"])
    with pytest.raises(TypeError, match="mode 1: complex numbers are not supported, got complex128"):
        mttkrp(X, factors, 0)


class TestOut:
    def test_it_is_filled_and_returned(self):
        X = random_tensor(4, (4, 5, 6), 30)
        factors = random_factors(5, X.shape, 3)
        out = np.full((5, 3), np.nan)
        assert mttkrp(X, factors, 1, out=out) is out
        np.testing.assert_array_equal(out, mttkrp(X, factors, 1))

    def test_it_may_have_any_strides(self):
        X = random_tensor(4, (4, 5, 6), 30)
        factors = random_factors(5, X.shape, 3)
        out = np.zeros((3, 10)).T[::2]
        np.testing.assert_array_equal(mttkrp(X, factors, 1, out=out), mttkrp(X, factors, 1))

    @pytest.mark.parametrize("backend", ["reference", "cpu"])
    @pytest.mark.parametrize("format", [formats.ALTO(3), formats.COO(3), formats.CSF(3)], ids=str)
    @pytest.mark.parametrize("shape", [(1, 4, 5), (4, 1, 5), (4, 5, 1), (1, 1, 1)])
    def test_nothing_is_written_beside_it(self, monkeypatch, shape, format, backend):
        monkeypatch.setenv("GPUALTO_BACKEND", backend)  # NumPy lets the stride of a single row be anything
        X, factors = random_tensor(4, shape, 30), random_factors(5, shape, 2)
        stored = X.to_format(format)
        for mode, length in enumerate(shape):
            desired = dense_mttkrp(X.todense(), factors, mode)
            wide = np.full((length + 2, 8), 7.0)
            mttkrp(stored, factors, mode, out=wide[1:-1, 2:4])
            np.testing.assert_allclose(wide[1:-1, 2:4], desired)
            wide[1:-1, 2:4] = 7
            assert (wide == 7).all()
            for out in (np.empty((2, length)).T, np.empty((length, 8))[:, :2]):
                np.testing.assert_allclose(mttkrp(stored, factors, mode, out=out), desired)
                plan = gpualto.plan_mttkrp(stored, 2)
                if out.flags.c_contiguous:
                    np.testing.assert_allclose(plan(factors, mode, out), desired)

    def test_it_has_to_have_a_place_for_each_entry(self):
        X, factors = random_tensor(4, (4, 5), 10), random_factors(5, (4, 5), 3)
        out = np.zeros((4, 3))
        out.flags.writeable = False
        with pytest.raises(ValueError, match="^out: is read-only"):
            mttkrp(X, factors, 0, out=out)
        shared = np.lib.stride_tricks.as_strided(np.zeros(3), (4, 3), (0, 8))
        with pytest.raises(ValueError, match="^out: its entries share memory"):
            mttkrp(X, factors, 0, out=shared)

    def test_it_may_be_a_factor(self):
        X = random_tensor(4, (5, 5, 5), 30)
        factors = random_factors(5, X.shape, 3)
        expected = mttkrp(X, factors, 0)
        np.testing.assert_array_equal(mttkrp(X, factors, 0, out=factors[1]), expected)

    def test_without_it_the_result_is_a_new_array(self):
        X = random_tensor(4, (4,), 3)
        factor = np.ones((4, 2))
        assert not np.shares_memory(mttkrp(X, [factor], 0), factor)

    def test_its_type_and_shape_have_to_fit(self):
        X = random_tensor(4, (4, 5), 10)
        factors = random_factors(5, X.shape, 3)
        with pytest.raises(TypeError, match="out: expected a NumPy array of float64, got float32"):
            mttkrp(X, factors, 0, out=np.zeros((4, 3), np.float32))
        with pytest.raises(ValueError, match=r"out: expected shape \(4, 3\), got \(5, 3\)"):
            mttkrp(X, factors, 0, out=np.zeros((5, 3)))


class TestArguments:
    X = random_tensor(6, (4, 5, 6), 30)

    def test_the_factor_of_the_mode_is_not_read(self):
        factors = random_factors(7, self.X.shape, 3)
        expected = mttkrp(self.X, factors, 2)
        np.testing.assert_array_equal(mttkrp(self.X, [*factors[:2], None], 2), expected)

    def test_a_model_of_another_package(self):
        class Model:
            weights = None
            factors = random_factors(7, (4, 5, 6), 3)

        np.testing.assert_array_equal(mttkrp(self.X, Model(), 0), mttkrp(self.X, Model.factors, 0))

    @pytest.mark.parametrize(
        ("factors", "message"),
        [
            ([np.ones((4, 2))] * 2, "2 factors were given for a tensor of 3 modes"),
            (
                [np.ones((4, 2)), np.ones((4, 2)), np.ones((6, 2))],
                r"mode 1 has shape \(4, 2\), expected \(5,",
            ),
            (
                [None, np.ones((5, 2)), np.ones((6, 3))],
                r"the numbers of columns differ by mode: \{1: 2, 2: 3\}",
            ),
            ([None, None, np.ones((6, 3))], "mode 1 is None"),
            ([None, np.ones(5), np.ones((6, 3))], r"mode 1 has shape \(5,\)"),
        ],
    )
    def test_factors_that_do_not_fit_name_the_mode(self, factors, message):
        with pytest.raises(ValueError, match=message):
            mttkrp(self.X, factors, 0)

    def test_what_is_no_sequence_is_refused(self):
        with pytest.raises(TypeError, match="expected a sequence of arrays or a CP model, got int"):
            mttkrp(self.X, 3, 0)

    def test_the_rank_of_one_mode_comes_from_its_factor(self):
        X = Tensor.from_coo([[2, 0]], [3.0, 4.0])
        assert mttkrp(X, [np.ones((3, 2))], 0).tolist() == [[4.0, 4.0], [0.0, 0.0], [3.0, 3.0]]
        with pytest.raises(ValueError, match="mode 0 is None"):
            mttkrp(X, [None], 0)


def test_scratch_does_not_grow_with_the_tensor():
    """Neither a Khatri-Rao product nor a dense unfolding is formed, and large modes cost their output only."""
    given, expected = case("memory")
    X = random_tensor(8, tuple(given["shape"]), given["nnz"])
    factors = random_factors(9, X.shape, given["rank"])
    assert sum(factor.nbytes for factor in factors) == expected["factors_bytes"]
    tracemalloc.start()
    for mode in range(3):
        mttkrp(X, factors, mode)
    gpualto.cp_als(X, given["rank"], init=factors, n_iter_max=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < expected["peak_extra_bytes_below"]


@pytest.mark.parametrize("rank", [1, 16, 300])
def test_scratch_stays_under_64_megabytes(rank):
    X = random_tensor(10, (50, 60, 70), 200_000)
    factors = random_factors(11, X.shape, rank)
    tracemalloc.start()
    mttkrp(X, factors, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20
