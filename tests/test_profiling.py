import sys

import pytest

from gpualto import profiling


@pytest.fixture(autouse=True)
def fresh():
    profiling._nvtx.cache_clear()
    yield
    profiling._nvtx.cache_clear()


def test_a_range_is_pushed_and_popped(monkeypatch):
    events = []

    class Range:
        def __init__(self, name, domain):
            self.name = (domain, name)

        def __enter__(self):
            events.append(("push", *self.name))

        def __exit__(self, *_):
            events.append(("pop", *self.name))

    monkeypatch.setitem(sys.modules, "nvtx", type("nvtx", (), {"annotate": Range}))
    with profiling.annotate("work"):
        pass
    assert events == [("push", "gpualto", "work"), ("pop", "gpualto", "work")]


def test_without_nvtx_a_range_does_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", None)
    with profiling.annotate("work"):
        pass
