import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualto
from gpualto import Tensor
from gpualto.labels import ModeLabels
from gpualto.tensor import format_bytes
from gpualto.testing import assert_tensors_close, assert_tensors_equal
from tests.cases import REFERENCE, case, case_tensor, data_file
from tests.oracle import random_tensor, small_tensors


class TestConstruction:
    @given(small_tensors(), st.randoms(use_true_random=False))
    def test_the_order_of_the_input_does_not_matter(self, X, random):
        order = random.sample(range(X.nnz), X.nnz)
        Y = Tensor.from_coo(X.coords[:, order], X.values[order], X.shape)
        assert_tensors_equal(Y, X)

    @given(small_tensors())
    def test_coordinates_come_as_an_array_or_as_a_tuple(self, X):
        assert_tensors_equal(Tensor.from_coo(tuple(X.coords), X.values, X.shape), X)

    def test_the_shape_is_inferred_from_the_largest_coordinates(self):
        assert Tensor.from_coo([[0, 4], [2, 1]], [1.0, 2.0]).shape == (5, 3)

    def test_equal_coordinates_are_summed(self):
        given, expected = case("dup-fit")
        X = case_tensor(given)
        assert (X.nnz, X.norm(), X[0, 0, 0]) == (expected["nnz"], expected["norm"], expected["item"])
        ones = [np.ones((length, 1)) for length in X.shape]
        assert X.mttkrp(ones, 0)[:, 0].tolist() == expected["mttkrp_ones_mode0_col"]
        assert X.todense().tolist() == expected["dense"]

    def test_equal_coordinates_are_refused_on_request(self):
        given, expected = case("dup-policy")
        X = case_tensor(given)
        assert sorted(zip(X.coords.T.tolist(), X.values, strict=True)) == list(
            zip(expected["sum"]["coords0"], expected["sum"]["vals"], strict=True)
        )
        with pytest.raises(ValueError, match=r"2 surplus entries .* the first at \(1, 3\)"):
            Tensor.from_coo(np.array(given["coords0"]).T, given["vals"], given["shape"], duplicates="error")

    def test_an_unknown_policy_for_duplicates_is_refused(self):
        with pytest.raises(ValueError, match=r"^duplicates: "):
            Tensor.from_coo([[0]], [1.0], duplicates="first")

    def test_sums_of_float32_keep_their_type_and_are_rounded_once(self):
        values = np.array([2**24, 1, 1], np.float32)
        X = Tensor.from_coo([[0, 0, 0]], values)
        assert (X.dtype, X.values.tolist()) == (np.float32, [2**24 + 2])

    @given(small_tensors())
    def test_it_does_not_change_or_share_its_input(self, X):
        coords, values = X.coords, X.values.copy()
        before = coords.copy(), values.copy()
        Y = Tensor.from_coo(coords, values, X.shape)
        np.testing.assert_array_equal(coords, before[0])
        np.testing.assert_array_equal(values, before[1])
        assert not np.shares_memory(Y.values, values)

    def test_coordinates_out_of_bounds(self):
        for wrong in case("bounds-gpu")[0]["cases"]:
            with pytest.raises(ValueError, match=r"mode 0 has the coordinate (2|-1) at position 0"):
                case_tensor({**wrong, "vals": [1.0]})

    def test_arguments_in_the_wrong_order(self):
        with pytest.raises(TypeError, match=r"the order of arguments is \(coords, values, shape\)"):
            Tensor.from_coo((2, 2), [[0, 0], [1, 1]], [1.0, 2.0])
        with pytest.raises(TypeError, match=r"the order of arguments is \(coords, values, shape\)"):
            Tensor.from_coo([1.0, 2.0], [[0, 0], [1, 1]], (2, 2))

    def test_one_row_per_nonzero_is_recognised(self):
        with pytest.raises(ValueError, match=r"pass coords\.T"):
            Tensor.from_coo(np.zeros((5, 3), int), np.ones(5), (2, 2, 2))

    def test_lengths_have_to_agree(self):
        with pytest.raises(ValueError, match="the modes differ in length"):
            Tensor.from_coo([[0, 1], [0]], [1.0, 2.0])
        with pytest.raises(ValueError, match="values: 1 values for 2 coordinates"):
            Tensor.from_coo([[0, 1], [0, 1]], [1.0])

    def test_a_tensor_of_no_nonzeros_needs_a_shape(self):
        with pytest.raises(ValueError, match=r"^shape: needed"):
            Tensor.from_coo([[], []], [])

    def test_coordinates_beyond_32_bits(self):
        given, expected = case("int32-coords")
        X = case_tensor(given)
        assert X.encoding.nbits == expected["bits"]
        assert sorted(X.coords.T.tolist(), reverse=True) == expected["coords0"]

    def test_an_index_beyond_64_bits(self):
        given, expected = case("bits-80")
        X = case_tensor(given)
        assert X.encoding.nbits == expected["bits"]
        assert [str(word.dtype) for word in X.index] == ["uint64", "uint16"]
        assert X.coords.T.tolist() == expected["coords0"]
        assert X.values.tolist() == expected["vals"]

    def test_offsets_do_not_take_the_type_of_the_coordinates(self):
        given, expected = case("offset-dtype")
        shape = tuple(given["shape"])
        coords = np.indices(shape).reshape(3, -1).astype(np.int16)
        X = Tensor.from_coo(coords, np.arange(39600) % 7 + 1, shape)
        product = X.mttkrp([np.ones((length, 1)) for length in shape], 0)
        assert (X.nnz, product.sum()) == (expected["nnz"], expected["sum"])
        assert product[:3, 0].tolist() == expected["first3"]

    @pytest.mark.parametrize("name", [*REFERENCE])
    def test_files_with_known_properties(self, name):
        known = REFERENCE[name]
        X = gpualto.read(data_file(name), index_base="auto")
        assert X.nnz == known["nnz"]
        np.testing.assert_allclose(X.values.sum(), known["sum"], rtol=1e-13)
        np.testing.assert_allclose(X.norm(), known["norm"], rtol=1e-13)
        if name == "splatt-small4_zeroidx":  # the reference guesses the base mode by mode
            assert X.shape == (3, 3, 4, 3)
            return
        assert X.shape == tuple(known["dims"])
        assert list(X.encoding.bits_per_mode) == known["bits_per_mode"]
        digits = [(coordinate * (m + 2)) % 7 + 1 for m, coordinate in enumerate(X.coords)]
        np.testing.assert_allclose((X.values * np.prod(digits, axis=0)).sum(), known["chk"], rtol=1e-13)
        largest = [np.bincount(coordinate).max() for coordinate in X.coords]
        assert largest == known["largest_slice_nnz"]


class TestProperties:
    def test_size_does_not_overflow(self):
        X = Tensor.from_coo([[0]] * 4, [1.0], (2**40,) * 4)
        assert X.size == 2**160
        assert X.density == 2.0**-160

    def test_the_arrays_are_read_only(self):
        X = random_tensor(0, (3, 4), 5)
        with pytest.raises(ValueError, match="read-only"):
            X.values[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            X.index[0][0] = 1
        with pytest.raises(FrozenInstanceError):
            X.values = np.zeros(5)

    def test_freezing_does_not_reach_the_arrays_given(self):
        X = random_tensor(0, (3, 4), 5)
        mine = X.values.copy()
        Tensor(X.encoding, X.index, mine)
        mine[0] = 7.0
        assert mine[0] == 7.0

    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
    def test_the_norm_stays_in_range(self, scale):
        X = Tensor.from_coo([[0, 1]], [3 * scale, 4 * scale])
        np.testing.assert_allclose(X.norm(), 5 * scale, rtol=1e-15)

    def test_the_norm_of_float32_is_summed_in_float64(self):
        X = Tensor.from_coo([np.arange(100_000)], np.full(100_000, 0.1, np.float32))
        np.testing.assert_allclose(X.norm(), np.linalg.norm(X.values.astype(np.float64)), rtol=1e-12)

    def test_the_norm_of_values_not_finite(self):
        assert Tensor.from_coo([[0, 1]], [np.inf, 1.0]).norm() == np.inf
        assert np.isnan(Tensor.from_coo([[0, 1]], [np.nan, 1.0]).norm())

    def test_bytes_are_those_of_index_and_values(self):
        X = random_tensor(0, (2**20, 2**20, 2**20, 2**12), 10, np.float32)
        assert X.encoding.nbits == 72
        assert X.nbytes == 10 * (8 + 1 + 4)

    def test_the_repr_fits_two_lines(self):
        X = Tensor.from_coo([[0]] * 40, [1.0], (12345,) * 40)
        lines = repr(X).splitlines()
        assert len(lines) == 2
        assert max(map(len, lines)) <= 110

    @pytest.mark.parametrize(
        ("count", "text"),
        [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (999_999, "1 MB"), (49_600_000, "49.6 MB")],
    )
    def test_bytes_for_reading(self, count, text):
        assert format_bytes(count) == text


class TestEmpty:
    def test_operations_on_no_nonzeros(self, tmp_path):
        given, expected = case("empty")
        X = case_tensor(given, np.float32)
        assert X.norm() == expected["norm"]
        factors = [np.ones((length, 2), np.float32) for length in X.shape]
        assert X.mttkrp(factors, 1).tolist() == expected["mttkrp"]
        assert X.todense().sum() == expected["dense_sum"]
        assert X.permute((2, 0, 1)).shape == tuple(expected["permuted_shape"])
        assert "nnz=0" in repr(X)
        for path in (tmp_path / "empty.npz", tmp_path / "empty.tns"):
            gpualto.write(path, X)
            assert_tensors_equal(gpualto.read(path).astype(np.float32), X)


class TestDense:
    @given(small_tensors())
    def test_round_trip(self, X):
        dense = X.todense()
        assert dense.shape == X.shape
        assert_tensors_equal(Tensor.from_dense(dense), X.prune())

    def test_a_dense_array_too_large_is_refused(self):
        with pytest.raises(ValueError, match=r"would take 8\.0 GiB, the limit is 4 GiB"):
            Tensor.from_coo([[0]] * 3, [1.0], (1024, 1024, 1024)).todense()

    def test_a_scalar_is_no_tensor(self):
        with pytest.raises(ValueError, match="at least one mode"):
            Tensor.from_dense(np.float64(3.0))


class TestIndexing:
    @given(small_tensors(), st.data())
    def test_it_indexes_as_the_dense_array_does(self, X, data):
        def key(length):
            integers = st.integers(-length, length - 1)
            edges = st.none() | st.integers(-length - 2, length + 2)
            slices = st.builds(slice, edges, edges, st.sampled_from([None, 1, 2, -1, -3]))
            return integers | slices

        keys = data.draw(st.tuples(*map(key, X.shape)))
        keys = keys[: data.draw(st.integers(1, X.ndim))]
        expected = X.todense()[keys]
        got = X[keys]
        if np.ndim(expected) == 0:
            assert got == expected
            assert isinstance(got, float)
        else:
            assert got.shape == expected.shape
            np.testing.assert_array_equal(got.todense(), expected)

    def test_numbers_slices_and_errors(self):
        given, expected = case("item-scalar")
        X = case_tensor(given)
        assert [X[0, 0, 0], X[2, 0, 1], X[-1, -1, -1]] == expected["values"]
        assert (list(X[2].shape), X[2].nnz) == (expected["slice_shape"], expected["slice_nnz"])
        with pytest.raises(IndexError, match="mode 0: index 3 is out of bounds for length 3"):
            X[3, 0, 0]

    def test_an_ellipsis_stands_for_the_rest(self):
        X = random_tensor(0, (3, 4, 5), 20)
        np.testing.assert_array_equal(X[..., 2].todense(), X.todense()[..., 2])
        np.testing.assert_array_equal(X[1, ..., 2].todense(), X.todense()[1, ..., 2])
        assert X[...] == X

    @pytest.mark.parametrize(
        "key", [True, 1.0, None, "a", [0, 1], np.bool_(True), np.array([True, False, True]), np.arange(2)]
    )
    def test_other_keys_are_refused(self, key):
        with pytest.raises(TypeError, match="mode 0: expected an integer or a slice"):
            random_tensor(0, (3, 4), 5)[key]

    def test_too_many_indices(self):
        X = random_tensor(0, (3, 4), 5)
        with pytest.raises(IndexError, match="3 indices were given for a tensor of 2 modes"):
            X[0, 0, 0]
        with pytest.raises(IndexError, match="only one ellipsis"):
            X[..., ...]

    def test_labels_follow(self):
        X = Tensor.from_coo([[0, 1], [2, 0]], [1.0, 2.0], labels={"row": "ab", "column": "xyz"})
        assert X[1].labels == (ModeLabels("column", ("x", "y", "z")),)
        assert X[:, ::-2].labels[1] == ModeLabels("column", ("z", "x"))
        assert X.permute((1, 0)).labels[0].name == "column"


class TestTransformations:
    @given(small_tensors(), st.randoms(use_true_random=False))
    def test_permute_is_transpose(self, X, random):
        modes = random.sample(range(X.ndim), X.ndim)
        np.testing.assert_array_equal(X.permute(modes).todense(), X.todense().transpose(modes))

    @pytest.mark.parametrize("modes", [(0,), (0, 0), (0, 1, 1)])
    def test_permute_needs_every_mode_once(self, modes):
        with pytest.raises(ValueError, match="is not a permutation of the 2 modes"):
            random_tensor(0, (3, 4), 5).permute(modes)

    def test_other_values_are_copied(self):
        X, values = random_tensor(0, (3, 4), 5), np.ones(5)
        Y = X.with_values(values[: X.nnz])
        values[:] = 99
        assert Y.sum() == X.nnz

    @pytest.mark.parametrize("number", [2, 2.5, np.float32(2), np.int64(-3), np.uint8(2)])
    def test_times_and_over_a_number(self, number):
        X = random_tensor(0, (3, 4), 5)
        for Y, desired in (
            (X * number, X.values * number),
            (number * X, X.values * number),
            (X / number, X.values / number),
        ):
            np.testing.assert_allclose(Y.values, desired.astype(float))

    @pytest.mark.parametrize("number", [1j, np.complex128(1), np.timedelta64(3), True, "2", None])
    def test_what_is_no_real_number_is_no_factor(self, number):
        X = random_tensor(0, (3, 4), 5)
        for operation in (lambda: X * number, lambda: X / number):
            with pytest.raises(TypeError, match="operand|multiply"):
                operation()

    def test_large_numbers(self):
        X = random_tensor(0, (3, 4), 5)
        np.testing.assert_array_equal((X * 2**60).values, X.values * 2.0**60)
        np.testing.assert_array_equal((X * np.uint64(2**63)).values, X.values * 2.0**63)
        with pytest.raises(ValueError, match="^number: is beyond the range of float64"):
            X / 10**400

    def test_explicit_zeros_stay_until_pruned(self):
        X = Tensor.from_coo([[0, 1, 2]], [0.0, 1.0, -0.0])
        assert X.nnz == 3
        assert X.prune().coords.tolist() == [[1]]

    def test_astype(self):
        X = random_tensor(0, (3, 4), 5)
        assert X.astype("float32").dtype == np.float32
        assert_tensors_close(X.astype(np.float32), X, rtol=1e-6)
        with pytest.raises(TypeError, match="expected float32 or float64, got int64"):
            X.astype(np.int64)

    @given(small_tensors())
    def test_pickle_and_copies_are_equal_and_read_only(self, X):
        for Y in (pickle.loads(pickle.dumps(X)), copy.copy(X), copy.deepcopy(X)):
            assert_tensors_equal(Y, X)
            assert Y.labels == X.labels
            assert not Y.values.flags.writeable

    def test_equality_is_exact(self):
        X = random_tensor(0, (3, 4), 5)
        assert random_tensor(0, (3, 4), 5) == X
        assert random_tensor(1, (3, 4), 5) != X
        assert X.astype(np.float32) != X
        assert X != 3


class TestComparisons:
    def test_they_fail_where_tensors_differ(self):
        X = random_tensor(0, (3, 4), 5)
        others = [
            Tensor.from_coo(X.coords, X.values, (3, 5)),
            X[:2],
            Tensor.from_coo(X.coords, X.values * (1 + 1e-3), X.shape),
            Tensor.from_coo(np.add(X.coords, [[1], [1]]) % [[3], [4]], X.values, X.shape),
        ]
        for Y in others:
            with pytest.raises(AssertionError):
                assert_tensors_close(X, Y)
            with pytest.raises(AssertionError):
                assert_tensors_equal(X, Y)
        with pytest.raises(AssertionError, match="types differ"):
            assert_tensors_equal(X, X.astype(np.float32))


def test_what_is_no_tensor_is_named_where_one_is_needed(tmp_path):
    dense = np.ones((2, 2))
    calls = [
        lambda: gpualto.mttkrp(dense, [dense, dense], 0),
        lambda: gpualto.cp_als(dense, 1),
        lambda: gpualto.write(tmp_path / "x.tns", dense),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"^X: expected a gpualto.Tensor, got ndarray; gpualto.from_any"):
            call()
    with pytest.raises(TypeError, match=r"other: expected a CPModel, got Tensor"):
        gpualto.CPModel(None, [dense, dense]).score(Tensor.from_dense(dense))


def test_a_tensor_does_not_become_dense_unasked():
    with pytest.raises(TypeError, match=r"use X\.todense\(\)"):
        np.asarray(random_tensor(0, (2, 2), 2))
