"""The script for a GPU runs to its end on the stand-in for CuPy, and finds what is wrong."""

import json
import sys

import numpy as np
import pytest

from bench import device, device_limits
from tests.backends.cuda import standin, standin_cupyx
from tests.oracle import random_factors, random_tensor


@pytest.fixture
def small_device(monkeypatch):
    modules = {"cupy": standin.make_module(), **standin_cupyx.make_cupyx()}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(device, "RANKS", (2,))
    monkeypatch.setattr(device, "CHECKED_RANKS", (2,))
    monkeypatch.setattr(device, "CHECKED_SHAPES", [(30, 20, 10)])
    monkeypatch.setattr(device, "PEER_BYTES", 2**20)
    monkeypatch.setattr(device_limits, "_READS", 1)
    return modules


def run(folder, capsys, *arguments):
    path = folder / "figures.json"
    status = device.main(["--scale", "1e-6", "--json", str(path), *arguments])
    return status, json.loads(path.read_text()), capsys.readouterr().out


@pytest.mark.usefixtures("small_device")
def test_every_part_is_in_the_file_and_in_the_table(tmp_path, capsys):
    status, figures, out = run(tmp_path, capsys, "--tensors", "uber", "--seed", "1")
    assert (status, figures["wrong"], figures["left_out"]) == (0, [], [])
    assert min(figures["limits"].values()) > 0
    assert {row["by"].partition(" (")[0] for row in figures["mttkrp"]} == {
        "gpualto", "staged", "atomic", "deterministic", *device.PEERS
    }  # fmt: skip
    notes = {row["by"]: row["note"] for row in figures["mttkrp"] if row["ms"] is None}
    assert notes == {"cuSPARSE of the unfolding": "the Khatri-Rao product is too large"}
    timed = [row for row in figures["mttkrp"] if row["ms"] is not None]
    assert all(row["ms"] > 0 for row in timed)
    assert {row["mode"] for row in timed} == {0, 1, 2, 3}
    assert {row["dtype"] for row in figures["cp_als"]} == {"float32", "float64"}
    assert figures["construction"][0]["construct_ms"] > 0
    assert "share of floor" in out


@pytest.mark.parametrize("peer", device.PEERS.values())
def test_peers_compute_the_mttkrp(small_device, peer):
    X = random_tensor(0, (6, 5, 4), 40)
    factors = random_factors(0, X.shape, 3)
    there = [small_device["cupy"].asarray(factor) for factor in factors]
    for mode in range(3):
        result = peer(small_device["cupy"], X.to_device("cuda"), there, mode)()
        np.testing.assert_allclose(result.get(), X.mttkrp(factors, mode))


@pytest.mark.usefixtures("small_device")
def test_no_time_left(tmp_path, capsys):
    _, figures, out = run(tmp_path, capsys, "--tensors", "uber", "nips", "--seconds", "0")
    assert figures["left_out"] == ["uber: no time left", "nips: no time left"]
    assert "left out: nips: no time left" in out


@pytest.mark.usefixtures("small_device")
def test_a_wrong_result_is_named_and_is_the_status(tmp_path, capsys, monkeypatch):
    right, _, _ = run(tmp_path, capsys, "--tensors", "uber", "--seconds", "0")
    original = device._plan

    def wrong(X, mode, rank, strategy):
        fill = original(X, mode, rank, strategy)
        return (lambda factors, out: out.fill(1)) if (mode, strategy) == (1, "atomic") else fill

    monkeypatch.setattr(device, "_plan", wrong)
    status, figures, _ = run(tmp_path, capsys, "--tensors", "uber", "--seconds", "0")
    assert (right, status) == (0, 1)
    assert figures["wrong"] == [
        f"atomic MTTKRP of mode 1 of (30, 20, 10), {dtype}, rank 2" for dtype in ("float32", "float64")
    ]


def test_without_cupy_or_a_device(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert device.main([]) == 2
    assert "pip install" in capsys.readouterr().err
    module = standin.make_module()
    module.cuda.is_available = lambda: False
    monkeypatch.setitem(sys.modules, "cupy", module)
    assert device.main([]) == 2
    assert "no CUDA device" in capsys.readouterr().err
