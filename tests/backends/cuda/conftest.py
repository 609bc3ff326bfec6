import sys

import pytest

from tests.backends.cuda import standin, standin_cupyx


@pytest.fixture
def standin_cupy(monkeypatch):
    """The stand-in, as the module that ``import cupy`` gives."""
    module = standin.make_module()
    for name, item in {"cupy": module, **standin_cupyx.make_cupyx()}.items():
        monkeypatch.setitem(sys.modules, name, item)
    standin.counts.clear()
    return module


@pytest.fixture(params=["host", pytest.param("device", marks=pytest.mark.gpu)])
def cupy(request):
    """CuPy: its stand-in on the host, and itself where there is a device."""
    if request.param == "host":
        return request.getfixturevalue("standin_cupy")
    module = pytest.importorskip("cupy", reason='CuPy is not installed: pip install "gpualto[cuda13]"')
    if not module.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return module
