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

    class Nvtx:
        @staticmethod
        def push_range(name, domain):
            events.append(("push", domain, name))

        @staticmethod
        def pop_range(domain):
            events.append(("pop", domain))

    def fail():
        with profiling.annotate("work"):
            raise ValueError

    monkeypatch.setitem(sys.modules, "nvtx", Nvtx)
    with pytest.raises(ValueError, match="^$"):
        fail()
    assert events == [("push", "gpualto", "work"), ("pop", "gpualto")]


def test_times_are_counted_while_a_profile_listens():
    with profiling.profiled() as profile:
        for _ in range(3):
            with profiling.annotate("work"):
                pass
        with profiling.annotate("rest"):
            pass
    with profiling.annotate("work"):
        pass
    assert profile.visits == {"work": 3, "rest": 1}
    assert all(seconds > 0 for seconds in profile.seconds.values())
    assert len(str(profile).splitlines()) == 2
    assert "3 times" in str(profile)


def test_without_nvtx_a_range_does_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", None)
    with profiling.annotate("work"):
        pass
