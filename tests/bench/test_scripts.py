from __future__ import annotations

import json
import math
from argparse import Namespace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpualto
from bench import (
    construct,
    cp_als,
    decompositions,
    external,
    formats,
    machine,
    mttkrp,
    peers,
    read,
    startup,
    strategies,
)
from bench.harness import UnavailableError
from bench.tensors import SPECS, draw, load
from gpualto import Tensor

COMMON = ["--nnz", "2000", "--repeats", "2"]


@pytest.fixture(autouse=True)
def small_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "COPY_BYTES", 2**20)


def figures(script: ModuleType, folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """Run a script and return the results of its only section by name."""
    path = folder / "figures.json"
    assert script.main([*arguments, "--json", str(path)]) == 0
    document = json.loads(path.read_text())
    assert document["machine"]["copy_bytes_per_second"] > 0
    assert "numpy" in document["machine"]["packages"]
    (section,) = document["sections"]
    return {result["name"]: result for result in section["results"]}


def ratios_of(table: str, names: set[str]) -> dict[str, float]:
    """Return the ratios that a printed table shows, by name."""
    header, *rows = table.split("\n\n")[1].splitlines()[1:]
    end = header.index("ratio") + len("ratio")
    return {
        name: float(row[:end].split()[-1].replace(",", ""))
        for name in names
        for row in rows
        if row.strip().startswith(name.strip())
    }


def check_ratios(results: dict[str, dict[str, Any]], printed: str, reference: str) -> None:
    """Assert that ratios are those of the medians, and that the table shows them."""
    shown = ratios_of(printed, set(results))
    for name, result in results.items():
        assert len(result["seconds"]) == 2
        median, base = np.median(result["seconds"]), np.median(results[reference]["seconds"])
        if name != "numpy.loadtxt":
            assert result["ratio"] == pytest.approx(median / base)
        assert shown[name] == pytest.approx(result["ratio"], rel=0.01)


def test_mttkrp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyttb")
    arguments = ["--tensors", "uber", "--rank", "4", "--peers", "pyttb", *COMMON]
    results = figures(mttkrp, tmp_path, *arguments)
    assert list(results) == ["gpualto float64", "gpualto float32", "pyttb"]
    check_ratios(results, capsys.readouterr().out, "gpualto float64")
    assert results["pyttb"]["difference"] < 1e-12
    assert 1e-9 < results["gpualto float32"]["difference"] < 1e-5
    for result in results.values():
        assert result["ns_per_nonzero_and_mode"] == pytest.approx(result["ms"] * 1e6 / 2000 / 4)


def test_the_floor_of_mttkrp_counts_every_byte_once() -> None:
    X = Tensor.from_coo([[0, 1, 1], [0, 0, 2]], [1.0, 2.0, 3.0], shape=(5, 8))
    case = mttkrp.make_case(X, 2, 1.0, 1.0)
    nonzeros = 2 * 3 * (4 + 8)
    first = (5 + 2) * 2 * 8  # all rows of the output and the rows 0 and 2 of the other factor
    second = (8 + 2) * 2 * 8
    assert mttkrp.floor_bytes(case, 8) == nonzeros + first + second


def test_a_wrong_mttkrp_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mttkrp.PEERS, "pyttb", lambda case: lambda mode: 1.001 * case.reference(mode))
    path = tmp_path / "figures.json"
    assert mttkrp.main(["--tensors", "uber", "--peers", "pyttb", "--json", str(path), *COMMON]) == 1
    last = json.loads(path.read_text())["sections"][0]["results"][-1]
    assert (last["name"], last["seconds"], last["note"]) == ("pyttb", [], "not timed: another result")


def test_a_khatri_rao_product_that_does_not_fit_is_not_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "memory_bytes", lambda: 16 * 10**9)
    peers.require_khatri_rao((10, 10**4, 10**4), rank=4)  # 3.2 GB
    with pytest.raises(UnavailableError, match="forms a Khatri-Rao product of 6 GB"):
        peers.require_khatri_rao((10, 10**4, 10**4), rank=8)


def test_a_peer_that_would_take_no_end_is_not_run(tmp_path: Path) -> None:
    pytest.importorskip("pyttb")
    arguments = ["--tensors", "uber", "--peers", "pyttb", "--budget", "0", *COMMON]
    last = list(figures(mttkrp, tmp_path, *arguments).values())[-1]
    assert last["seconds"] == []
    assert last["note"].startswith("not run: would take more than")


def test_construct(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyttb")
    results = figures(construct, tmp_path, "--tensors", "uber", "--peers", "pyttb", *COMMON)
    assert list(results) == ["gpualto", "  NumPy linearize", "  NumPy argsort", "  NumPy gather", "pyttb"]
    check_ratios(results, capsys.readouterr().out, "gpualto")
    assert results["pyttb"]["difference"] == 0


def test_cp_als_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyttb")
    file = tmp_path / "small.tns"
    spec = SPECS["uber"]
    coords, values = draw(spec, 2000)
    gpualto.write(file, Tensor.from_coo([c % 12 for c in coords], values, (12,) * 4))
    arguments = ["--tensors", str(file), "--rank", "3", "--sweeps", "4", "--peers", "pyttb", "--repeats", "2"]
    results = figures(cp_als, tmp_path, *arguments)
    check_ratios(results, capsys.readouterr().out, "gpualto")
    assert results["pyttb"]["fit"] == pytest.approx(results["gpualto"]["fit"], abs=1e-6)
    assert 0.01 < results["gpualto"]["fit"] < 0.9
    for result in results.values():
        assert result["s_per_sweep"] == pytest.approx(float(np.median(result["seconds"])) / 4)


def test_other_decompositions_do_the_same_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyttb")
    pytest.importorskip("tensorly")
    path = tmp_path / "figures.json"
    arguments = ["--rank", "3", "--sweeps", "2", "--repeats", "2", "--threads", "1", "--json", str(path)]
    assert decompositions.main(arguments) == 0
    sections = json.loads(path.read_text())["sections"]
    assert [section["title"].partition(":")[0] for section in sections] == [
        "Poisson CP",
        "nonnegative CP",
        "Tucker",
    ]
    for section in sections:
        assert len(section["results"]) == 2
        for result in section["results"]:
            assert (len(result["seconds"]), result["note"]) == (2, "")
            assert result["s_per_sweep"] == pytest.approx(float(np.median(result["seconds"])) / 2)
    assert capsys.readouterr().out.count("s per sweep") == 3


def test_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    results = figures(read, tmp_path, "--tensors", "uber", "--peers", "numpy", *COMMON)
    assert list(results) == ["gpualto, parse", "gpualto.read", "bytes only", "numpy.loadtxt"]
    check_ratios(results, capsys.readouterr().out, "gpualto, parse")
    assert results["gpualto.read"]["difference"] == results["numpy.loadtxt"]["difference"] == 0
    assert results["numpy.loadtxt"]["ms"] == pytest.approx(
        1e4 * np.median(results["numpy.loadtxt"]["seconds"])
    )


def test_the_file_to_read_is_clean_and_of_the_size_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    options = Namespace(nnz=None, megabytes=1)
    case = read.write(tmp_path, "uber", options)
    assert math.isclose(case.nbytes, 1e6, rel_tol=0.15)
    lines = case.path.read_text().splitlines()
    assert len(lines) == case.entries.nnz
    first = [*(str(c[0] + 1) for c in case.entries.coords), str(case.entries.values[0])]
    assert lines[0].split(" ") == first


def test_a_misread_index_is_found() -> None:
    entries = load("uber", 50)
    columns = [*(coordinate + 1 for coordinate in entries.coords), entries.values]
    assert read.difference(columns, entries) == 0
    columns[2] = columns[2] - (np.arange(50) == 7)
    assert read.difference(columns, entries) == math.inf


class TestExternal:
    """Stand-ins that print what the programs print."""

    def job(self, folder: Path) -> external.Job:
        return external.Job(folder / "x.tns", (4, 5, 6), 16, 2)

    def program(self, path: Path, text: str) -> Path:
        path.write_text(f"#!/bin/sh\ncat <<END\n{text}\nEND\n")
        path.chmod(0o755)
        return path

    def test_alto_counts_all_its_repetitions(self, tmp_path: Path) -> None:
        self.program(tmp_path / "cpd64", "ALTO creation time:   0.1\nALTO runtime:   0.314554")
        assert external.alto_mttkrp(tmp_path, self.job(tmp_path)) == pytest.approx(0.314554 / 6)

    def test_a_sweep_of_alto_is_the_median_after_the_first(self, tmp_path: Path) -> None:
        lines = [f"it: {n}\t fit: 0.1\ttime(for MTTKRP): {t} s (0.03 s)" for n, t in enumerate((9, 3, 1, 2))]
        self.program(tmp_path / "cpd64", "\n".join(lines))
        assert external.alto_sweep(tmp_path, self.job(tmp_path)) == 2

    def test_splatt_sums_the_modes(self, tmp_path: Path) -> None:
        lines = [
            f"MTTKRP mode {mode}:   avg: {seconds}s max: 9s (3.0% imbalance)\n  its =   1 ({seconds}s)  fit"
            for seconds in (9, 1)
            for mode in (1, 2, 3)
        ]
        splatt = self.program(tmp_path / "splatt", "\n".join(lines))
        assert external.splatt_mttkrp(splatt, self.job(tmp_path)) == 3
        assert external.splatt_sweep(splatt, self.job(tmp_path)) == 1

    def test_what_cannot_be_run_or_read_is_unavailable(self, tmp_path: Path) -> None:
        with pytest.raises(UnavailableError, match="fails: "):
            external.alto_mttkrp(tmp_path, self.job(tmp_path))
        self.program(tmp_path / "cpd64", "segmentation fault")
        with pytest.raises(UnavailableError, match="prints no line like"):
            external.alto_mttkrp(tmp_path, self.job(tmp_path))
        with pytest.raises(UnavailableError, match="at most 5 modes"):
            external.alto_mttkrp(tmp_path, external.Job(tmp_path, (2,) * 6, 16, 1))


def test_strategies_compares_every_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        strategies.main(["--tensors", "uber", "--nnz", "3000", "--segments", "2", "3", "--repeats", "1"]) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    header = next(number for number, line in enumerate(lines) if line.startswith("segments"))
    assert lines[header].split()[-3:] == ["staged", "ordered", "atomic"]
    assert [line.split()[:2] for line in lines[header + 1 :]] == [[s, m] for s in "23" for m in "0123"]


def test_startup_times_new_processes(capsys: pytest.CaptureFixture[str]) -> None:
    assert startup.main(["--rank", "2", "--repeats", "1"]) == 0
    cold, warm = capsys.readouterr().out.splitlines()[-2:]
    assert cold.startswith("nothing yet")
    assert warm.startswith("on disk")
    assert all(float(number) > 0 for number in warm.split()[2:])


def test_formats_are_compared_with_alto(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    assert (
        formats.main(
            ["--tensors", "uber", "--nnz", "2000", "--repeats", "2", "--rank", "4", "--json", str(path)]
        )
        == 0
    )
    sections = json.loads(path.read_text())["sections"]
    endings = ["from coordinates", "from COO", "MTTKRP of all modes, rank 4"]
    assert all(section["title"].endswith(ending) for section, ending in zip(sections, endings, strict=True))
    more = ["CSF, one per mode", "best other of one copy"]
    for section in sections:
        names = [result["name"] for result in section["results"]]
        assert names == [*formats.compared(4, 128), *(more if "MTTKRP" in section["title"] else [])]
        assert all(result["seconds"] for result in section["results"])
    assert "bytes a nonzero" in capsys.readouterr().out
