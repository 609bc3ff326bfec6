"""A plan gives what `mttkrp` gives, and takes only what it can use as it is."""

import numpy as np
import pytest

import gpualto
from tests.oracle import random_factors, random_tensor

SHAPE = (6, 5, 7)


@pytest.fixture
def X():
    return random_tensor(0, SHAPE, 90)


@pytest.fixture
def factors():
    return random_factors(0, SHAPE, 4)


@pytest.mark.parametrize("choice", ["reference", "cpu"])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_mttkrp_in_every_mode(monkeypatch, choice, dtype, deterministic):
    monkeypatch.setenv("GPUALTO_BACKEND", choice)
    X, factors = random_tensor(0, SHAPE, 90, dtype), random_factors(0, SHAPE, 4, dtype)
    plan = gpualto.plan_mttkrp(X, 4, deterministic=deterministic)
    for mode in (0, 1, 2, -1):
        out = np.full((SHAPE[mode], 4), np.nan, dtype)
        assert plan(factors, mode, out) is out
        np.testing.assert_array_equal(out, X.mttkrp(factors, mode))


def test_a_wider_type_than_the_tensor():
    X, factors = random_tensor(0, SHAPE, 90, np.float32), random_factors(0, SHAPE, 4)
    out = gpualto.plan_mttkrp(X, 4, np.float64)(factors, 1, np.empty((5, 4)))
    np.testing.assert_array_equal(out, X.mttkrp(factors, 1))


def test_printed_it_says_how_each_mode_is_computed(X):
    lines = str(gpualto.plan_mttkrp(X, 4)).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["mode 0", "mode 1", "mode 2"]


@pytest.mark.parametrize("choice", ["reference", "cpu"])
def test_no_nonzeros(monkeypatch, choice):
    monkeypatch.setenv("GPUALTO_BACKEND", choice)
    X = gpualto.Tensor.from_coo(np.zeros((2, 0), int), [], (3, 4))
    assert not gpualto.plan_mttkrp(X, 2)([None, np.ones((4, 2))], 0, np.ones((3, 2))).any()


@pytest.mark.parametrize("rank", [0, -1])
def test_a_rank_that_is_not_positive(X, rank):
    with pytest.raises(ValueError, match=f"rank: expected a positive integer, got {rank}"):
        gpualto.plan_mttkrp(X, rank)


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.float32])
def test_a_type_that_would_lose_digits(X, dtype):
    with pytest.raises(TypeError, match="dtype: expected float32 or float64, at least the tensor's float64"):
        gpualto.plan_mttkrp(X, 4, dtype)


class TestArraysThatWouldHaveToBeCopied:
    @pytest.fixture
    def plan(self, X):
        return gpualto.plan_mttkrp(X, 4)

    @pytest.fixture
    def out(self):
        return np.empty((6, 4))

    def test_of_another_type(self, plan, factors, out):
        with pytest.raises(TypeError, match="factors: mode 2 is of float32, the plan is for float64"):
            plan([*factors[:2], factors[2].astype(np.float32)], 0, out)
        with pytest.raises(TypeError, match="out: expected a NumPy array of float64, got float32"):
            plan(factors, 0, out.astype(np.float32))

    def test_in_another_order(self, plan, factors, out):
        with pytest.raises(ValueError, match="factors: mode 1 is not C-contiguous"):
            plan([factors[0], np.asfortranarray(factors[1]), factors[2]], 0, out)
        with pytest.raises(ValueError, match="out: is not C-contiguous"):
            plan(factors, 0, np.asfortranarray(out))

    def test_read_and_written(self, factors):
        square = random_tensor(0, (6, 6), 9)
        same = np.ones((6, 4))
        with pytest.raises(ValueError, match="out: shares memory with the factor of mode 1"):
            gpualto.plan_mttkrp(square, 4)([None, same], 0, same)

    def test_of_another_rank(self, plan, factors, out):
        with pytest.raises(ValueError, match="factors: 3 columns were given to a plan for rank 4"):
            plan([factor[:, :3] for factor in factors], 0, out)

    def test_with_weights(self, plan, factors, out):
        with pytest.raises(TypeError, match="a CP model has weights"):
            plan(gpualto.CPModel(np.ones(4), factors), 0, out)
