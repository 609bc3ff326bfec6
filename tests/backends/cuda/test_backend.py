"""The public interface on device arrays equals the reference: by the stand-in on the host build, and on devices."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpualto
from gpualto.backends.cuda.plan import plan_mode, prepare
from tests.backends.cuda import standin
from tests.cases import case
from tests.oracle import random_factors, random_tensor

SHAPES = [(6, 30), (7, 1, 300), (30, 20, 9, 4), (2**13, 2**12, 2**11, 2**10, 2**11, 2**9)]


def device_tensor(cupy, X):
    """Return a tensor made from coordinates on the device."""
    return gpualto.Tensor.from_coo(cupy.asarray(X.coords), cupy.asarray(X.values), X.shape)


def to_host(X):
    return X.to_device("cpu")


class TestConstruction:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_from_coo_equals_the_host(self, cupy, shape, dtype):
        rng = np.random.default_rng(1)
        coords = [rng.integers(0, length, 400) for length in shape]
        values = rng.integers(-9, 9, 400).astype(dtype)
        desired = gpualto.Tensor.from_coo(coords, values, shape)
        actual = gpualto.Tensor.from_coo([cupy.asarray(c) for c in coords], cupy.asarray(values), shape)
        assert actual.device == "cuda:0"
        assert to_host(actual) == desired

    def test_duplicates_are_summed_or_refused(self, cupy):
        coords, values = cupy.asarray([[1, 0, 1], [3, 2, 3]]), cupy.asarray([0.25, 1.0, 0.5])
        assert to_host(gpualto.Tensor.from_coo(coords, values, (2, 4)))[1, 3] == 0.75
        with pytest.raises(ValueError, match=r"the first at \(1, 3\)"):
            gpualto.Tensor.from_coo(coords, values, (2, 4), duplicates="error")

    def test_the_shape_is_inferred(self, cupy):
        X = gpualto.Tensor.from_coo(cupy.asarray([[1, 0], [3, 2]]), cupy.asarray([1.0, 2.0]))
        assert X.shape == (2, 4)

    def test_out_of_bounds_names_mode_position_and_value(self, cupy):
        coords = cupy.asarray([[1, 0, 1], [3, 9, -3]])
        with pytest.raises(ValueError, match=r"mode 1 has the coordinate 9 at position 1, outside \[0, 4\)"):
            gpualto.Tensor.from_coo(coords, cupy.asarray([1.0, 2.0, 3.0]), (2, 4))

    def test_integers_and_strides_of_any_kind(self, cupy):
        table = cupy.asarray(np.array([[1, 3, 0], [0, 2, 1]], np.int16))
        X = gpualto.Tensor.from_coo([table[:, 0], table[:, 1]], cupy.asarray(np.array([7, 8])), (2, 4))
        assert X.dtype == np.float64
        assert (to_host(X)[1, 3], to_host(X)[0, 2]) == (7.0, 8.0)

    @pytest.mark.parametrize("large", [1e17, np.inf])
    def test_duplicates_do_not_change_other_entries(self, cupy, large):
        coords, values = cupy.asarray([[0, 1, 2, 3, 3]]), cupy.asarray([large, 1.0, 2.0, 3.0, 3.0])
        assert to_host(gpualto.Tensor.from_coo(coords, values)).values.tolist() == [large, 1, 2, 6]

    def test_single_values(self, cupy):
        X = random_tensor(0, (4, 5, 6), 30)
        there = X.to_device("cuda")
        for cell in ((0, 0, 0), tuple(X.coords[:, 3].tolist()), (3, 4, 5)):
            assert there[cell] == X[cell]

    def test_tensors_of_zeros(self, cupy):
        zeros = gpualto.Tensor.from_coo([[0, 1], [2, 3]], [0.0, 0.0], (3, 4)).to_device("cuda")
        empty = gpualto.Tensor.from_coo([[], []], [], (3, 4)).to_device("cuda")
        for X in (zeros, empty):
            assert X.norm() == 0
            model = gpualto.cp_als(X, 2, random_state=0)
            assert (model.fit, model.weights.get().tolist()) == (1.0, [0.0, 0.0])

    def test_ttm_sums_each_fiber_by_itself(self, cupy):
        X = random_tensor(0, (50, 40, 30), 5000, np.float32)
        matrix = np.random.default_rng(0).random((70, 40), np.float32)
        there = X.to_device("cuda").ttm(cupy.asarray(matrix), 1)
        np.testing.assert_allclose(to_host(there).todense(), X.ttm(matrix, 1).todense(), rtol=1e-5, atol=1e-5)

    def test_a_tensor_of_another_device_than_the_current_one(self, standin_cupy, monkeypatch):
        X = random_tensor(0, (4, 5), 8).to_device("cuda")
        monkeypatch.setattr(standin.ndarray, "device", SimpleNamespace(id=1))
        calls = [
            lambda: X.mttkrp([standin_cupy.ones((n, 2)) for n in X.shape], 0),
            lambda: gpualto.Tensor.from_coo(X.coords, X.values, X.shape),
        ]
        for call in calls:
            with pytest.raises(
                ValueError, match=r"^X: is on cuda:1 and the current device is cuda:0; work in"
            ):
                call()

    def test_an_empty_tensor(self, cupy):
        X = gpualto.Tensor.from_coo(cupy.zeros((3, 0), np.int64), cupy.zeros(0), (2, 3, 4))
        out = X.mttkrp([cupy.ones((n, 2)) for n in X.shape], 0)
        assert (X.nnz, out.get().tolist()) == (0, [[0.0, 0.0]] * 2)

    def test_one_number_is_read_back(self, standin_cupy):
        coords, values = standin_cupy.asarray([[1, 0, 1], [3, 2, 1]]), standin_cupy.asarray([0.25, 1.0, 0.5])
        standin.counts.clear()
        gpualto.backends.cuda.sort_entries(gpualto.AltoEncoding((2, 4)), tuple(coords), values)
        assert standin.counts["reads"] == 1


class ByInterface:
    """An array of another package that offers __cuda_array_interface__."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape
        self.__cuda_array_interface__ = array.__cuda_array_interface__


class ByDlpack:
    """An array of another package that offers DLPack."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class TestArraysOfOtherPackages:
    @pytest.mark.parametrize("kind", [ByInterface, ByDlpack])
    def test_coordinates_values_and_factors(self, cupy, kind):
        desired = random_tensor(0, (4, 5), 12)
        coords, values = cupy.asarray(desired.coords), cupy.asarray(desired.values)
        X = gpualto.Tensor.from_coo([kind(c) for c in coords], kind(values), (4, 5))
        assert X.device == "cuda:0"
        assert to_host(X) == desired
        factors = random_factors(0, (4, 5), 2)
        out = X.mttkrp([kind(cupy.asarray(factor)) for factor in factors], 0)
        np.testing.assert_allclose(out.get(), desired.mttkrp(factors, 0))

    def test_sparse_matrices_with_rows_and_columns(self, cupy):
        desired = random_tensor(0, (4, 5), 12)
        row, col = map(cupy.asarray, desired.coords)
        matrix = SimpleNamespace(row=row, col=col, data=cupy.asarray(desired.values), shape=(4, 5))
        matrix.tocoo = lambda: matrix
        assert to_host(gpualto.Tensor.from_scipy(matrix)) == desired


class TestTransfers:
    def test_there_and_back(self, cupy):
        X = random_tensor(0, (4, 5, 6), 40)
        there = X.to_device("cuda")
        assert there.device == "cuda:0"
        assert there.to_device("cuda:0") is there
        assert there.to_device("cpu") == X
        np.testing.assert_array_equal(there.coords.get(), X.coords)

    def test_names_of_devices(self):
        X = random_tensor(0, (4, 5), 4)
        for wrong in ("gpu", "cpu:1", "cuda:x"):
            with pytest.raises(ValueError, match="device"):
                X.to_device(wrong)

    def test_what_is_said_about_it(self, cupy):
        assert "cuda:0" in repr(random_tensor(0, (4, 5), 4).to_device("cuda"))


class TestMttkrp:
    @pytest.mark.parametrize("deterministic", [False, True])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shape", SHAPES[:3])
    def test_equals_the_host_in_all_modes(self, cupy, shape, dtype, deterministic):
        X = random_tensor(3, shape, 300, dtype)
        factors = random_factors(3, shape, 8, dtype)
        there = X.to_device("cuda")
        device_factors = [cupy.asarray(factor) for factor in factors]
        for mode in range(X.ndim):
            out = gpualto.mttkrp(there, device_factors, mode, deterministic=deterministic)
            assert out.dtype == dtype
            np.testing.assert_allclose(out.get(), X.mttkrp(factors, mode), rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("strategy", ["staged", "atomic", "deterministic"])
    def test_every_strategy_can_be_forced_and_says_why(self, cupy, strategy):
        X = random_tensor(3, (30, 20, 9), 900)
        factors = random_factors(3, X.shape, 16)
        there = X.to_device("cuda")
        plan = plan_mode(there, 1, 16, X.dtype, strategy)
        assert strategy in str(plan)
        assert len(plan.reason) > 10
        out = cupy.full((20, 16), np.nan)
        prepare(plan, there, 16, X.dtype)([cupy.asarray(factor) for factor in factors], out)
        np.testing.assert_allclose(out.get(), X.mttkrp(factors, 1), rtol=1e-9, atol=1e-9)

    def test_the_strategy_follows_from_reuse(self, cupy):
        much = random_tensor(0, (3, 40, 50), 3000).to_device("cuda")
        little = random_tensor(0, (5000, 40, 50), 300).to_device("cuda")
        assert plan_mode(much, 0, 8, much.dtype).strategy == "staged"
        assert plan_mode(little, 0, 8, little.dtype).strategy == "atomic"

    def test_nothing_is_read_back_once_planned(self, standin_cupy):
        X = random_tensor(1, (30, 20, 9), 300).to_device("cuda")
        factors = [standin_cupy.asarray(factor) for factor in random_factors(1, X.shape, 8)]
        for deterministic in (False, True):
            X.mttkrp(factors, 0, deterministic=deterministic)
            standin.counts.clear()
            X.mttkrp(factors, 0, deterministic=deterministic)
            assert standin.counts["reads"] == 0

    def test_deterministic_whatever_the_schedule(self, standin_cupy, monkeypatch):
        X = random_tensor(1, (3, 20, 30), 1000).to_device("cuda")
        factors = [standin_cupy.asarray(factor) for factor in random_factors(1, X.shape, 8)]
        results = []
        for seed in range(4):
            monkeypatch.setattr(standin.RawKernel, "seed", seed)
            results.append(X.mttkrp(factors, 0, deterministic=True).get().tobytes())
        assert len(set(results)) == 1

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_on_a_stream_of_ones_own(self, cupy, deterministic):
        _, expected = case("stream")
        assert expected["equals"] == "the default-stream result"
        X = random_tensor(1, (300, 200, 90), 20_000)
        factors = random_factors(1, X.shape, 16)
        there = [cupy.asarray(factor) for factor in factors]
        desired = X.to_device("cuda").mttkrp(there, 0, deterministic=deterministic).get()
        with cupy.cuda.Stream(non_blocking=True):
            X_there = X.to_device("cuda")
            actual = X_there.mttkrp(there, 0, deterministic=deterministic).get()
        np.testing.assert_allclose(actual, desired, rtol=0 if deterministic else 1e-9)

    def test_out_weights_and_types(self, cupy):
        X = random_tensor(1, (30, 20, 9), 300, np.float32)
        factors = random_factors(1, X.shape, 4)
        weights = np.array([1.0, 2.0, 3.0, 4.0])
        model = gpualto.CPModel(cupy.asarray(weights), [cupy.asarray(factor) for factor in factors])
        out = cupy.full((20, 4), np.nan)
        assert gpualto.mttkrp(X.to_device("cuda"), model, 1, out) is out
        np.testing.assert_allclose(out.get(), X.mttkrp(factors, 1) * weights, rtol=1e-6)

    def test_mixed_kinds_are_refused_by_name(self, cupy):
        _, expected = case("device-mismatch")
        assert expected["mixed"].startswith("TypeError naming both kinds")
        X = random_tensor(1, (4, 5), 9)
        factors = random_factors(1, X.shape, 2)
        with pytest.raises(TypeError, match=r"mode 1 is a NumPy array and the tensor is on cuda:0"):
            X.to_device("cuda").mttkrp([None, factors[1]], 0)
        with pytest.raises(TypeError, match=r"mode 1 is a CuPy array and the tensor is on cpu"):
            X.mttkrp([None, cupy.asarray(factors[1])], 0)
        with pytest.raises(TypeError, match="NumPy.*CuPy"):
            gpualto.Tensor.from_coo(X.coords, cupy.asarray(X.values), X.shape)
        with pytest.raises(TypeError, match="expected a CuPy array"):
            X.to_device("cuda").mttkrp([cupy.asarray(f) for f in factors], 0, out=np.zeros((4, 2)))

    def test_an_output_that_vectors_cannot_be_written_to(self, cupy):
        X = random_tensor(1, (6, 5, 4), 40, np.float32)
        factors = random_factors(1, X.shape, 4, np.float32)
        out = cupy.zeros(25, np.float32)[1:].reshape(6, 4)
        X.to_device("cuda").mttkrp([cupy.asarray(f) for f in factors], 0, out=out)
        np.testing.assert_allclose(out.get(), X.mttkrp(factors, 0), rtol=1e-5)


class TestPlan:
    @pytest.mark.parametrize("deterministic", [False, True])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_calls_queue_kernels_and_nothing_else(self, standin_cupy, dtype, deterministic):
        X = random_tensor(1, (3, 200, 90), 900, dtype)
        factors = random_factors(1, X.shape, 8, dtype)
        there = [standin_cupy.asarray(factor) for factor in factors]
        plan = gpualto.plan_mttkrp(X.to_device("cuda"), 8, deterministic=deterministic)
        assert ("deterministic" in str(plan)) == deterministic
        for mode in range(3):
            out = standin_cupy.full((X.shape[mode], 8), np.nan, dtype)
            standin.counts.clear()
            assert plan(there, mode, out) is out
            assert not standin.counts
            np.testing.assert_allclose(out.get(), X.mttkrp(factors, mode), rtol=1e-3, atol=1e-4)

    def test_plans_that_share_a_kernel_keep_their_shared_memory(self, cupy):
        shape, factors = (900, 3, 4), random_factors(1, (900, 3, 4), 2)
        there = [cupy.asarray(factor) for factor in factors]
        wide, narrow = (random_tensor(1, shape, nnz) for nnz in (9000, 20))
        plans = [
            prepare(plan_mode(X, 0, 2, X.dtype, "staged"), X, 2, X.dtype)
            for X in (wide.to_device("cuda"), narrow.to_device("cuda"))
        ]
        for X, fill in zip((wide, narrow), plans, strict=True):
            out = cupy.zeros((900, 2))
            fill(there, out)
            np.testing.assert_allclose(out.get(), X.mttkrp(factors, 0))

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_calls_can_be_captured_in_a_graph(self, cupy, deterministic):
        X = random_tensor(1, (30, 20, 9), 900)
        factors = random_factors(1, X.shape, 8)
        there = [cupy.asarray(factor) for factor in factors]
        plan = gpualto.plan_mttkrp(X.to_device("cuda"), 8, deterministic=deterministic)
        out = cupy.zeros((20, 8))
        plan(there, 1, out)  # CuPy compiles its own kernels on their first use
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            plan(there, 1, out)
            graph = stream.end_capture()
        for scale in (2.0, 3.0):
            there[0][...] = cupy.asarray(scale * factors[0])
            cupy.cuda.Device().synchronize()
            graph.launch(stream)
            stream.synchronize()
            np.testing.assert_allclose(out.get(), scale * X.mttkrp(factors, 1), rtol=1e-9)

    def test_an_empty_tensor(self, cupy):
        X = gpualto.Tensor.from_coo(cupy.zeros((2, 0), np.int64), cupy.zeros(0), (2, 3))
        plan = gpualto.plan_mttkrp(X, 2)
        assert "no nonzeros" in str(plan)
        out = plan([None, cupy.ones((3, 2))], 0, cupy.ones((2, 2)))
        assert not out.get().any()


class TestCpAls:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_equals_the_host_from_the_same_seed(self, cupy, dtype):
        X = gpualto.datasets.flights().astype(dtype)
        desired = gpualto.cp_als(X, 4, n_iter_max=3, random_state=0)
        actual = gpualto.cp_als(X.to_device("cuda"), 4, n_iter_max=3, random_state=0)
        assert actual.device == "cuda:0"
        tolerance = 1e-2 if dtype == np.float32 else 1e-8
        assert abs(actual.fit - desired.fit) < tolerance
        model = actual.to_device("cpu")
        np.testing.assert_allclose(model.weights, desired.weights, rtol=tolerance)
        for mine, other in zip(model.factors, desired.factors, strict=True):
            np.testing.assert_allclose(mine, other, atol=tolerance)

    def test_one_read_a_sweep(self, standin_cupy):
        X = random_tensor(1, (30, 20, 9), 300).to_device("cuda")
        reads = []

        def callback(_):
            reads.append(standin.counts["reads"])

        gpualto.cp_als(X, 4, n_iter_max=5, tol=0, random_state=0, callback=callback)
        assert set(np.diff(reads)) == {1}

    def test_a_rank_beyond_the_data(self, cupy):
        X = random_tensor(1, (3, 4), 9)
        desired = gpualto.cp_als(X, 6, n_iter_max=10, random_state=0)
        actual = gpualto.cp_als(X.to_device("cuda"), 6, n_iter_max=10, random_state=0)
        assert actual.fit > desired.fit - 1e-6

    def test_starts_on_the_device(self, cupy):
        X = random_tensor(1, (30, 20, 9), 300)
        factors = random_factors(0, X.shape, 3)
        there = X.to_device("cuda")
        actual = gpualto.cp_als(there, 3, init=[cupy.asarray(f) for f in factors], n_iter_max=4)
        assert abs(actual.fit - gpualto.cp_als(X, 3, init=factors, n_iter_max=4).fit) < 1e-9
        with pytest.raises(TypeError, match="init: mode 0"):
            gpualto.cp_als(there, 3, init=factors)
