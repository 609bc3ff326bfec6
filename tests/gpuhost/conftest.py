import sys

import pytest

from tests.gpuhost import standin


@pytest.fixture
def cupy(monkeypatch):
    """The stand-in, as the module that ``import cupy`` gives."""
    module = standin.make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    standin.counts.clear()
    return module
