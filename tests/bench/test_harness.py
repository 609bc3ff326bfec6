from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.harness import (
    Contestant,
    Result,
    Timing,
    UnavailableError,
    contest,
    measure,
    relative_difference,
)
from bench.machine import copy_bandwidth
from bench.report import format_results, format_table, parse_arguments, write_json
from gpualto._optional import require


def test_timing_has_the_middle_and_the_fastest() -> None:
    timing = Timing((3.0, 1.0, 2.0, 10.0))
    assert (timing.median, timing.minimum) == (2.5, 1.0)


def test_runs_alternate_after_the_warm_up() -> None:
    calls: list[str] = []
    timings = measure({"A": lambda: calls.append("A"), "B": lambda: calls.append("B")}, 3, warmups=1)
    assert calls == list("ABABABAB")
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"A": 3, "B": 3}


def test_whoever_has_used_up_the_budget_sits_out() -> None:
    timings = measure({"A": lambda: None}, 5, budget=-1.0)
    assert len(timings["A"].seconds) == 0
    timings = measure({"A": lambda: None}, 5, budget=0.0)
    assert len(timings["A"].seconds) == 1


def entry(name: str, **options: Any) -> Contestant:
    return Contestant(name, lambda: None, **options)


def test_ratios_are_those_of_medians() -> None:
    ours, half = contest([entry("ours"), entry("half", share=0.5)], {}, repeats=3)
    assert ours.timing is not None
    assert half.timing is not None
    assert ours.ratio == 1
    assert half.ratio == pytest.approx(2 * half.timing.median / ours.timing.median)
    assert half.figures == {"ms": pytest.approx(2e3 * half.timing.median)}


def test_another_result_is_not_timed() -> None:
    def wrong() -> Contestant:
        return entry("wrong", difference=0.5, tolerance=1e-6)

    def undefined() -> Contestant:
        return entry("undefined", difference=math.nan, tolerance=1e-6)

    results = contest([entry("ours")], {"wrong": wrong, "undefined": undefined}, repeats=1)
    assert [result.name for result in results] == ["ours", "wrong", "undefined"]
    for result in results[1:]:
        assert result.wrong
        assert result.timing is None
        assert result.note == "not timed: another result"


def test_a_peer_that_cannot_take_part_says_why() -> None:
    def too_large() -> Contestant:
        raise UnavailableError("not run: too large")

    def broken() -> Contestant:
        raise RuntimeError("index\n overflow")

    peers = {
        "missing": lambda: require("no_such_package", "bench", "a test"),
        "large": too_large,
        "broken": broken,
    }
    _, *results = contest([entry("ours")], peers, repeats=1)
    assert {result.name: result.note for result in results} == {
        "missing": "not installed",
        "large": "not run: too large",
        "broken": "fails: RuntimeError: index overflow",
    }
    assert not any(result.wrong for result in results)


def test_our_own_failure_stops() -> None:
    def fail() -> None:
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        contest([Contestant("ours", fail)], {}, repeats=1)


def test_relative_difference() -> None:
    desired = np.linspace(-4, 2, 60_000).reshape(-1, 2)
    actual = desired.copy()
    actual[29_999, 1] += 1
    assert relative_difference(actual, desired) == pytest.approx(0.25)
    assert relative_difference(desired, desired) == 0
    assert relative_difference(desired[1:], desired) == math.inf
    actual[3, 0] = np.nan
    assert math.isnan(relative_difference(actual, desired))
    assert relative_difference(np.ones(2), np.zeros(2)) == 1


def test_columns_are_aligned() -> None:
    table = format_table(["", "ms", ""], [["gpualto", "1.25", ""], ["x", "1,000", "slow"]])
    assert table.splitlines() == ["            ms", "gpualto   1.25", "x        1,000  slow"]


def test_a_table_of_results() -> None:
    table = format_results(
        [
            Result("ours", Timing((1.0, 2.0, 3.0)), 1.0, None, {"fit": 0.123456789, "s_per_sweep": 1234.5}),
            Result("peer", note="not installed"),
        ]
    )
    header, ours, peer = table.splitlines()
    assert header.split() == ["fit", "s", "per", "sweep", "min/median", "runs", "ratio", "difference"]
    assert ours.split() == ["ours", "0.12345679", "1,234", "0.5", "3", "1", "-"]
    assert peer.split(maxsplit=7) == ["peer", *"------", "not installed"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    with pytest.raises(TypeError):
        write_json(path, {"ratio": object()})
    assert list(tmp_path.iterdir()) == []
    write_json(path, {"ratio": 1.5})
    assert json.loads(path.read_text()) == {"ratio": 1.5}


@pytest.mark.parametrize(
    "wrong",
    [["--tensors", "no-such-tensor"], ["--nnz", "0"], ["--json", "no/such/folder/x.json"], ["--peers", "x"]],
)
def test_arguments_are_checked_before_the_work(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(wrong, None, tensors=["uber"], peers=["pyttb"])
    assert wrong[0] in capsys.readouterr().err


def test_peers_can_be_none_or_all() -> None:
    assert parse_arguments([], None, tensors=["uber"], peers=["pyttb"]).peers == ["pyttb"]
    assert parse_arguments(["--peers"], None, tensors=["uber"], peers=["pyttb"]).peers == []


def test_the_copy_is_of_the_whole_array(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    monkeypatch.setattr(np, "copyto", lambda target, source: copied.append(source.size))
    assert copy_bandwidth(8 * 1000, 3) > 0
    assert sum(copied) % 1000 == 0
    assert set(copied) == {333, 334}
