import pytest

import gpualto
from gpualto.ops.explain import DISPATCH
from tests.oracle import random_tensor

X = random_tensor(0, (4, 5, 3), 20)


@pytest.mark.parametrize("operation", DISPATCH)
def test_every_operation_is_there_and_has_its_line(operation):
    assert callable(getattr(gpualto, operation))
    assert gpualto.explain(operation, X).startswith(f"{operation}: ")


def test_mttkrp_says_who_and_why_for_every_mode():
    lines = gpualto.explain("mttkrp", X.to_format(gpualto.formats.CSF(3))).splitlines()
    assert "Numba" in lines[1]
    assert [line.strip()[:7] for line in lines[2:]] == ["mode 0:", "mode 1:", "mode 2:"]
    assert all("code written for (i, j, k) ->" in line for line in lines[2:])


def test_what_there_is_not():
    with pytest.raises(ValueError, match="operation: expected one of mttkrp, .*; got 'spmv'"):
        gpualto.explain("spmv", X)
    with pytest.raises(ValueError, match="only mttkrp has kernels, got 'ttv'"):
        gpualto.source("ttv", X)
