"""The inverse of a Gram product against NumPy, regular and singular."""

import numpy as np
import pytest

from gpualto import AltoEncoding
from tests.gpuhost.device import Kernels, addresses, c_name, poisoned

THREADS = 64


def invert(gram, dtype=np.float64, *, seed=0, checked=False):
    rank = len(gram)
    work = poisoned(2 * rank * rank + 4 * rank, np.float64)
    inverse = poisoned((rank, rank), dtype)
    Kernels(["dense.cu"], AltoEncoding((2,)), checked).launch(
        f"invert_gram<{c_name(dtype)}, {THREADS}>",
        (1,),
        THREADS,
        [*addresses(gram), np.int32(rank), *addresses(work, inverse)],
        {"gram": gram, "work": work, "inverse": inverse},
        seed=seed,
    )
    return inverse


def random_gram(rank, rows, seed=0):
    factor = np.random.default_rng(seed).standard_normal((rows, rank))
    return factor.T @ factor


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("rank", [1, 2, 7, 16, 33])
def test_regular(rank, seed):
    gram = random_gram(rank, 3 * rank + 5)
    np.testing.assert_allclose(invert(gram, seed=seed), np.linalg.inv(gram), rtol=1e-9, atol=1e-12)


def test_float32():
    gram = random_gram(8, 50)
    np.testing.assert_allclose(invert(gram, dtype=np.float32), np.linalg.inv(gram), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("rank", [2, 5, 8, 17])
def test_singular_by_the_pseudo_inverse(rank):
    gram = random_gram(rank, max(rank // 2, 1), seed=rank)
    scale = np.sqrt(gram.diagonal())
    scaled = gram / np.outer(scale, scale)
    desired = np.linalg.pinv(scaled, hermitian=True, rcond=rank * 2.2e-16) / np.outer(scale, scale)
    for seed in (0, 3):
        np.testing.assert_allclose(
            invert(gram, seed=seed), desired, rtol=1e-6, atol=1e-9 * abs(desired).max()
        )


def test_equal_components():
    np.testing.assert_allclose(invert(np.ones((4, 4))), np.full((4, 4), 1 / 16), rtol=1e-12)


def test_components_of_zero_and_of_very_different_size():
    gram = np.diag([1e-200, 0.0, 1e150])
    np.testing.assert_allclose(np.diag(invert(gram)), [1e200, 0.0, 1e-150], rtol=1e-12)


@pytest.mark.parametrize(("dtype", "tiny"), [(np.float32, 1e-40), (np.float64, 5e-324)])
def test_components_whose_inverse_leaves_the_type_count_as_zero(dtype, tiny):
    np.testing.assert_array_equal(invert(np.diag([tiny, 1.0, tiny]), dtype=dtype), np.diag([0.0, 1.0, 0.0]))
    assert invert(np.array([[tiny]]), dtype=dtype) == 0


@pytest.mark.parametrize("gram", [random_gram(9, 30), random_gram(9, 3)], ids=["regular", "singular"])
def test_no_race(gram):
    assert np.isfinite(invert(gram, seed=2, checked=True)).all()
