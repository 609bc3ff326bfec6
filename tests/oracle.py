"""Independent answers: dense NumPy, and random inputs to ask about."""

import string

import numpy as np
from hypothesis import strategies as st

import gpualto


def random_tensor(seed: int, shape: tuple[int, ...], nnz: int, dtype: type = np.float64) -> gpualto.Tensor:
    """Return a tensor with about `nnz` nonzeros; repeated coordinates are summed."""
    rng = np.random.default_rng(seed)
    coords = [rng.integers(0, length, nnz) for length in shape]
    return gpualto.Tensor.from_coo(coords, rng.standard_normal(nnz).astype(dtype), shape)


def random_factors(
    seed: int, shape: tuple[int, ...], rank: int, dtype: type = np.float64
) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, rank)).astype(dtype) for length in shape]


def dense_mttkrp(dense: np.ndarray, factors: list[np.ndarray], mode: int) -> np.ndarray:
    """Return the MTTKRP by one einsum over the dense tensor."""
    modes = string.ascii_lowercase[: dense.ndim]
    others = [n for n in range(dense.ndim) if n != mode]
    terms = ",".join([modes] + [f"{modes[n]}z" for n in others])
    if not others:
        return np.repeat(dense[:, np.newaxis], factors[mode].shape[1], axis=1)
    return np.einsum(f"{terms}->{modes[mode]}z", dense, *(factors[n] for n in others))


def dense_model(weights: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
    """Return the dense tensor of a CP model by one einsum."""
    modes = string.ascii_lowercase[: len(factors)]
    terms = ",".join(["z"] + [f"{mode}z" for mode in modes])
    return np.einsum(f"{terms}->{modes}", weights, *factors)


small_shapes = st.lists(st.integers(1, 6), min_size=1, max_size=5).map(tuple)


@st.composite
def small_tensors(draw: st.DrawFn) -> gpualto.Tensor:
    """Tensors of one to five modes, empty and full ones among them."""
    shape = draw(small_shapes)
    return random_tensor(draw(st.integers(0, 2**32 - 1)), shape, draw(st.integers(0, 40)))


@st.composite
def shapes_of_width(draw: st.DrawFn, nbits: int) -> tuple[int, ...]:
    """Shapes whose linear index takes exactly `nbits` bits, modes of length 1 among them."""
    lengths = []
    while nbits > 0:
        bits = min(40 - draw(st.integers(0, 40)), nbits)
        lengths.append(draw(st.integers(2 ** (bits - 1) + 1, 2**bits)) if bits else 1)
        nbits -= bits
    return tuple(lengths)
