import string

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualto.ops.ttm_chain import ttm_chain
from tests.oracle import small_tensors


@given(small_tensors(), st.data())
def test_it_equals_the_dense_chain(X, data):
    mode = data.draw(st.integers(-X.ndim, X.ndim - 1))
    ranks = data.draw(st.lists(st.integers(1, 5), min_size=X.ndim, max_size=X.ndim))
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal(size) for size in zip(X.shape, ranks, strict=True)]
    own = mode % X.ndim
    modes, columns = string.ascii_lowercase[: X.ndim], string.ascii_uppercase[: X.ndim]
    others = [n for n in range(X.ndim) if n != own]
    terms = ",".join([modes, *(modes[n] + columns[n] for n in others)])
    desired = np.einsum(
        f"{terms}->{modes[own]}{''.join(columns[n] for n in others)}",
        X.todense(),
        *(factors[n] for n in others),
    )
    factors[own] = None
    actual = ttm_chain(X, factors, mode)
    np.testing.assert_allclose(actual, desired.reshape(X.shape[own], -1), atol=1e-10)
